/* SPDX-License-Identifier: Apache-2.0 */
/* Shell patterns on names, without libc's fnmatch() and its locale. */
#ifndef OTP_CONF_GLOB_H
#define OTP_CONF_GLOB_H

#include <stdbool.h>

#include "core/base/text.h"

/*
 * True when pattern matches the whole name. * any bytes, ? one byte, [a-z] [!a-z] [^a-z] one byte
 * of (not of) a set, \ takes the next byte as it is; a [ without its ] is an ordinary byte. Work is
 * bounded by the product of the lengths. Context: any.
 */
bool otp_glob_matches(struct otp_text pattern, struct otp_text name);

/* True when one of the comma-separated patterns (blanks around them ignored) matches. Context: any.
 */
bool otp_glob_list_matches(struct otp_text patterns, struct otp_text name);

/*
 * What is wrong with a list that has no pattern in it, or one that no base name can match, behind
 * "VARIABLE=... ": a static text. NULL: nothing. Context: any.
 */
const char *otp_glob_list_fault(struct otp_text patterns);

#endif
