/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/utf8.h"

#include <stdint.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Eight bytes at once: true when all are ASCII and none is NUL. */
static bool plain_word(const unsigned char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof(w));
    return ((w | (w - 0x0101010101010101U)) & 0x8080808080808080U) == 0;
}

/* Bytes of the character that starts with this byte, and the range of its second byte. */
struct lead {
    unsigned len; /* 0: cannot start one */
    unsigned char low;
    unsigned char high;
};

/* Source: The Unicode Standard, table 3-7 (well-formed UTF-8 byte sequences). */
static struct lead lead_of(unsigned char c)
{
    struct lead l = {.len = 0, .low = 0x80, .high = 0xbf};
    if (c >= 0x01 && c <= 0x7f) {
        l.len = 1;
    } else if (c >= 0xc2 && c <= 0xdf) {
        l.len = 2;
    } else if (c >= 0xe0 && c <= 0xef) {
        l.len = 3;
        l.low = c == 0xe0 ? 0xa0 : 0x80;
        l.high = c == 0xed ? 0x9f : 0xbf;
    } else if (c >= 0xf0 && c <= 0xf4) {
        l.len = 4;
        l.low = c == 0xf0 ? 0x90 : 0x80;
        l.high = c == 0xf4 ? 0x8f : 0xbf;
    }
    return l;
}

/* Bytes at p (at least one) that belong together; *out_good: they are one whole character. */
static size_t next_char(const unsigned char *p, size_t len, bool *out_good)
{
    struct lead l = lead_of(p[0]);
    *out_good = l.len == 1;
    if (l.len <= 1) {
        return 1;
    }
    size_t n = 1;
    while (n < l.len && n < len && p[n] >= l.low && p[n] <= l.high) {
        l.low = 0x80;
        l.high = 0xbf;
        n++;
    }
    *out_good = n == l.len;
    return n;
}

size_t otp_utf8_good_prefix(const char *s, size_t len)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t i = 0;
    while (i < len) {
        if (len - i >= 8 && plain_word(p + i)) {
            i += 8;
            continue;
        }
        bool good;
        size_t n = next_char(p + i, len - i, &good);
        if (!good) {
            break;
        }
        i += n;
    }
    return i;
}

/* The longest prefix of good text that is not longer than max. */
static size_t cut(const char *s, size_t len, size_t max)
{
    if (len <= max) {
        return len;
    }
    while (max > 0 && ((unsigned char)s[max] & 0xc0) == 0x80) {
        max--;
    }
    return max;
}

bool otp_utf8_clean(struct otp_buf *out, struct otp_text s, size_t max_bytes)
{
    size_t left = max_bytes;
    size_t i = 0;
    while (i < s.len) {
        size_t good = otp_utf8_good_prefix(s.data + i, s.len - i);
        size_t fits = cut(s.data + i, good, left);
        if (!otp_buf_add(out, s.data + i, fits)) {
            return false;
        }
        i += good;
        left -= fits;
        if (fits < good || i == s.len || left < sizeof(replacement) - 1) {
            break;
        }
        if (!otp_buf_add(out, replacement, sizeof(replacement) - 1)) {
            return false;
        }
        left -= sizeof(replacement) - 1;
        i += next_char((const unsigned char *)s.data + i, s.len - i, &(bool){false});
    }
    return true;
}
