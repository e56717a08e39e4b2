/* SPDX-License-Identifier: Apache-2.0 */
/* The signal handler of the CPU timers. */
#ifndef OTP_CAPTURE_TICK_H
#define OTP_CAPTURE_TICK_H

#include <signal.h>

/* Takes one CPU sample of the thread that the timer belongs to. Context: hot, signal handler. */
void otp_tick(int signo, siginfo_t *info, void *context);

#endif
