/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names by which a thread waits with a signal mask of its own for the time. Where it keeps the tick
 * blocked otherwise, one that came due is pending, and opening the mask would end the wait at once:
 * so the tick stays blocked in the wait as well.
 */
#define _GNU_SOURCE /* ppoll */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "core/base/annot.h"
#include "core/base/real.h"
#include "core/capture/signals.h"

OTP_EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                           const sigset_t *mask, size_t bytes);
/* Under a name of our own here: newer headers declare it, older ones do not. */
OTP_EXPORT int otp_epoll_pwait2(int epfd, struct epoll_event *events, int count,
                                const struct timespec *timeout,
                                const sigset_t *mask) __asm__("epoll_pwait2");

OTP_EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                     const sigset_t *mask)
{
    sigset_t copy;
    otp_real_init();
    return otp_real.ppoll(fds, count, timeout, otp_signals_wait_mask(mask, &copy));
}

int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                const sigset_t *mask, size_t bytes)
{
    sigset_t copy;
    otp_real_init();
    return otp_real.ppoll_chk(fds, count, timeout, otp_signals_wait_mask(mask, &copy), bytes);
}

OTP_EXPORT int pselect(int count, fd_set *reads, fd_set *writes, fd_set *errors,
                       const struct timespec *timeout, const sigset_t *mask)
{
    sigset_t copy;
    otp_real_init();
    return otp_real.pselect(count, reads, writes, errors, timeout,
                            otp_signals_wait_mask(mask, &copy));
}

OTP_EXPORT int epoll_pwait(int epfd, struct epoll_event *events, int count, int timeout,
                           const sigset_t *mask)
{
    sigset_t copy;
    otp_real_init();
    return otp_real.epoll_pwait(epfd, events, count, timeout, otp_signals_wait_mask(mask, &copy));
}

int otp_epoll_pwait2(int epfd, struct epoll_event *events, int count,
                     const struct timespec *timeout, const sigset_t *mask)
{
    sigset_t copy;
    otp_real_init();
    if (otp_real.epoll_pwait2 == NULL) {
        errno = ENOSYS;
        return -1;
    }
    return otp_real.epoll_pwait2(epfd, events, count, timeout, otp_signals_wait_mask(mask, &copy));
}

OTP_EXPORT int sigsuspend(const sigset_t *mask)
{
    sigset_t copy;
    otp_real_init();
    return otp_real.sigsuspend(otp_signals_wait_mask(mask, &copy));
}
