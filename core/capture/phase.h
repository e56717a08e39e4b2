/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in a period threads have ended, for threads that begin: these go on there. So the time of
 * threads that follow each other is one stretch, cut into periods, and in each period one moment is
 * drawn that a sample stands for. Each moment has the same chance, whatever threads do and however
 * regularly they come, and the sum over threads of any length is true to a period for as many of
 * them as there are at the same time. (Were each to begin with a period of its own, chance would
 * add up: 10,000 threads of 2 ms at 100 Hz would have 20 s, give or take 0.4 s.)
 */
#ifndef OTP_CAPTURE_PHASE_H
#define OTP_CAPTURE_PHASE_H

#include <stdbool.h>
#include <stdint.h>

struct otp_phase {
    uint64_t used_ns; /* of the period, less than all of it */
    bool is_over;     /* the moment that was drawn in it */
};

/* Keeps the phase of a thread that ends, in periods of that length, if there is room for it.
 * Context: hot. */
void otp_phase_leave(uint64_t period_ns, struct otp_phase phase);
/* One that was left and that nobody else goes on with; that of a new period if there is none.
 * Context: hot. */
struct otp_phase otp_phase_take(uint64_t period_ns);
/*
 * The moment of the first period that ends in a thread which begins with that phase, counted from
 * where the phase's period began; those after it follow period by period. It is within one period
 * from the thread's begin, at random. Where the period's own moment is over it is in the next one,
 * and before the place that the thread began at, for the moments after that place are those of
 * threads that begin when it is not over. Context: hot.
 */
int64_t otp_phase_draw(struct otp_phase phase, uint64_t period_ns, uint64_t *random);
/* In a child of fork, whose threads begin anew. Context: init. */
void otp_phase_forget_all(void);

#endif
