/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading memory that others manage and that may go away at any moment, also between a look and the
 * read: a fault is an answer, no signal.
 */
#ifndef OTP_BASE_PEEK_H
#define OTP_BASE_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OTP_PEEKS_MAX 4

struct otp_peek {
    void *to;
    uintptr_t from;
    size_t len;
};

/*
 * Copies count (at most OTP_PEEKS_MAX) pieces in their order, in one system call. False: not all of
 * it can be read, and what was copied means nothing. Where the kernel refuses that call, pages are
 * looked at first and then read. Context: hot, worker.
 */
bool otp_peek(const struct otp_peek *pieces, unsigned count);

/* One piece. */
static inline bool otp_peek_one(void *to, uintptr_t from, size_t len)
{
    struct otp_peek p = {.to = to, .from = from, .len = len};
    return otp_peek(&p, 1);
}

#endif
