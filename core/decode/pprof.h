/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.proto of the pprof tools, read as OTLP: each sample type becomes a profile, and what OTLP
 * has no field for becomes the attributes that the semantic conventions name (docs/FORMATS.md).
 */
#ifndef OTP_DECODE_PPROF_H
#define OTP_DECODE_PPROF_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/decode/emit.h"
#include "core/decode/model.h"
#include "core/decode/wire.h"

/*
 * Appends the ProfilesData that says what the (unpacked) profile in data says to t->out. Strict:
 * every reference has to lead somewhere, every sample has a value for each type. Takes at most
 * t->budget_bytes of memory beside t->out. t->rows, unless it is NULL, gets the samples, which are
 * then not in the message; it is all zero before, and otp_rows_fini() is called on it in any case.
 * On failure t->fault says what and where. Context: any.
 */
OTP_MUST_CHECK enum otp_status otp_pprof_decode(const uint8_t *data, size_t len,
                                                struct otp_translation *t);

#endif
