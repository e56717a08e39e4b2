/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of troubles that stay, change, end, come again, and never look the same. */
#include <check.h>

#include "core/engine/trouble.h"
#include "tests/unit/run.h"

#define SECOND UINT64_C(1000000000)

static struct otp_trouble t;
static uint64_t n;

static void set_up(void)
{
    t = (struct otp_trouble){0};
    n = 99;
}

START_TEST(test_a_trouble_is_said_once_and_then_counted)
{
    ck_assert(otp_trouble_comes(&t, 5, SECOND, &n));
    ck_assert_uint_eq(n, 0);
    for (uint64_t i = 2; i < 5000; i++) {
        ck_assert(!otp_trouble_comes(&t, 5, i * SECOND, &n));
    }
    ck_assert(otp_trouble_ends(&t, &n));
    ck_assert_uint_eq(n, 4999);
    ck_assert(!otp_trouble_ends(&t, &n));
}
END_TEST

START_TEST(test_what_goes_well_is_no_news)
{
    ck_assert(!otp_trouble_ends(&t, &n));
}
END_TEST

START_TEST(test_a_trouble_that_changes_is_said_again)
{
    ck_assert(otp_trouble_comes(&t, 5, SECOND, &n));
    ck_assert(!otp_trouble_comes(&t, 5, 2 * SECOND, &n));
    ck_assert(otp_trouble_comes(&t, 6, 3 * SECOND, &n));
    ck_assert_uint_eq(n, 2);
    ck_assert(otp_trouble_ends(&t, &n));
    ck_assert_uint_eq(n, 1);
}
END_TEST

START_TEST(test_one_that_comes_and_goes_is_said_once_in_a_while)
{
    unsigned begins = 0;
    unsigned ends = 0;
    uint64_t lost = 0;
    for (uint64_t s = 1; s <= 3600; s += 2) {
        if (otp_trouble_comes(&t, 5, s * SECOND, &n)) {
            begins++;
            lost += n;
        }
        if (otp_trouble_ends(&t, &n)) {
            ends++;
            lost += n;
        }
    }
    ck_assert_uint_eq(begins, 6);
    ck_assert_uint_eq(ends, 6);
    ck_assert_uint_ge(lost, 1500); /* of 1800, but for what came since the last word */
}
END_TEST

START_TEST(test_ever_new_troubles_are_bounded)
{
    unsigned said = 0;
    for (uint64_t s = 1; s <= 3600; s++) {
        said += otp_trouble_comes(&t, s, s * SECOND, &n);
    }
    ck_assert_uint_ge(said, OTP_TROUBLE_KINDS);
    ck_assert_uint_le(said, 6 * OTP_TROUBLE_KINDS);
}
END_TEST

START_TEST(test_two_that_take_turns_are_bounded)
{
    unsigned said = 0;
    for (uint64_t s = 1; s <= 600; s++) {
        said += otp_trouble_comes(&t, 5 + s % 2, s * SECOND, &n);
    }
    ck_assert_uint_eq(said, 2);
}
END_TEST

START_TEST(test_kinds_differ_by_text_and_number)
{
    ck_assert_uint_ne(otp_trouble_kind("a", 1), otp_trouble_kind("b", 1));
    ck_assert_uint_ne(otp_trouble_kind("a", 1), otp_trouble_kind("a", 4));
    ck_assert_uint_eq(otp_trouble_kind("a", 1), otp_trouble_kind("a", 1));
    ck_assert_uint_ne(otp_trouble_kind("", 0), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("trouble");
    TCase *c = tcase_create("trouble");
    tcase_add_checked_fixture(c, set_up, NULL);
    tcase_add_test(c, test_a_trouble_is_said_once_and_then_counted);
    tcase_add_test(c, test_what_goes_well_is_no_news);
    tcase_add_test(c, test_a_trouble_that_changes_is_said_again);
    tcase_add_test(c, test_one_that_comes_and_goes_is_said_once_in_a_while);
    tcase_add_test(c, test_ever_new_troubles_are_bounded);
    tcase_add_test(c, test_two_that_take_turns_are_bounded);
    tcase_add_test(c, test_kinds_differ_by_text_and_number);
    suite_add_tcase(s, c);
    return unit_run(s);
}
