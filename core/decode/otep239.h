/* SPDX-License-Identifier: Apache-2.0 */
/* The form of OTEP-0239 (pprof-like profiles in containers), read as OTLP. */
#ifndef OTP_DECODE_OTEP239_H
#define OTP_DECODE_OTEP239_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/decode/emit.h"

/* Has the message containers where OTLP has profiles? Context: any. */
bool otp_otep239_is(const uint8_t *data, size_t len);
/*
 * Appends the ProfilesData that says what the message in data says to t->out. Strict: every index
 * has to lead somewhere, every sample has a value for each type. On failure t->fault says what and
 * where. Context: any.
 */
OTP_MUST_CHECK enum otp_status otp_otep239_decode(const uint8_t *data, size_t len,
                                                  struct otp_translation *t);

#endif
