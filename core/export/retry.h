/* SPDX-License-Identifier: Apache-2.0 */
/* When to try again: pauses that grow, with chance in them, and what a server asks for. */
#ifndef OTP_EXPORT_RETRY_H
#define OTP_EXPORT_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/text.h"

/*
 * The pause after the failures-th failure in a row (from 1): min_ns doubled each time up to max_ns,
 * half of it for sure, the other half by chance, so that many processes do not knock at once.
 * Context: worker.
 */
uint64_t otp_retry_pause_ns(unsigned failures, uint64_t min_ns, uint64_t max_ns);

/*
 * The value of a Retry-After header (RFC 9110, 10.2.3): seconds, or a date in one of the three
 * forms of RFC 9110, 5.6.7, which counts from now_s (seconds since 1970). Seconds to wait, 0 for a
 * date in the past. False: it is neither. Context: any.
 */
bool otp_retry_after_parse(struct otp_text value, uint64_t now_s, uint64_t *out_seconds);

#endif
