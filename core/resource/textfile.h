/* SPDX-License-Identifier: Apache-2.0 */
/* Small text files of /proc and /etc, line by line, without memory of its own. */
#ifndef OTP_RESOURCE_TEXTFILE_H
#define OTP_RESOURCE_TEXTFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/text.h"

#define OTP_TEXT_LINE_MAX 2048 /* bytes of a line; the rest of a longer one is not seen */

/* Gets one line without its newline; false: no more, please. */
typedef bool (*otp_text_line)(void *arg, struct otp_text line);

/*
 * Calls each for the lines of root + path (root may be NULL); stops after 4 MiB. False when the
 * file cannot be opened. Context: worker, init.
 */
bool otp_textfile_lines(const char *root, const char *path, otp_text_line each, void *arg);

/* Reads at most room bytes from the start of root + path; the number, 0 when there is nothing. */
size_t otp_textfile_read(const char *root, const char *path, char *out, size_t room);

/* Writes root + path (root may be NULL), NUL-terminated; false when they are longer than room. */
bool otp_textfile_join(const char *root, const char *path, char *out, size_t room);

/* Reads the symbolic link root + path; the number of bytes, 0 on failure. */
size_t otp_textfile_link(const char *root, const char *path, char *out, size_t room);

#endif
