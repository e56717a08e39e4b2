/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/stream.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "core/base/sys.h"

#define SECOND_NS 1000000000U
#define REFUSED_NS 10000000U

bool otp_stream_wait(int fd, short events, uint64_t until_ns)
{
    struct pollfd p = {.fd = fd, .events = events};
    uint64_t now = otp_sys_monotonic_ns();
    uint64_t left = until_ns > now ? until_ns - now : 0;
    struct timespec ts = {.tv_sec = (time_t)(left / SECOND_NS),
                          .tv_nsec = (long)(left % SECOND_NS)};
    long r = OTP_SYS5(SYS_ppoll, &p, 1, &ts, 0, 0);
    if (r < 0 && r != -EINTR && left > 0) {
        ts = (struct timespec){.tv_nsec = (long)(left < REFUSED_NS ? left : REFUSED_NS)};
        (void)OTP_SYS2(SYS_nanosleep, &ts, 0); /* refused: the caller must not spin instead */
    }
    return r > 0;
}

int otp_stream_take_error(const struct otp_fd *f)
{
    int error = 0;
    socklen_t len = sizeof(error);
    long r = OTP_SYS5(SYS_getsockopt, f->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    return r < 0 ? (int)-r : error;
}

int otp_stream_unread_bytes(const struct otp_fd *f)
{
    int unread = 0;
    return OTP_SYS3(SYS_ioctl, f->fd, SIOCOUTQ, &unread) == 0 ? unread : 1;
}
