/* SPDX-License-Identifier: Apache-2.0 */
/* Calendar time in UTC without libc's time zones. */
#ifndef OTP_BASE_CIVIL_H
#define OTP_BASE_CIVIL_H

#include <stdint.h>

struct otp_civil {
    uint32_t year;
    uint32_t month; /* 1 to 12 */
    uint32_t day;   /* 1 to 31 */
    uint32_t hour;
    uint32_t minute;
    uint32_t second;
};

/* The UTC date of a time in seconds since 1970-01-01. Context: any. */
struct otp_civil otp_civil_of(uint64_t seconds);
/* Writes v with exactly digits digits, zeros in front. Context: any. */
void otp_civil_digits(char *out, uint32_t v, unsigned digits);

#endif
