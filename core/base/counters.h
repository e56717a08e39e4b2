/* SPDX-License-Identifier: Apache-2.0 */
/* Loss counters: every sample that is not kept is counted in one of them. */
#ifndef OTP_BASE_COUNTERS_H
#define OTP_BASE_COUNTERS_H

#include <stdint.h>

#include "core/base/atomic.h"

/* Whose loss it is: of the CPU profile, of the heap profile, or of the process, which both state.
 */
enum otp_loss_of { OTP_OF_CPU = 0, OTP_OF_HEAP = 1, OTP_OF_BOTH = 2, OTP_OF_END };

enum otp_counter {
#define OTP_COUNTER(name, text) OTP_COUNT_##name,
#include "core/base/counters.def"
#undef OTP_COUNTER
    OTP_COUNT_END
};

extern uint64_t otp_counters[OTP_OF_END][OTP_COUNT_END];

/* Counts n losses. Context: hot. */
static inline void otp_count(enum otp_counter c, enum otp_loss_of of, uint64_t n)
{
    (void)otp_add_relaxed(&otp_counters[of][c], n);
}

/* Attribute name behind "otelprof.dropped.". Context: any. */
const char *otp_counter_name(enum otp_counter c);
/* How many a profile states: its own and those of the process; OTP_OF_BOTH: all there are. Context:
 * any. */
uint64_t otp_counter_sum(enum otp_counter c, enum otp_loss_of of);

#endif
