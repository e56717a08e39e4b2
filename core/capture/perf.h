/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ticks finer than the kernel's own: a perf event on a thread's task clock, whose overflows send
 * the thread the same signal as its timer does. The worker opens the events, in its own descriptor
 * table, so that the host sees nothing of them; until it has, and wherever the kernel refuses, the
 * thread's timer alone ticks. What a tick stands for is read from the CPU clock either way, so the
 * two together count nothing twice.
 */
#ifndef OTP_CAPTURE_PERF_H
#define OTP_CAPTURE_PERF_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/capture/thread.h"

/*
 * What one overflow of an event costs the thread that it ticks for, in nanoseconds, without what
 * the signal's handler takes: the least of a few rounds, some 4 ms of the caller's CPU time; 0 when
 * there are no events. In a virtual machine, which has to leave to its host for each setting of a
 * timer, 20 us were seen. Context: worker.
 */
uint64_t otp_perf_measure_ns(void);
/* Opens an event for each thread that has a timer and none yet, and does not wait too often for
 * one. False: refused. Context: worker. */
bool otp_perf_open_all(void);
/* Closes the event of a thread that was seen to wait too often. Context: worker. */
void otp_perf_close_of_waiter(struct otp_thread *t);
/* Closes the event of a thread that is gone. Context: worker. */
void otp_perf_close(struct otp_thread *t);
/* Closes all events. Context: worker. */
void otp_perf_close_all(void);
/* Gives all events the period of the settings. Context: worker. */
void otp_perf_follow_all(void);
/* Forgets all events, which went with the worker that had opened them. Context: init, worker. */
void otp_perf_forget(void);
/* The thread whose event sent this signal; NULL: none of ours did. Context: hot. */
struct otp_thread *otp_perf_thread(const siginfo_t *info);
/* Length of the kernel's own tick in nanoseconds. Context: any. */
uint64_t otp_perf_kernel_tick_ns(void);

#endif
