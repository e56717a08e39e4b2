/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builders of a flush, one for each format that an output asks for, all fed by one visit: a
 * single one directly, several through a tee. A format that nobody asks for costs nothing.
 */
#ifndef OTP_ENGINE_BUILDERS_H
#define OTP_ENGINE_BUILDERS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/encode/visitor.h"
#include "core/export/template.h"

struct otp_builders_options {
    unsigned formats; /* 1U << enum otp_format, at least one that is built */
    const struct otp_attr *resource_attrs;
    size_t resource_attr_count;
    bool has_timestamps; /* observations are told one by one */
};

/* Makes the builders, which take their memory from heap; false: no memory, nothing is open.
 * Context: worker, as all of these. */
bool otp_builders_open(struct otp_heap *heap, const struct otp_builders_options *options);
/* Destroys them; no-op when they are not open. */
void otp_builders_close(void);
/* Forgets them in a fork child, where their memory does not exist. */
void otp_builders_forget(void);
bool otp_builders_are_open(void);
/* Where to tell to. */
struct otp_visitor *otp_builders_visitor(void);
/* Appends the message of one format to out, if that is built; as the builders' own finish. */
enum otp_status otp_builders_finish(enum otp_format format, struct otp_buf *out) OTP_MUST_CHECK;
/* The same of one OTLP profile alone, see otp_otlp_builder_finish_part. */
enum otp_status otp_builders_finish_part(size_t number, struct otp_buf *out) OTP_MUST_CHECK;
/* Forgets samples, keeps names. */
void otp_builders_clear(void);

#endif
