/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiler as a whole: starts with the process, flushes at intervals and when asked, ends with
 * the process, begins anew in a fork child.
 *
 * States: OFF (not wanted here, or stood down) <- start -> ON -> stop -> ENDED. Only the process
 * that started it may stop it: a child of vfork shares our memory but has another pid.
 */
#ifndef OTP_ENGINE_ENGINE_H
#define OTP_ENGINE_ENGINE_H

#include <stdbool.h>

#include "core/capture/thread.h"

/* Reads the settings and begins to capture, if this program is to be profiled. Context: init. */
void otp_engine_start(int argc, char *const *argv, char *const *envp);
/* Stops capturing and writes what there is; waits for it, but not for ever. Context: init. */
void otp_engine_stop(void);
/* Writes what there is and goes on. Waits like stop. Context: init. */
void otp_engine_flush(void);
/*
 * Before exec: a flush if there is news since that before an exec that failed, and no tick is left
 * that the new program would inherit as pending. What timers have sent the kernel takes back by
 * itself, but not what perf events have. Context: init.
 */
bool otp_engine_before_exec(void);
/* Exec has failed; what otp_engine_before_exec() said. Context: init. */
void otp_engine_after_exec(bool is_held);
/*
 * Ends profiling for good, with a last flush, before the host forbids itself system calls: from
 * then on nothing of ours makes any. Context: init.
 */
void otp_engine_stand_down(void);
/*
 * The kernel counts a thread that is gone for some moments more: true, after a millisecond, when
 * the answer of a call that wants the process to be alone should be asked for again. Context: init.
 */
bool otp_engine_ask_again(long answer, int tries);
/* Ends the worker thread until otp_engine_step_back: the host must be alone. Context: init. */
bool otp_engine_step_aside(void);
void otp_engine_step_back(void);
/*
 * Around a call that copies the process without the C library's fork: what that call's handlers do.
 * What *f holds belongs to the two calls, the second of which is made in both processes, and in no
 * child that shares the memory of its parent. Context: init, also in a signal handler.
 */
void otp_engine_before_fork(struct otp_fork *f);
void otp_engine_after_fork(struct otp_fork *f, bool is_child);
/*
 * The function returns that such a child has begun with: the system call that ends one thread is
 * next, with this status. The last flush, unless the process has other threads. Context: init.
 */
void otp_engine_start_returned(int status);
/* Sees to it that the worker has its own root folder before the host changes the process's. */
void otp_engine_settle(void);

#endif
