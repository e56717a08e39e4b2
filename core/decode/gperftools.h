/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gperftools' own files: CPU profiles of 64-bit words, little-endian, and heap profiles as text;
 * heap profiles of jemalloc. They are read as the pprof profile that they mean: what was sampled is
 * scaled.
 */
#ifndef OTP_DECODE_GPERFTOOLS_H
#define OTP_DECODE_GPERFTOOLS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/decode/emit.h"

/*
 * Appends the ProfilesData that says what the (unpacked) file in data says to t->out. Strict: each
 * record and line, the mark of the end and the maps have to be there; of the maps only lines of
 * code count, and others are passed over. Takes at most t->budget_bytes of memory beside t->out,
 * and as much as that again for the pprof profile. On failure t->fault says what and where.
 * Context: any.
 */
OTP_MUST_CHECK enum otp_status otp_gperftools_decode(const uint8_t *data, size_t len,
                                                     struct otp_translation *t);

#endif
