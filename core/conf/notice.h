/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of the lines about settings that are not used: quoted values, and what a typo may have
 * meant. */
#ifndef OTP_CONF_NOTICE_H
#define OTP_CONF_NOTICE_H

#include <stddef.h>

#include "core/base/fmt.h"
#include "core/base/text.h"

/*
 * Adds the value to line: cut after max_bytes, control characters and what is not UTF-8 as '?', and
 * a user name and password of a URL as ***. Context: any.
 */
void otp_notice_value(struct otp_line *line, struct otp_text value, size_t max_bytes);

/*
 * Number of single-byte insertions, deletions and replacements that make b of a; texts of more than
 * 63 bytes are far from everything. Source: Wagner and Fischer, The String-to-String Correction
 * Problem. Context: any.
 */
unsigned otp_notice_distance(struct otp_text a, struct otp_text b);

#endif
