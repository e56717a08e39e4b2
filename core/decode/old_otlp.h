/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP Profiles as of opentelemetry-proto 1.4 to 1.7, where samples are slices of a list of
 * locations, a profile has several sample types, and tables are in each profile (1.4, 1.5), beside
 * the resources (1.6) or in a dictionary (1.7).
 */
#ifndef OTP_DECODE_OLD_OTLP_H
#define OTP_DECODE_OLD_OTLP_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/decode/emit.h"

/* Which of them it is, for people: "OTLP of proto 1.7". Context: any. */
const char *otp_old_otlp_name(const uint8_t *data, size_t len);
/*
 * Appends the ProfilesData of today that says what the one in data says to t->out; data was found
 * to be older than 1.8. On failure t->fault says what; where is not known. Context: any.
 */
OTP_MUST_CHECK enum otp_status otp_old_otlp_decode(const uint8_t *data, size_t len,
                                                   struct otp_translation *t);

#endif
