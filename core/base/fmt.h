/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers to text and back without libc: no locale, no errno, no allocation. Context: hot. */
#ifndef OTP_BASE_FMT_H
#define OTP_BASE_FMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OTP_FMT_NUMBER_MAX 24 /* room for any number below, no NUL */

/* Writes v as decimal digits to out (no NUL); returns the number of characters. */
size_t otp_fmt_u64(char *out, uint64_t v);
size_t otp_fmt_i64(char *out, int64_t v);
/* Writes v as lower-case hex, at least min_digits (at most 16) digits; returns the count. */
size_t otp_fmt_hex(char *out, uint64_t v, unsigned min_digits);
/* Reads len characters as a decimal number; false when empty, not all digits, or too large. */
bool otp_fmt_parse_u64(const char *s, size_t len, uint64_t *out_value);
/* Writes len bytes as 2 * len lower-case hex digits (no NUL). */
void otp_fmt_hex_bytes(char *out, const void *bytes, size_t len);

/* A message of fixed size, put together piece by piece; what does not fit is cut off. */
struct otp_line {
    size_t len;
    char text[480];
};

void otp_line_str(struct otp_line *l, const char *s);
void otp_line_bytes(struct otp_line *l, const char *s, size_t len);
void otp_line_u64(struct otp_line *l, uint64_t v);
void otp_line_i64(struct otp_line *l, int64_t v);

#endif
