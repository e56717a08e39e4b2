/* SPDX-License-Identifier: Apache-2.0 */
/* The signal handler of the CPU timers, and what makes up for expiries that a thread's end cuts
 * off. */
#ifndef OTP_CAPTURE_TICK_H
#define OTP_CAPTURE_TICK_H

#include <signal.h>

#include "core/capture/arch.h"

/* Takes one CPU sample of the thread that the timer belongs to. Context: hot, signal handler. */
void otp_tick(int signo, siginfo_t *info, void *context);

/*
 * Books what is due of the calling thread, which has a record and is about to end, as a sample of
 * the stack it has now. Reached by otp_enter_last_tick. Context: hot.
 */
void otp_sampled_last_tick(const struct otp_regs *regs);

#endif
