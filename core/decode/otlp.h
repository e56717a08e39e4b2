/* SPDX-License-Identifier: Apache-2.0 */
/* ProfilesData (OTLP Profiles, v1development) in the protobuf encoding to the model. */
#ifndef OTP_DECODE_OTLP_H
#define OTP_DECODE_OTLP_H

#include <stdbool.h>

#include "core/base/status.h"
#include "core/decode/model.h"
#include "core/decode/otlp_version.h"
#include "core/decode/rows.h"
#include "core/decode/wire.h"

/*
 * Decodes m->bytes, m->size into m, which otp_profiles_init has made ready. with_notes: also keep
 * what a check wants to know (unknown fields, invalid UTF-8). is_consumed: the bytes of samples,
 * which nothing of m refers to, are given back to the system as they are read. known: what
 * otp_otlp_version_find has found; NULL: it is 1.10. On failure *out_fault says what and where, and
 * m is good for otp_profiles_fini only. Context: any.
 */
OTP_MUST_CHECK enum otp_status otp_otlp_decode(struct otp_profiles *m, bool with_notes,
                                               bool is_consumed,
                                               const struct otp_otlp_version *known,
                                               struct otp_wire_fault *out_fault);
/*
 * The same of a message of 1.10 whose samples stand beside it: the first profile has those of
 * column rows->first and so on. rows is used up: otp_rows_fini() is what may be done with it.
 */
OTP_MUST_CHECK enum otp_status otp_otlp_decode_rows(struct otp_profiles *m, bool with_notes,
                                                    struct otp_rows *rows,
                                                    struct otp_wire_fault *out_fault);

#endif
