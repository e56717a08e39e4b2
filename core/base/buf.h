/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer with a hard maximum and a sticky error: after a failed append nothing more
 * is added and otp_buf_ok() says false, so that writers check once at the end.
 */
#ifndef OTP_BASE_BUF_H
#define OTP_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"

struct otp_buf {
    struct otp_heap *heap;
    unsigned char *data;
    size_t len;
    size_t capacity;
    size_t max;
    bool failed;
};

/* An empty buffer of at most max bytes that takes its memory from heap. Context: any. */
void otp_buf_init(struct otp_buf *b, struct otp_heap *heap, size_t max);
/* Frees the memory; b can be used again. */
void otp_buf_fini(struct otp_buf *b);
/* Empties b, keeps the memory, clears the error. */
void otp_buf_clear(struct otp_buf *b);
/* Room for extra more bytes behind len, or NULL and a sticky error; the caller then adds to len. */
unsigned char *otp_buf_reserve(struct otp_buf *b, size_t extra);
/* Appends len bytes; false when there was no room. */
bool otp_buf_add(struct otp_buf *b, const void *data, size_t len);
/* Appends a NUL-terminated string without its NUL. */
bool otp_buf_add_str(struct otp_buf *b, const char *s);
/* Appends one byte. */
bool otp_buf_add_byte(struct otp_buf *b, unsigned char c);
/* Appends a number as decimal digits. */
bool otp_buf_add_u64(struct otp_buf *b, uint64_t v);
bool otp_buf_add_i64(struct otp_buf *b, int64_t v);
/* Appends v as lower-case hex with at least min_digits digits. */
bool otp_buf_add_hex(struct otp_buf *b, uint64_t v, unsigned min_digits);
/* The content as a NUL-terminated string (the NUL is not counted in len); "" after an error. */
const char *otp_buf_str(struct otp_buf *b);
/* True while no append has failed. */
static inline bool otp_buf_ok(const struct otp_buf *b)
{
    return !b->failed;
}

#endif
