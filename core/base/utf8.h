/* SPDX-License-Identifier: Apache-2.0 */
/* Valid UTF-8 out of any bytes: messages and names come from files, threads and environments. */
#ifndef OTP_BASE_UTF8_H
#define OTP_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/fmt.h"
#include "core/base/text.h"

/*
 * Bytes (1 to 4) of the character at s, of which left bytes are there; 0 when it is not valid: cut,
 * overlong, a surrogate or above U+10FFFF. Source: RFC 3629, section 4. Context: any.
 */
unsigned otp_utf8_step(const char *s, size_t left);
/*
 * As otp_utf8_step, but 0 also for what does not show as one character in a line: controls, line
 * separators, marks that turn the direction of writing round. Context: any.
 */
unsigned otp_utf8_step_printable(const char *s, size_t left);
/* True when the whole text is valid. Context: any. */
bool otp_utf8_is_valid(struct otp_text text);
/* Length of the longest beginning of at most max bytes that does not cut a character. Context: any.
 */
size_t otp_utf8_cut(struct otp_text text, size_t max);
/*
 * Copies text to out, each byte that is not valid as U+FFFD, at most room bytes (no NUL), never
 * cutting a character; returns the length. Context: any.
 */
size_t otp_utf8_clean(struct otp_text text, char *out, size_t room);
/*
 * Adds text to a line of a message, at most max_bytes and never a part of a character, with '?' for
 * all that otp_utf8_step_printable() refuses, and "..." where it was cut. Context: any.
 */
void otp_utf8_show(struct otp_line *line, struct otp_text text, size_t max_bytes);

#endif
