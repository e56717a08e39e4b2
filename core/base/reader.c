/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/reader.h"

#include <string.h>

void otp_reader_init(struct otp_reader *r, const void *data, uint64_t len)
{
    r->data = data;
    r->len = len;
    r->pos = 0;
    r->failed = false;
}

struct otp_reader otp_reader_part(const struct otp_reader *r, uint64_t off, uint64_t len)
{
    struct otp_reader part = {0};
    if (r->failed || off > r->len || len > r->len - off) {
        part.failed = true;
        return part;
    }
    part.data = r->data + off;
    part.len = len;
    return part;
}

void otp_reader_seek(struct otp_reader *r, uint64_t off)
{
    if (off > r->len) {
        r->failed = true;
        return;
    }
    r->pos = off;
}

uint64_t otp_reader_left(const struct otp_reader *r)
{
    return r->failed ? 0 : r->len - r->pos;
}

const void *otp_reader_bytes(struct otp_reader *r, uint64_t len)
{
    if (r->failed || len > r->len - r->pos) {
        r->failed = true;
        return NULL;
    }
    const void *p = r->data + r->pos;
    r->pos += len;
    return p;
}

uint8_t otp_reader_u8(struct otp_reader *r)
{
    const unsigned char *p = otp_reader_bytes(r, 1);
    return p == NULL ? 0 : *p;
}

uint16_t otp_reader_u16_le(struct otp_reader *r)
{
    const unsigned char *p = otp_reader_bytes(r, 2);
    return p == NULL ? 0 : (uint16_t)(p[0] | (unsigned)p[1] << 8);
}

uint32_t otp_reader_u32_le(struct otp_reader *r)
{
    const void *p = otp_reader_bytes(r, 4);
    uint32_t v = 0;
    if (p != NULL) {
        memcpy(&v, p, 4);
    }
    return v;
}

uint64_t otp_reader_u64_le(struct otp_reader *r)
{
    const void *p = otp_reader_bytes(r, 8);
    uint64_t v = 0;
    if (p != NULL) {
        memcpy(&v, p, 8);
    }
    return v;
}

uint32_t otp_reader_u32_be(struct otp_reader *r)
{
    return __builtin_bswap32(otp_reader_u32_le(r));
}

const char *otp_reader_string_at(const struct otp_reader *r, uint64_t off, size_t *out_len)
{
    if (r->failed || off >= r->len) {
        return NULL;
    }
    const char *s = (const char *)r->data + off;
    const char *end = memchr(s, '\0', (size_t)(r->len - off));
    if (end == NULL) {
        return NULL;
    }
    *out_len = (size_t)(end - s);
    return s;
}
