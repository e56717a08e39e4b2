/* SPDX-License-Identifier: Apache-2.0 */
/* Names by which a host changes, asks about or waits for signals: those of ours step aside first.
 */
#define _GNU_SOURCE /* sigisemptyset and others */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <time.h>

#include "core/base/annot.h"
#include "core/base/real.h"
#include "core/capture/altstack.h"
#include "core/capture/signals.h"

OTP_EXPORT int sigaction(int signo, const struct sigaction *act, struct sigaction *old)
{
    otp_real_init();
    if (act == NULL && otp_signals_answer(signo, old)) {
        return 0;
    }
    struct sigaction copy;
    const struct sigaction *wanted = act;
    if (act != NULL) {
        otp_signals_before(signo);
        wanted = otp_signals_shield(signo, act, &copy);
    }
    bool is_shielded = wanted != act;
    int r = otp_real.sigaction(signo, wanted, old);
    if (r == 0 && old != NULL) {
        otp_signals_hide_shield(signo, old);
    }
    if (act != NULL) {
        if (r == 0) {
            otp_signals_note_shield(signo, is_shielded);
        }
        otp_signals_after(signo);
    }
    return r;
}

OTP_EXPORT int __sigaction(int signo, const struct sigaction *act, struct sigaction *old);

int __sigaction(int signo, const struct sigaction *act, struct sigaction *old)
{
    return sigaction(signo, act, old);
}

long otp_syscall_sigaction(long number, long signo, const void *act, void *old, long bytes);

/* The same by system call. old is the kernel's structure, which begins with the handler; the kernel
 * finds out whether it can be written to. */
long otp_syscall_sigaction(long number, long signo, const void *act, void *old, long bytes)
{
    otp_real_init();
    struct sigaction answer;
    bool is_ours = act == NULL && otp_signals_answer((int)signo, &answer);
    if (act != NULL) {
        otp_signals_before((int)signo);
    }
    long r = otp_real.syscall(number, signo, act, old, bytes);
    if (r == 0 && old != NULL && is_ours) {
        memset(old, 0, 3 * sizeof(void *) + (size_t)bytes);
        memcpy(old, &answer.sa_handler, sizeof(answer.sa_handler));
    }
    if (act != NULL) {
        otp_signals_after((int)signo);
    }
    return r;
}

/* The older ways to set a handler differ in flags only. */
static sighandler_t set_handler(sighandler_t (*real)(int signo, sighandler_t handler), int signo,
                                sighandler_t handler)
{
    if (real == NULL) {
        errno = ENOSYS;
        return SIG_ERR;
    }
    otp_signals_before(signo);
    sighandler_t r = real(signo, handler);
    if (r != SIG_ERR) {
        otp_signals_note_shield(signo, false);
    }
    otp_signals_after(signo);
    return r;
}

OTP_EXPORT sighandler_t signal(int signo, sighandler_t handler)
{
    otp_real_init();
    return set_handler(otp_real.signal, signo, handler);
}

OTP_EXPORT sighandler_t bsd_signal(int signo, sighandler_t handler);
sighandler_t bsd_signal(int signo, sighandler_t handler)
{
    otp_real_init();
    return set_handler(otp_real.signal, signo, handler);
}

OTP_EXPORT sighandler_t ssignal(int signo, sighandler_t handler)
{
    otp_real_init();
    return set_handler(otp_real.signal, signo, handler);
}

OTP_EXPORT sighandler_t sysv_signal(int signo, sighandler_t handler)
{
    otp_real_init();
    return set_handler(otp_real.sysv_signal, signo, handler);
}

OTP_EXPORT sighandler_t __sysv_signal(int signo, sighandler_t handler)
{
    otp_real_init();
    return set_handler(otp_real.sysv_signal, signo, handler);
}

OTP_EXPORT sighandler_t sigset(int signo, sighandler_t handler)
{
    otp_real_init();
    return set_handler(otp_real.sigset, signo, handler);
}

OTP_EXPORT int setitimer(__itimer_which_t which, const struct itimerval *value,
                         struct itimerval *old)
{
    otp_real_init();
    if (which == ITIMER_PROF && value != NULL) {
        otp_signals_before(SIGPROF);
    }
    return otp_real.setitimer((int)which, value, old);
}

