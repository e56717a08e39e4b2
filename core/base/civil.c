/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/civil.h"

#define DAY_SECONDS 86400U
#define YEAR_MAX 9999U

static uint32_t is_leap(uint32_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 1 : 0;
}

static uint32_t month_days(uint32_t year, uint32_t month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 ? is_leap(year) : 0);
}

struct otp_civil otp_civil_of(uint64_t seconds)
{
    struct otp_civil c = {.year = 1970, .month = 1};
    uint32_t in_day = (uint32_t)(seconds % DAY_SECONDS);
    uint64_t days = seconds / DAY_SECONDS;

    /* Year by year is short enough, and bounded: four digits are all that a name has room for. */
    while (days >= 365 + is_leap(c.year) && c.year < YEAR_MAX) {
        days -= 365 + is_leap(c.year);
        c.year++;
    }
    days = days > 365 ? 365 : days;
    while (c.month < 12 && days >= month_days(c.year, c.month)) {
        days -= month_days(c.year, c.month);
        c.month++;
    }
    c.day = (uint32_t)days + 1;
    c.hour = in_day / 3600;
    c.minute = in_day / 60 % 60;
    c.second = in_day % 60;
    return c;
}

void otp_civil_digits(char *out, uint32_t v, unsigned digits)
{
    for (unsigned i = digits; i > 0; i--) {
        out[i - 1] = (char)('0' + v % 10);
        v /= 10;
    }
}
