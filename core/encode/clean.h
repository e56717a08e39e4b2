/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes any bytes a text that every receiver takes: valid UTF-8 (core/base/utf8.h) and without NUL,
 * at which readers written in C would end.
 */
#ifndef OTP_ENCODE_CLEAN_H
#define OTP_ENCODE_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/text.h"

/* How many bytes at the start of s are whole valid characters other than NUL. Context: worker. */
size_t otp_clean_prefix(const char *s, size_t len);
/*
 * Appends s to out with each NUL and each byte that is not valid as U+FFFD, cut before the
 * character that would go past max_bytes. False when out had no room. Context: worker.
 */
bool otp_clean_text(struct otp_buf *out, struct otp_text s, size_t max_bytes);

#endif
