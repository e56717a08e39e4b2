/* SPDX-License-Identifier: Apache-2.0 */
/* Names by which threads begin, end and are named. */
#define _GNU_SOURCE /* pthread_setname_np */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "core/base/annot.h"
#include "core/base/real.h"
#include "core/capture/capture.h"
#include "core/capture/spawn.h"
#include "core/capture/thread.h"

OTP_EXPORT int thrd_create(unsigned long *out, int (*start)(void *), void *arg);

OTP_EXPORT int pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*start)(void *),
                              void *arg)
{
    otp_real_init();
    if (otp_real.pthread_create == NULL) {
        return EAGAIN; /* an old libc without its thread library */
    }
    struct otp_thread *t = otp_spawn_prepare(attr, start, arg);
    if (t == NULL) {
        return otp_real.pthread_create(out, attr, start, arg);
    }
    int r = otp_real.pthread_create(out, attr, otp_thread_run, t);
    if (r != 0) {
        otp_thread_unclaim(t);
    }
    return r;
}

int thrd_create(unsigned long *out, int (*start)(void *), void *arg)
{
    otp_real_init();
    if (otp_real.thrd_create == NULL) {
        return 2; /* thrd_error: an old libc without C11 threads */
    }
    struct otp_thread *t = otp_spawn_prepare_c11(start, arg);
    if (t == NULL) {
        return otp_real.thrd_create(out, start, arg);
    }
    int r = otp_real.thrd_create(out, otp_thread_run_c11, t);
    if (r != 0) {
        otp_thread_unclaim(t);
    }
    return r;
}

OTP_EXPORT void pthread_exit(void *result)
{
    otp_real_init();
    otp_thread_end();
    otp_real.pthread_exit(result);
    __builtin_unreachable();
}

OTP_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
    otp_real_init();
    int r =
        otp_real.pthread_setname_np == NULL ? ENOSYS : otp_real.pthread_setname_np(thread, name);
    if (r == 0) {
        otp_spawn_named(thread == pthread_self(), name);
    }
    return r;
}
