/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors in a table that may be the host's: programs close everything from 3 upwards, close
 * and open 0, 1 and 2, and get the same numbers for files of their own. So a descriptor is
 * remembered together with the identity of what it named, and looked at again before each use.
 */
#ifndef OTP_EXPORT_FD_H
#define OTP_EXPORT_FD_H

#include <stdbool.h>
#include <stdint.h>

#define OTP_FD_NONE ((struct otp_fd){.fd = -1})

struct otp_fd {
    int fd; /* -1: none */
    uint64_t dev;
    uint64_t ino;
};

/*
 * Adopts fd, what open or socket gave: 0 to 2 are moved out of the way of the host. Returns 0, or
 * -errno (also when fd already is one), then nothing is open. Context: worker.
 */
int otp_fd_adopt(struct otp_fd *f, long fd);
/* True while f still names what was adopted. Context: worker. */
bool otp_fd_is_ours(const struct otp_fd *f);
/* Closes f when it still is ours; 0, or -errno when data may be lost. Context: worker. */
int otp_fd_close(struct otp_fd *f);

#endif
