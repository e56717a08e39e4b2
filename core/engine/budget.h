/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much profiling may cost, and what follows from it: pure arithmetic on three clocks.
 *
 * What was spent, and what could be spent, are remembered with a memory of a minute. When more was
 * spent the rates are halved, as often as it takes; when half of what there is would still be
 * enough at twice the rates, they are doubled again. A step changes what is remembered by what it
 * is expected to change, so that the next steps judge the new rates, not the old ones.
 */
#ifndef OTP_ENGINE_BUDGET_H
#define OTP_ENGINE_BUDGET_H

#include <stdint.h>

#define OTP_BUDGET_LEVEL_MAX 6U /* rates are divided by 2 to the power of the level */

/* Cumulative readings, in nanoseconds. */
struct otp_budget_reading {
    uint64_t wall_ns;
    uint64_t process_ns; /* CPU time of the process, the profiler's included */
    uint64_t cost_ns;    /* of it, the profiler's */
};

struct otp_budget {
    uint32_t ppm;   /* millionths of the process's CPU time */
    uint32_t level; /* the answer */
    uint32_t calm;  /* steps since the level changed */
    double spent_ns;
    double process_ns; /* CPU time of the process's own work */
    double wall_ns;
    struct otp_budget_reading last;
};

/* Begins at a level, with nothing remembered. Context: any, as all of these. */
void otp_budget_init(struct otp_budget *b, uint32_t ppm, uint32_t level,
                     const struct otp_budget_reading *now);
/* The level that follows from the time since the last step. */
uint32_t otp_budget_step(struct otp_budget *b, const struct otp_budget_reading *now);
/* Share of the process's own CPU time that was spent in about the last minute, in millionths. */
uint64_t otp_budget_spent_ppm(const struct otp_budget *b);

#endif
