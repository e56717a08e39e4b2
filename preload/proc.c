/* SPDX-License-Identifier: Apache-2.0 */
/* Names by which a process ends or becomes another program without running destructors, and
 * dlclose. */
#define _GNU_SOURCE /* execvpe, execveat */
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"
#include "core/base/real.h"
#include "core/base/sys.h"
#include "core/capture/capture.h"
#include "core/capture/spawn.h"
#include "core/engine/engine.h"

#define FEW_ARGS 480 /* on the stack; a longer list gets a mapping, which exec takes with it */

OTP_EXPORT int dlclose(void *handle);

OTP_EXPORT void _exit(int status)
{
    otp_real_init();
    otp_engine_stop();
    otp_real.exit_now(status);
    __builtin_unreachable();
}

OTP_EXPORT void _Exit(int status)
{
    otp_real_init();
    otp_engine_stop();
    otp_real.exit_std(status);
    __builtin_unreachable();
}

OTP_EXPORT void abort(void)
{
    otp_real_init();
    otp_engine_stop();
    otp_real.abort();
    __builtin_unreachable();
}

OTP_EXPORT void __assert_fail(const char *assertion, const char *file, unsigned line,
                              const char *function)
{
    otp_real_init();
    otp_engine_stop();
    otp_real.assert_fail(assertion, file, line, function);
    __builtin_unreachable();
}

/* Its parent ends inside libc, by ways that are not interposed. */
OTP_EXPORT int daemon(int keep_folder, int keep_files)
{
    otp_real_init();
    otp_engine_flush();
    return otp_real.daemon(keep_folder, keep_files);
}

/* The worker keeps the root that it had; started afterwards it would find no output folder. */
OTP_EXPORT int chroot(const char *path)
{
    otp_real_init();
    otp_engine_settle();
    return otp_real.chroot(path);
}

/* The kernel refuses some of these to a process of more than one thread. */
OTP_EXPORT int unshare(int flags)
{
    otp_real_init();
    bool has_paused = otp_engine_step_aside();
    int r = otp_real.unshare(flags);
    for (int i = 0; has_paused && otp_engine_ask_again(r, i); i++) {
        r = otp_real.unshare(flags);
    }
    otp_engine_step_back();
    return r;
}

OTP_EXPORT int setns(int fd, int kind)
{
    otp_real_init();
    bool has_paused = otp_engine_step_aside();
    int r = otp_real.setns(fd, kind);
    for (int i = 0; has_paused && otp_engine_ask_again(r, i); i++) {
        r = otp_real.setns(fd, kind);
    }
    otp_engine_step_back();
    return r;
}

OTP_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    otp_real_init();
    bool is_held = otp_engine_before_exec();
    int r = otp_real.execve(path, argv, envp);
    otp_engine_after_exec(is_held);
    return r;
}

OTP_EXPORT int execv(const char *path, char *const argv[])
{
    otp_real_init();
    bool is_held = otp_engine_before_exec();
    int r = otp_real.execv(path, argv);
    otp_engine_after_exec(is_held);
    return r;
}

OTP_EXPORT int execvp(const char *file, char *const argv[])
{
    otp_real_init();
    bool is_held = otp_engine_before_exec();
    int r = otp_real.execvp(file, argv);
    otp_engine_after_exec(is_held);
    return r;
}

OTP_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    otp_real_init();
    bool is_held = otp_engine_before_exec();
    int r = otp_real.execvpe(file, argv, envp);
    otp_engine_after_exec(is_held);
    return r;
}

OTP_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    otp_real_init();
    bool is_held = otp_engine_before_exec();
    int r = otp_real.fexecve(fd, argv, envp);
    otp_engine_after_exec(is_held);
    return r;
}

OTP_EXPORT int execveat(int dirfd, const char *path, char *const argv[], char *const envp[],
                        int flags)
{
    otp_real_init();
    if (otp_real.execveat == NULL) {
        errno = ENOSYS;
        return -1;
    }
    bool is_held = otp_engine_before_exec();
    int r = otp_real.execveat(dirfd, path, argv, envp, flags);
    otp_engine_after_exec(is_held);
    return r;
}

/* An argument list as exec wants it, from the arguments of a call. */
struct list {
    char **argv;
    size_t mapped; /* bytes to unmap when exec failed */
    char *few[FEW_ARGS];
};

/* Which of the real functions a list goes to. */
enum list_kind { LIST_PATH, LIST_SEARCH, LIST_ENV };

static size_t count_args(va_list args)
{
    va_list copy;
    va_copy(copy, args);
    size_t n = 0;
    while (va_arg(copy, char *) != NULL) {
        n++;
    }
    va_end(copy);
    return n;
}

static int exec_list(enum list_kind kind, const char *path, const char *first, va_list args)
{
    struct list l = {.argv = l.few};
    size_t rest = first == NULL ? 0 : count_args(args);
    if (rest + 2 > FEW_ARGS) {
        l.mapped = (rest + 2) * sizeof(char *);
        l.argv = otp_sys_map(l.mapped);
        if (l.argv == NULL) {
            errno = ENOMEM;
            return -1;
        }
    }
    /* exec does not write to its arguments; its prototype only lacks the word. */
    l.argv[0] = (char *)(uintptr_t)first;
    for (size_t i = 1; first != NULL && i <= rest + 1; i++) {
        l.argv[i] = va_arg(args, char *);
    }
    int r = kind == LIST_ENV      ? execve(path, l.argv, va_arg(args, char *const *))
            : kind == LIST_SEARCH ? execvp(path, l.argv)
                                  : execv(path, l.argv);
    if (l.mapped > 0) {
        otp_sys_unmap(l.argv, l.mapped);
    }
    return r;
}

OTP_EXPORT int execl(const char *path, const char *arg, ...)
{
    va_list args;
    va_start(args, arg);
    int r = exec_list(LIST_PATH, path, arg, args);
    va_end(args);
    return r;
}

OTP_EXPORT int execlp(const char *file, const char *arg, ...)
{
    va_list args;
    va_start(args, arg);
    int r = exec_list(LIST_SEARCH, file, arg, args);
    va_end(args);
    return r;
}

OTP_EXPORT int execle(const char *path, const char *arg, ...)
{
    va_list args;
    va_start(args, arg);
    int r = exec_list(LIST_ENV, path, arg, args);
    va_end(args);
    return r;
}

/* All five arguments are passed on whether they were given or not, as libc's own does. */
OTP_EXPORT int prctl(int option, ...)
{
    unsigned long arg[4];
    va_list args;
    va_start(args, option);
    for (size_t i = 0; i < OTP_ARRAY_LEN(arg); i++) {
        arg[i] = va_arg(args, unsigned long);
    }
    va_end(args);
    otp_real_init();
    if (option == PR_SET_SECCOMP) {
        otp_engine_stand_down();
    }
    int r = otp_real.prctl(option, arg[0], arg[1], arg[2], arg[3]);
    if (option == PR_SET_NAME && r == 0) {
        otp_spawn_named(true, (const char *)arg[0]);
    }
    return r;
}

/* An object that goes makes room for another at its place: what was seen must be looked at again.
 */
int dlclose(void *handle)
{
    otp_real_init();
    __typeof__(otp_real.dlclose) real = OTP_REAL(dlclose);
    (void)otp_add_acq_rel(&otp_unload_epoch, 1);
    int r = real == NULL ? -1 : real(handle);
    (void)otp_add_acq_rel(&otp_unload_epoch, 1);
    return r;
}
