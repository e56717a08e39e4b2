/* SPDX-License-Identifier: Apache-2.0 */
/* What the thread functions need of capture: records for new threads, and changes of name. */
#ifndef OTP_CAPTURE_SPAWN_H
#define OTP_CAPTURE_SPAWN_H

#include <pthread.h>
#include <stdbool.h>

#include "core/capture/thread.h"

/* A record for a thread about to be created; NULL: create it without. Context: hot. */
struct otp_thread *otp_spawn_prepare(const pthread_attr_t *attr, void *(*start)(void *), void *arg);
/* The same for a C11 thread. */
struct otp_thread *otp_spawn_prepare_c11(int (*start)(void *), void *arg);
/* Start routine of a C11 thread whose record is arg. */
int otp_thread_run_c11(void *arg);
/* A thread tid that clone(2) made to run start: it is sampled from its birth on. Context: hot. */
void otp_spawn_cloned(int32_t tid, int (*start)(void *));
/* The calling thread has got a new name; or another has: all will look. Context: hot. */
void otp_spawn_named(bool is_self, const char *name);
/* The calling thread, whose record is t, has begun: however it ends, otp_thread_end is called.
 * Context: hot. */
void otp_spawn_watch_end(struct otp_thread *t);
/* Stack size of threads made without attributes; read once. Context: init. */
void otp_spawn_init(void);

#endif
