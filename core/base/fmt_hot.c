/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/fmt.h"

#include <string.h>

/* Two digits for each of 0 to 99. */
static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
                            "34353637383940414243444546474849505152535455565758596061626364656667"
                            "6869707172737475767778798081828384858687888990919293949596979899";

static size_t count_digits(uint64_t v)
{
    size_t n = 1;
    for (; v >= 10000; v /= 10000) {
        n += 4;
    }
    return n + (v >= 10) + (v >= 100) + (v >= 1000);
}

size_t otp_fmt_u64(char *out, uint64_t v)
{
    size_t n = count_digits(v);
    char *to = out + n;
    for (; v >= 100; v /= 100) {
        to -= 2;
        memcpy(to, &pairs[v % 100 * 2], 2);
    }
    if (v >= 10) {
        memcpy(out, &pairs[v * 2], 2);
    } else {
        *out = (char)('0' + v);
    }
    return n;
}

size_t otp_fmt_i64(char *out, int64_t v)
{
    if (v >= 0) {
        return otp_fmt_u64(out, (uint64_t)v);
    }
    out[0] = '-';
    return 1 + otp_fmt_u64(out + 1, 0U - (uint64_t)v);
}

size_t otp_fmt_hex(char *out, uint64_t v, unsigned min_digits)
{
    static const char digits[] = "0123456789abcdef";
    unsigned n = 1;
    while (n < 16 && (v >> (4 * n)) != 0) {
        n++;
    }
    n = n < min_digits ? (min_digits > 16 ? 16 : min_digits) : n;
    for (unsigned i = 0; i < n; i++) {
        out[i] = digits[(v >> (4 * (n - 1 - i))) & 15U];
    }
    return n;
}

bool otp_fmt_parse_u64(const char *s, size_t len, uint64_t *out_value)
{
    uint64_t v = 0;
    if (len == 0) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (s[i] < '0' || s[i] > '9' || __builtin_mul_overflow(v, 10U, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v)) {
            return false;
        }
    }
    *out_value = v;
    return true;
}

void otp_fmt_hex_bytes(char *out, const void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        (void)otp_fmt_hex(out + 2 * i, ((const unsigned char *)bytes)[i], 2);
    }
}

void otp_line_bytes(struct otp_line *l, const char *s, size_t len)
{
    size_t room = sizeof(l->text) - l->len;
    len = len > room ? room : len;
    memcpy(l->text + l->len, s, len);
    l->len += len;
}

void otp_line_str(struct otp_line *l, const char *s)
{
    otp_line_bytes(l, s, strlen(s));
}

void otp_line_u64(struct otp_line *l, uint64_t v)
{
    char digits[OTP_FMT_NUMBER_MAX];
    otp_line_bytes(l, digits, otp_fmt_u64(digits, v));
}

void otp_line_i64(struct otp_line *l, int64_t v)
{
    char digits[OTP_FMT_NUMBER_MAX];
    otp_line_bytes(l, digits, otp_fmt_i64(digits, v));
}
