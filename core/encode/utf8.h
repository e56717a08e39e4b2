/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes any bytes a text that every receiver takes: valid UTF-8 without NUL. Overlong forms, surrogates
 * and code points past U+10FFFF are not valid.
 */
#ifndef OTP_ENCODE_UTF8_H
#define OTP_ENCODE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/text.h"

/* How many bytes at the start of s are whole valid characters other than NUL. Context: any. */
size_t otp_utf8_good_prefix(const char *s, size_t len);
/*
 * Appends s to out with each NUL and each longest start of a broken character as U+FFFD, cut before the
 * character that would go past max_bytes. False when out had no room. Context: any.
 */
bool otp_utf8_clean(struct otp_buf *out, struct otp_text s, size_t max_bytes);

#endif
