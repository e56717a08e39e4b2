/* SPDX-License-Identifier: Apache-2.0 */
/* One timer per thread, on that thread's CPU clock, whose signal goes to that thread. */
#ifndef OTP_CAPTURE_TIMER_H
#define OTP_CAPTURE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/capture/thread.h"

/*
 * Arms the timer of t, first expiry at a random moment of the first period so that threads of any
 * length are sampled in proportion. Can be called from another thread (the kernel lets any thread
 * of the process arm a timer on a thread's clock). False and counted when the kernel refuses.
 * Context: hot.
 */
bool otp_timer_start(struct otp_thread *t);
/* Deletes the timer, if any. Context: hot. */
void otp_timer_stop(struct otp_thread *t);
/* Deletes the timers of all threads. Context: init. */
void otp_timer_stop_all(void);
/* The record that a timer's signal value names; NULL when it names none. Context: hot. */
struct otp_thread *otp_timer_thread(uint64_t cookie);

#endif