OTP_EXPORT int timer_create(clockid_t clock, struct sigevent *event, timer_t *out)
{
    otp_real_init();
    if (event != NULL &&
        (event->sigev_notify == SIGEV_SIGNAL || event->sigev_notify == SIGEV_THREAD_ID)) {
        otp_signals_before(event->sigev_signo);
    }
    __typeof__(otp_real.timer_create) real = OTP_REAL(timer_create);
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    return real(clock, event, out);
}

OTP_EXPORT int sigwait(const sigset_t *set, int *out_signo)
{
    otp_real_init();
    sigset_t copy = *set;
    otp_signals_hide(&copy);
    return otp_real.sigwait(&copy, out_signo);
}

OTP_EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    otp_real_init();
    sigset_t copy = *set;
    otp_signals_hide(&copy);
    return otp_real.sigwaitinfo(&copy, info);
}

OTP_EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    otp_real_init();
    sigset_t copy = *set;
    otp_signals_hide(&copy);
    return otp_real.sigtimedwait(&copy, info, timeout);
}

OTP_EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
    otp_real_init();
    sigset_t copy = *set;
    otp_signals_hide(&copy);
    return otp_real.signalfd(fd, &copy, flags);
}

OTP_EXPORT int sigpending(sigset_t *set)
{
    otp_real_init();
    int r = otp_real.sigpending(set);
    if (r == 0) {
        otp_signals_show_pending(set);
    }
    return r;
}

OTP_EXPORT int sigaltstack(const stack_t *stack, stack_t *old)
{
    otp_real_init();
    if (stack == NULL) {
        return otp_real.sigaltstack(stack, old);
    }
    stack_t wanted = *stack; /* old may be the same object */
    otp_altstack_before(&wanted);
    int r = otp_real.sigaltstack(&wanted, old);
    otp_altstack_after(&wanted, r == 0);
    return r;
}

OTP_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t copy;
    otp_real_init();
    otp_altstack_before_mask();
    otp_signals_before_mask(how, set);
    bool is_shielded = otp_altstack_is_shielded();
    int r = otp_real.sigprocmask(how, otp_altstack_mask(how, set, &copy), old);
    if (r == 0 && old != NULL && is_shielded) {
        otp_signals_hide_pending(old);
    }
    return r;
}

/* Before glibc 2.32 in the thread library only; handlers may call it, so nothing is looked up here.
 */
static int set_mask(int how, const sigset_t *set, sigset_t *old)
{
    if (otp_real.pthread_sigmask != NULL) {
        return otp_real.pthread_sigmask(how, set, old);
    }
    int saved = errno;
    int r = otp_real.sigprocmask(how, set, old) == 0 ? 0 : errno;
    errno = saved;
    return r;
}

OTP_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t copy;
    otp_real_init();
    otp_altstack_before_mask();
    otp_signals_before_mask(how, set);
    bool is_shielded = otp_altstack_is_shielded();
    int r = set_mask(how, otp_altstack_mask(how, set, &copy), old);
    if (r == 0 && old != NULL && is_shielded) {
        otp_signals_hide_pending(old);
    }
    return r;
}

OTP_EXPORT int siginterrupt(int signo, int is_interrupting)
{
    otp_real_init();
    otp_signals_before(signo);
    int r = otp_real.siginterrupt(signo, is_interrupting);
    otp_signals_after(signo);
    return r;
}

OTP_EXPORT int sigignore(int signo)
{
    otp_real_init();
    otp_signals_before(signo);
    int r = otp_real.sigignore(signo);
    otp_signals_after(signo);
    return r;
}

/* Profiling by libc itself, which sets a handler and a timer without a name that could be seen. */
OTP_EXPORT void __monstartup(unsigned long low, unsigned long high);
void __monstartup(unsigned long low, unsigned long high)
{
    otp_real_init();
    otp_signals_before(SIGPROF);
    otp_real.monstartup(low, high);
}

OTP_EXPORT int profil(unsigned short *counts, size_t bytes, size_t offset, unsigned scale)
{
    otp_real_init();
    otp_signals_before(SIGPROF);
    return otp_real.profil(counts, bytes, offset, scale);
}
