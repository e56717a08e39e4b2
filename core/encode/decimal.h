/* SPDX-License-Identifier: Apache-2.0 */
/* Floating-point numbers as text without libc. */
#ifndef OTP_ENCODE_DECIMAL_H
#define OTP_ENCODE_DECIMAL_H

#include <stddef.h>

#define OTP_DECIMAL_MAX 32 /* bytes of any number below, no NUL */

/*
 * Writes v with 17 significant digits, trailing zeros left out, so that reading it gives v again
 * (IEEE 754: 17 decimal digits tell any two doubles apart). NaN, Infinity and -Infinity are words.
 * Returns the number of characters. Context: any.
 */
size_t otp_decimal(char out[OTP_DECIMAL_MAX], double v);

#endif
