/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What profiling costs the host's threads. Some events are measured by the thread's CPU clock and
 * count for those since the one measured before; the kernel's part of a signal, which no clock
 * inside the handler sees, is a constant. What the worker costs is its own thread's CPU time.
 */
#ifndef OTP_CAPTURE_COST_H
#define OTP_CAPTURE_COST_H

#include <stdint.h>

#define OTP_COST_EACH 16U
/*
 * How many events the measurement of a thread's n-th stands for (n from 1); 0: it is not measured.
 * The first ones, which find everything cold, stand for few: a thread of four ticks has not paid
 * for sixteen first ones.
 */
static inline uint64_t otp_cost_weight(uint64_t n)
{
    if (n > OTP_COST_EACH) {
        return n % OTP_COST_EACH == 0 ? OTP_COST_EACH : 0;
    }
    return (n & (n - 1)) == 0 ? n - n / 2 : 0;
}
/* Delivery and return of one signal (docs/PERFORMANCE.md). */
#define OTP_COST_SIGNAL_NS UINT64_C(2300)

/* What the kernel takes for a tick of a perf event, besides the signal; 0: not known. Atomic, set
 * by the worker. */
extern uint64_t otp_cost_event_ns;

/* Of one thread, or of all. Ticks and allocations have fields of their own: one may interrupt the
 * other. */
struct otp_cost {
    uint64_t ticks;
    uint64_t tick_ns;
    uint64_t allocs; /* sampled ones */
    uint64_t alloc_ns;
};

/* What reading the clock adds to what is measured between two readings; atomic, set by the worker.
 */
extern uint64_t otp_cost_clock_ns;

struct otp_thread;

/* Finds out otp_cost_clock_ns. Context: worker. */
void otp_cost_calibrate(void);
/* The sum over all threads, also those that are gone. Context: worker. */
void otp_cost_total(struct otp_cost *out);
/* The record's thread is gone: its sums are kept. Context: worker. */
void otp_cost_retire(struct otp_thread *t);
/* In a fork child: what the parent's threads cost is not the child's. Context: init. */
void otp_cost_forget(void);

#endif
