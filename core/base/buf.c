/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/buf.h"

#include <string.h>

#include "core/base/fmt.h"

void otp_buf_init(struct otp_buf *b, struct otp_heap *heap, size_t max)
{
    memset(b, 0, sizeof(*b));
    b->heap = heap;
    b->max = max;
}

void otp_buf_fini(struct otp_buf *b)
{
    otp_heap_free(b->heap, b->data);
    otp_buf_init(b, b->heap, b->max);
}

void otp_buf_clear(struct otp_buf *b)
{
    b->len = 0;
    b->failed = false;
}

unsigned char *otp_buf_reserve(struct otp_buf *b, size_t extra)
{
    if (b->failed || extra > b->max || b->len > b->max - extra) {
        b->failed = true;
        return NULL;
    }
    size_t need = b->len + extra;
    if (need > b->capacity || b->data == NULL) {
        size_t capacity = b->capacity + b->capacity / 2;
        capacity = capacity < need ? need : capacity;
        capacity = capacity < 64 ? 64 : capacity;
        capacity = capacity > b->max && need <= b->max ? b->max : capacity;
        unsigned char *data = otp_heap_realloc(b->heap, b->data, capacity);
        if (data == NULL) {
            b->failed = true;
            return NULL;
        }
        b->data = data;
        b->capacity = capacity;
    }
    return b->data + b->len;
}

bool otp_buf_add(struct otp_buf *b, const void *data, size_t len)
{
    unsigned char *to = otp_buf_reserve(b, len);
    if (to == NULL) {
        return false;
    }
    if (len > 0) {
        memcpy(to, data, len);
        b->len += len;
    }
    return true;
}

bool otp_buf_add_str(struct otp_buf *b, const char *s)
{
    return otp_buf_add(b, s, strlen(s));
}

bool otp_buf_add_byte(struct otp_buf *b, unsigned char c)
{
    return otp_buf_add(b, &c, 1);
}

bool otp_buf_add_u64(struct otp_buf *b, uint64_t v)
{
    char digits[OTP_FMT_NUMBER_MAX];
    return otp_buf_add(b, digits, otp_fmt_u64(digits, v));
}

bool otp_buf_add_i64(struct otp_buf *b, int64_t v)
{
    char digits[OTP_FMT_NUMBER_MAX];
    return otp_buf_add(b, digits, otp_fmt_i64(digits, v));
}

bool otp_buf_add_hex(struct otp_buf *b, uint64_t v, unsigned min_digits)
{
    char digits[OTP_FMT_NUMBER_MAX];
    return otp_buf_add(b, digits, otp_fmt_hex(digits, v, min_digits));
}

const char *otp_buf_str(struct otp_buf *b)
{
    unsigned char *end = otp_buf_reserve(b, 1);
    if (end == NULL) {
        return "";
    }
    *end = '\0';
    return (const char *)b->data;
}
