/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "core/base/sys.h"

#define LOWEST_FD 3

static int identify(int fd, struct stat *out)
{
    return (int)OTP_SYS2(SYS_fstat, fd, out);
}

int otp_fd_adopt(struct otp_fd *f, long fd)
{
    struct stat st;

    *f = OTP_FD_NONE;
    if (fd >= 0 && fd < LOWEST_FD) {
        long higher = OTP_SYS3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, LOWEST_FD);
        otp_sys_close((int)fd);
        fd = higher == -EINVAL ? -EMFILE : higher; /* the process may have no number so high */
    }
    if (fd < 0) {
        return (int)fd;
    }
    int r = identify((int)fd, &st);
    if (r != 0) {
        if (r != -EBADF) {
            otp_sys_close((int)fd); /* it is there, the kernel only does not tell what it is */
        }
        return r;
    }
    f->fd = (int)fd;
    f->dev = st.st_dev;
    f->ino = st.st_ino;
    return 0;
}

bool otp_fd_is_ours(const struct otp_fd *f)
{
    struct stat st;
    return f->fd >= 0 && identify(f->fd, &st) == 0 && st.st_dev == f->dev && st.st_ino == f->ino;
}

int otp_fd_close(struct otp_fd *f)
{
    long r = 0;
    if (f->fd >= 0) {
        /* Linux frees the number even when close fails, so it must not be tried again. */
        r = otp_fd_is_ours(f) ? OTP_SYS1(SYS_close, f->fd) : -EBADF;
    }
    *f = OTP_FD_NONE;
    return r == -EINTR ? 0 : (int)r;
}
