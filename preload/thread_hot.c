/* SPDX-License-Identifier: Apache-2.0 */
/* Names by which threads begin, end and are named. */
#define _GNU_SOURCE /* pthread_setname_np */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "core/base/annot.h"
#include "core/base/real.h"
#include "core/base/sys.h"
#include "core/capture/capture.h"
#include "core/capture/spawn.h"
#include "core/capture/thread.h"

OTP_EXPORT int thrd_create(unsigned long *out, int (*start)(void *), void *arg);

OTP_EXPORT int pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*start)(void *),
                              void *arg)
{
    otp_real_init();
    __typeof__(otp_real.pthread_create) real = OTP_REAL(pthread_create);
    if (real == NULL) {
        return EAGAIN; /* an old libc without its thread library */
    }
    struct otp_thread *t = otp_spawn_prepare(attr, start, arg);
    if (t == NULL) {
        return real(out, attr, start, arg);
    }
    int r = real(out, attr, otp_thread_run, t);
    if (r != 0) {
        otp_thread_unclaim(t);
    }
    return r;
}

int thrd_create(unsigned long *out, int (*start)(void *), void *arg)
{
    otp_real_init();
    __typeof__(otp_real.thrd_create) real = OTP_REAL(thrd_create);
    if (real == NULL) {
        return 2; /* thrd_error: an old libc without C11 threads */
    }
    struct otp_thread *t = otp_spawn_prepare_c11(start, arg);
    if (t == NULL) {
        return real(out, start, arg);
    }
    int r = real(out, otp_thread_run_c11, t);
    if (r != 0) {
        otp_thread_unclaim(t);
    }
    return r;
}

OTP_EXPORT void pthread_exit(void *result)
{
    otp_real_init();
    otp_thread_end();
    __typeof__(otp_real.pthread_exit) real = OTP_REAL(pthread_exit);
    if (real != NULL) {
        real(result);
    }
    (void)OTP_SYS1(SYS_exit, 0);
    __builtin_unreachable();
}

OTP_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
    otp_real_init();
    __typeof__(otp_real.pthread_setname_np) real = OTP_REAL(pthread_setname_np);
    int r = real == NULL ? ENOSYS : real(thread, name);
    if (r == 0) {
        otp_spawn_named(thread == pthread_self(), name);
    }
    return r;
}
