/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names by which a process is copied without the handlers that the C library's fork calls, and
 * tasks are made without its thread library. A child that shares its parent's memory is not
 * touched.
 */
#define _GNU_SOURCE /* clone */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/annot.h"
#include "core/base/peek.h"
#include "core/base/real.h"
#include "core/capture/capture.h"
#include "core/capture/spawn.h"
#include "core/engine/engine.h"
#include "preload/fork.h"

/* Of a child that is not a process of its own, or begins with thread-local data of another. */
#define NO_COPY (CLONE_VM | CLONE_THREAD | CLONE_SETTLS)

/* Under a name of our own here: newer headers declare it, older ones do not. */
OTP_EXPORT pid_t otp_fork_alone(void) __asm__("_Fork");

/* It may be called in a signal handler. */
pid_t otp_fork_alone(void)
{
    struct otp_fork f;
    otp_real_init();
    if (otp_real.fork_alone == NULL) {
        errno = ENOSYS;
        return -1;
    }
    otp_engine_before_fork(&f);
    pid_t pid = otp_real.fork_alone();
    otp_engine_after_fork(&f, pid == 0);
    return pid;
}

long otp_syscall_fork(long number, long a, long b, long c, long d, long e)
{
    struct otp_fork f;
    otp_real_init();
    otp_engine_before_fork(&f);
    long r = otp_real.syscall(number, a, b, c, d, e);
    otp_engine_after_fork(&f, r == 0);
    return r;
}

/* The program's own words: they may be anywhere, or nowhere. */
bool otp_syscall_is_copy(long args, long bytes)
{
    struct clone_args known;
    bool may_look = otp_settings.is_cpu_on || otp_capture_is_there(); /* else it has stood down */
    return may_look && bytes >= (long)CLONE_ARGS_SIZE_VER0 &&
           otp_peek_one(&known, (uintptr_t)args, CLONE_ARGS_SIZE_VER0) &&
           (known.flags & NO_COPY) == 0 && known.stack == 0;
}

/* What a child with memory of its own begins with; its copy of the parent's. */
struct beginning {
    int (*start)(void *);
    void *arg;
    struct otp_fork fork;
};

static int begin_copy(void *of)
{
    struct beginning *b = of;
    otp_engine_after_fork(&b->fork, true);
    int status = b->start(b->arg);
    otp_engine_start_returned(status);
    return status;
}

/*
 * The child begins in start, on a stack of its own, and never comes back here. What follows arg is
 * there or not, according to flags; libc's own function reads it all the same.
 */
OTP_EXPORT int clone(int (*start)(void *), void *stack, int flags, void *arg, ...)
{
    va_list more;
    otp_real_init();
    va_start(more, arg);
    void *parent_tid = va_arg(more, void *);
    void *tls = va_arg(more, void *);
    void *child_tid = va_arg(more, void *);
    va_end(more);
    if ((flags & NO_COPY) == 0 && start != NULL) {
        struct beginning b = {.start = start, .arg = arg};
        otp_engine_before_fork(&b.fork);
        int pid = otp_real.clone(begin_copy, stack, flags, &b, parent_tid, tls, child_tid);
        otp_engine_after_fork(&b.fork, false);
        return pid;
    }
    int r = otp_real.clone(start, stack, flags, arg, parent_tid, tls, child_tid);
    if (r > 0 && (flags & CLONE_THREAD) != 0) {
        otp_spawn_cloned(r, start);
    }
    return r;
}
