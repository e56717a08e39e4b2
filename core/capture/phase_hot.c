/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/phase.h"

#include "core/base/atomic.h"
#include "core/capture/random.h"

#define SLOTS 64U
#define IS_THERE (UINT64_C(1) << 63)
#define IS_OVER (UINT64_C(1) << 62)
#define TIME_BITS 31 /* of a period, and of what was used of it: two seconds */
#define TIME_MASK ((UINT64_C(1) << TIME_BITS) - 1)

/* IS_THERE, IS_OVER, the period's length, what was used of it; 0: free. */
static uint64_t left[SLOTS];

static bool is_of(uint64_t word, uint64_t period_ns)
{
    return (word & IS_THERE) != 0 && (word >> TIME_BITS & TIME_MASK) == period_ns;
}

void otp_phase_leave(uint64_t period_ns, struct otp_phase phase)
{
    if (period_ns > TIME_MASK) {
        return;
    }
    uint64_t word =
        IS_THERE | (phase.is_over ? IS_OVER : 0) | period_ns << TIME_BITS | phase.used_ns;
    for (uint32_t i = 0; i < SLOTS; i++) {
        uint64_t old = otp_load_relaxed(&left[i]);
        if (!is_of(old, period_ns) && otp_cas_acq_rel(&left[i], &old, word)) {
            return; /* it was free, or of periods that are no more */
        }
    }
}

struct otp_phase otp_phase_take(uint64_t period_ns)
{
    struct otp_phase none = {.used_ns = 0};
    for (uint32_t i = 0; i < SLOTS; i++) {
        uint64_t word = otp_load_relaxed(&left[i]);
        if (is_of(word, period_ns) && otp_cas_acq_rel(&left[i], &word, 0)) {
            return (struct otp_phase){.used_ns = word & TIME_MASK,
                                      .is_over = (word & IS_OVER) != 0};
        }
    }
    return none;
}

int64_t otp_phase_draw(struct otp_phase phase, uint64_t period_ns, uint64_t *random)
{
    uint64_t after = phase.is_over ? period_ns : phase.used_ns;
    uint64_t choice = phase.is_over ? phase.used_ns : period_ns - phase.used_ns;
    return (int64_t)(after + 1 + otp_random_below(random, choice));
}

void otp_phase_forget_all(void)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        otp_store_relaxed(&left[i], 0);
    }
}
