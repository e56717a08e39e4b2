/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/retry.h"

#include <stddef.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/fmt.h"
#include "core/base/sys.h"

#define WORDS_MAX 8U

uint64_t otp_retry_pause_ns(unsigned failures, uint64_t min_ns, uint64_t max_ns)
{
    uint64_t pause = min_ns;
    uint64_t noise;
    for (unsigned i = 1; i < failures && pause < max_ns; i++) {
        pause *= 2;
    }
    pause = pause < max_ns ? pause : max_ns;
    otp_sys_random(&noise, sizeof(noise));
    return pause / 2 + noise % (pause / 2 + 1);
}

/* Days from 1970-01-01 to a date of the Gregorian calendar, counting years from March. */
static uint64_t days_of(uint64_t year, uint64_t month, uint64_t day)
{
    year -= month <= 2;
    uint64_t shifted = (month + 9) % 12;
    return year * 365 + year / 4 - year / 100 + year / 400 + (153 * shifted + 2) / 5 + day - 1 -
           719468;
}

struct words {
    struct otp_text items[WORDS_MAX];
    size_t count;
};

/* The date's words and numbers; blanks, commas, colons and dashes separate them. */
static void split(struct otp_text text, struct words *out)
{
    size_t begin = 0;
    out->count = 0;
    for (size_t i = 0; i <= text.len; i++) {
        bool is_end = i == text.len || strchr(" ,:-", text.data[i]) != NULL;
        if (is_end && i > begin && out->count < WORDS_MAX) {
            out->items[out->count++] = otp_text_make(text.data + begin, i - begin);
        }
        begin = is_end ? i + 1 : begin;
    }
}

static uint64_t month_of(struct otp_text word)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (uint64_t m = 0; m < 12 && word.len == 3; m++) {
        if (memcmp(names + 3 * m, word.data, 3) == 0) {
            return m + 1;
        }
    }
    return 0;
}

static bool number(struct otp_text word, uint64_t most, uint64_t *out)
{
    return word.len <= 4 && otp_fmt_parse_u64(word.data, word.len, out) && *out <= most;
}

/* Where in the words of the two orders the parts stand. */
struct order {
    unsigned char day, month, year, hour, minute, second;
};

static const struct order *order_of(const struct words *w)
{
    /* "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT"; then asctime's. */
    static const struct order usual = {1, 2, 3, 4, 5, 6};
    static const struct order asctime = {2, 1, 6, 3, 4, 5};
    if (w->count == 7) {
        return &asctime;
    }
    bool is_gmt = w->count == 8 && w->items[7].len == 3 && memcmp(w->items[7].data, "GMT", 3) == 0;
    return is_gmt ? &usual : NULL;
}

/* Two digits mean the year that is at most 50 years ahead. */
static uint64_t whole_year(uint64_t year, uint64_t now_s)
{
    uint64_t this_year = 1970 + now_s / 31556952;
    year += this_year / 100 * 100;
    return year > this_year + 50 ? year - 100 : year;
}

static bool read_date(struct otp_text text, uint64_t now_s, uint64_t *out_s)
{
    struct words w;
    uint64_t day;
    uint64_t year;
    uint64_t hour;
    uint64_t minute;
    uint64_t second;

    split(text, &w);
    const struct order *o = order_of(&w);
    uint64_t month = o == NULL ? 0 : month_of(w.items[o->month]);
    if (month == 0 || !number(w.items[o->day], 31, &day) || day == 0 ||
        !number(w.items[o->year], 9999, &year) || !number(w.items[o->hour], 23, &hour) ||
        !number(w.items[o->minute], 59, &minute) || !number(w.items[o->second], 60, &second)) {
        return false;
    }
    year = w.items[o->year].len == 2 ? whole_year(year, now_s) : year;
    *out_s =
        year < 1970 ? 0 : days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    return true;
}

static bool is_number(struct otp_text value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '0' || value.data[i] > '9') {
            return false;
        }
    }
    return value.len > 0;
}

bool otp_retry_after_parse(struct otp_text value, uint64_t now_s, uint64_t *out_seconds)
{
    uint64_t when;
    if (otp_fmt_parse_u64(value.data, value.len, out_seconds)) {
        return true;
    }
    if (is_number(value)) { /* that does not fit: as long as can be said */
        *out_seconds = UINT64_MAX;
        return true;
    }
    if (!read_date(value, now_s, &when)) {
        return false;
    }
    *out_seconds = when > now_s ? when - now_s : 0;
    return true;
}
