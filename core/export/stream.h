/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream socket tells about itself and its peer. Context of everything here: worker. */
#ifndef OTP_EXPORT_STREAM_H
#define OTP_EXPORT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/export/fd.h"

/* Waits for an event of poll() (fd -1: for the time alone); true when one came before until_ns. */
bool otp_stream_wait(int fd, short events, uint64_t until_ns);
/* Takes the pending error off the socket: an errno value, 0 for none. */
int otp_stream_take_error(const struct otp_fd *f);
/* Bytes that the peer has not acknowledged (TCP) or not read (Unix). */
int otp_stream_unread_bytes(const struct otp_fd *f);

#endif
