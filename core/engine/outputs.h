/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outputs of OTELPROF_OUTPUT: each gets every flush, in its own format and compression. What an
 * output does not take is kept for a while and offered again, oldest first; past the limit the
 * oldest is dropped and counted.
 */
#ifndef OTP_ENGINE_OUTPUTS_H
#define OTP_ENGINE_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/export/sink.h"

/* Opens what the settings name. Context: worker, as all of these. */
void otp_outputs_open(struct otp_heap *heap);
/*
 * By how much the first flush shall be early, at random up to an interval, when an output has
 * somebody at its other end: processes that were started together must not all send at the same
 * moments.
 */
uint64_t otp_outputs_jitter_ns(uint64_t interval_ns);
/* The formats that the outputs take, as 1U << enum otp_format. JSON is made of OTLP. */
unsigned otp_outputs_formats(void);
/* A flush begins, which no output has yet. */
void otp_outputs_begin_flush(void);
/* The formats of the outputs that do not have it yet. */
unsigned otp_outputs_waiting(void);
/* Those will not have it, for want of memory: counts that, and says so. */
void otp_outputs_give_up(void);
/*
 * Offers one message (uncompressed) to every output of its format that does not have the flush yet,
 * without waiting for a peer. One that is too large for an output is left out there: see
 * otp_outputs_want_parts. False: there is an output that it does not fit into the memory for, and
 * that waits for a smaller one.
 */
bool otp_outputs_put(enum otp_format format, const struct otp_message *message);
/*
 * True when an output of that format has left a message of len bytes out because its receivers take
 * no request of such a size: then it gets the parts.
 */
bool otp_outputs_want_parts(enum otp_format format, size_t len);
/* Messages that wait, and their bytes. */
uint64_t otp_outputs_queued(uint64_t *out_bytes);
/* Offers a part of the message of whole_len bytes to the outputs that want it in parts. */
void otp_outputs_put_part(const struct otp_message *part, size_t whole_len);
/*
 * Goes on with what waits: without waiting for it, or, when is_last says that the process ends,
 * until deadline_ns (monotonic). Returns when to come again (monotonic ns).
 */
uint64_t otp_outputs_pump(uint64_t deadline_ns, bool is_last);
/* The process ends: what fails from now on is lost, and the log says so. */
void otp_outputs_end(void);

#endif
