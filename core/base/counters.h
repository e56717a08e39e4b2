/* SPDX-License-Identifier: Apache-2.0 */
/* Loss counters: every sample that is not kept is counted in one of them. */
#ifndef OTP_BASE_COUNTERS_H
#define OTP_BASE_COUNTERS_H

#include <stdint.h>

#include "core/base/atomic.h"

enum otp_counter_scope { OTP_COUNTER_TIME = 1, OTP_COUNTER_HEAP = 2, OTP_COUNTER_BOTH = 3 };

enum otp_counter {
#define OTP_COUNTER(name, text, scope) OTP_COUNT_##name,
#include "core/base/counters.def"
#undef OTP_COUNTER
    OTP_COUNT_END
};

extern uint64_t otp_counters[OTP_COUNT_END];

/* Counts n losses. Context: hot. */
static inline void otp_count(enum otp_counter c, uint64_t n)
{
    (void)otp_add_relaxed(&otp_counters[c], n);
}

/* Attribute name behind "otelprof.dropped.". Context: any. */
const char *otp_counter_name(enum otp_counter c);
/* Which profiles state it. Context: any. */
enum otp_counter_scope otp_counter_scope_of(enum otp_counter c);

#endif
