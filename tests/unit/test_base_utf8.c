/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 and calendar time, against libc's answers. */
#include <check.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include "core/base/annot.h"
#include "core/base/civil.h"
#include "core/base/utf8.h"
#include "tests/unit/run.h"

/* Length of the valid character at s by libc, 0 when there is none. */
static unsigned libc_step(const char *s, size_t left)
{
    mbstate_t state = {0};
    wchar_t c;
    size_t n = mbrtowc(&c, s, left, &state);
    if (n == 0) {
        return 1; /* NUL */
    }
    /* libc takes surrogates and up to U+7FFFFFFF in some versions; RFC 3629 does not. */
    return n > 4 || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff ? 0 : (unsigned)n;
}

/* All texts of up to three bytes, and of four with every first two and some last ones. */
START_TEST(test_step_agrees_with_libc)
{
    static const unsigned char tails[] = {0x00, 0x41, 0x7f, 0x80, 0xa5, 0xbf, 0xc0, 0xff};
    unsigned long valid = 0;
    ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8"));
    for (unsigned v = 0; v < 1U << 22; v++) {
        char text[4] = {(char)(v >> 14), (char)(v >> 6), (char)tails[v >> 3 & 7],
                        (char)tails[v & 7]};
        for (size_t left = 1; left <= 4; left++) {
            unsigned got = otp_utf8_step(text, left);
            valid += got > 0;
            if (got != libc_step(text, left)) {
                ck_abort_msg("%08x of %zu bytes: %u", v, left, got);
            }
        }
    }
    ck_assert_uint_gt(valid, 1000000);
    ck_assert_uint_eq(otp_utf8_step("a", 0), 0);
}
END_TEST

START_TEST(test_clean_gives_valid_text)
{
    unsigned seed = 99;
    char out[64];
    ck_assert_uint_eq(otp_utf8_clean(otp_text_of("a\xff\xc3"), out, sizeof(out)), 7);
    ck_assert_int_eq(memcmp(out, "a\xef\xbf\xbd\xef\xbf\xbd", 7), 0);
    for (int round = 0; round < 100000; round++) {
        char text[24];
        size_t len = (size_t)rand_r(&seed) % sizeof(text);
        size_t room = (size_t)rand_r(&seed) % sizeof(out);
        for (size_t i = 0; i < len; i++) {
            text[i] = (char)(rand_r(&seed) >> 4);
        }
        size_t n = otp_utf8_clean(otp_text_make(text, len), out, room);
        if (n > room || !otp_utf8_is_valid(otp_text_make(out, n))) {
            ck_abort_msg("round %d", round);
        }
    }
}
END_TEST

START_TEST(test_cut_falls_between_characters)
{
    struct otp_text text = otp_text_of("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t max = 0; max < OTP_ARRAY_LEN(want); max++) {
        ck_assert_uint_eq(otp_utf8_cut(text, max), want[max]);
    }
    ck_assert_uint_eq(otp_utf8_cut(otp_text_of("\x80\x80\x80\x80\x80\x80"), 5), 5);
}
END_TEST

START_TEST(test_show_is_one_line)
{
    struct otp_line line = {0};
    otp_utf8_show(&line, otp_text_of("a\n\x7f\xc2\x85\xe2\x80\xa9\xff\xc3\xa9"), 100);
    ck_assert_uint_eq(line.len, 8);
    ck_assert_int_eq(memcmp(line.text, "a?????\xc3\xa9", 8), 0);
    otp_utf8_show(&line, otp_text_of("xyz"), 2);
    ck_assert_int_eq(memcmp(line.text + 8, "xy...", 5), 0);
}
END_TEST

START_TEST(test_civil_agrees_with_libc)
{
    unsigned seed = 5;
    for (uint64_t i = 0; i < 200000; i++) {
        uint64_t t = i < 100000 ? i * 86399 : (uint64_t)rand_r(&seed) * 100;
        time_t when = (time_t)t;
        struct tm tm;
        struct otp_civil c = otp_civil_of(t);
        ck_assert(gmtime_r(&when, &tm) != NULL || t == 0);
        if (c.year != (uint32_t)tm.tm_year + 1900 || c.month != (uint32_t)tm.tm_mon + 1 ||
            c.day != (uint32_t)tm.tm_mday || c.hour != (uint32_t)tm.tm_hour ||
            c.minute != (uint32_t)tm.tm_min || c.second != (uint32_t)tm.tm_sec) {
            ck_abort_msg("%llu", (unsigned long long)t);
        }
    }
    ck_assert_uint_eq(otp_civil_of(UINT64_MAX).year, 9999);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base_utf8");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_test(all, test_step_agrees_with_libc);
    tcase_add_test(all, test_clean_gives_valid_text);
    tcase_add_test(all, test_cut_falls_between_characters);
    tcase_add_test(all, test_show_is_one_line);
    tcase_add_test(all, test_civil_agrees_with_libc);
    suite_add_tcase(suite, all);

    return unit_run(suite);
}
