/* SPDX-License-Identifier: Apache-2.0 */
/* Program globs and the edit distance: small tables, and a differential test against fnmatch(). */
#include <check.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/annot.h"
#include "core/conf/glob.h"
#include "core/conf/notice.h"
#include "tests/unit/run.h"

static const struct {
    const char *pattern;
    const char *name;
    bool want;
} cases[] = {
    {"", "", true},
    {"", "a", false},
    {"*", "", true},
    {"*", "abc", true},
    {"**", "abc", true},
    {"?", "", false},
    {"?", "a", true},
    {"a*", "a", true},
    {"a*c", "abbc", true},
    {"a*c", "abcb", false},
    {"*b*", "abc", true},
    {"a?c", "abc", true},
    {"a?c", "ac", false},
    {"[abc]x", "bx", true},
    {"[abc]x", "dx", false},
    {"[a-c]x", "bx", true},
    {"[!a-c]x", "dx", true},
    {"[^a-c]x", "bx", false},
    {"[]]", "]", true},
    {"[!]]", "a", true},
    {"[!]]", "]", false},
    {"[a-]", "-", true},
    {"[", "[", true},
    {"[a", "[a", true},
    {"[!", "[!", true},
    {"a[", "a[", true},
    {"\\*", "*", true},
    {"\\*", "a", false},
    {"\\", "\\", true},
    {"[c-a]", "b", false},
    {"*.so", "lib.so.so", true},
    {"python3.*", "python3.11", true},
    {"\xff*", "\xff\xfe", true},
    {"[\xf0-\xff]", "\xf5", true},
    {"abc", "ABC", false},
};

START_TEST(test_glob_table)
{
    struct otp_text pattern = otp_text_of(cases[_i].pattern);
    ck_assert_msg(otp_glob_matches(pattern, otp_text_of(cases[_i].name)) == cases[_i].want,
                  "%s on %s", cases[_i].pattern, cases[_i].name);
}
END_TEST

static const struct {
    const char *list;
    const char *fault; /* a part of it; NULL: none */
} lists[] = {
    {",", "no pattern"},
    {" , ,", "no pattern"},
    {"", "no pattern"},
    {"[", "[ without a ]"},
    {"a,b[c", "[ without a ]"},
    {"[!]", "[ without a ]"},
    {"[]", "[ without a ]"},
    {"a[,]b", "[ without a ]"},
    {"\\[", NULL},
    {"[[]", NULL},
    {"[c-a]", "no character"},
    {"x[c-a]*", "no character"},
    {"[!\x01-\xff]", "no character"},
    {"[/]", "no character"},
    {"/usr/bin/x", "a /"},
    {"x,bin/*", "a /"},
    {"bin\\/x", "a /"},
    {"a,,b", NULL},
    {"*", NULL},
    {"[!a-c]?x*", NULL},
    {"[]a]", NULL},
    {"\\", NULL},
};

START_TEST(test_lists_that_match_nothing)
{
    const char *fault = otp_glob_list_fault(otp_text_of(lists[_i].list));
    bool is_good = lists[_i].fault == NULL
                       ? fault == NULL
                       : fault != NULL && strstr(fault, lists[_i].fault) != NULL;
    ck_assert_msg(is_good, "%s: %s", lists[_i].list, fault == NULL ? "nothing" : fault);
}
END_TEST

/* Random patterns over a small alphabet. Sets are left out: libc's answer on broken ones differs.
 */
START_TEST(test_glob_agrees_with_fnmatch)
{
    static const char pattern_bytes[] = "ab*?*";
    unsigned seed = 20240611;
    int matches = 0;
    for (int round = 0; round < 200000; round++) {
        char pattern[9] = {0};
        char name[9] = {0};
        size_t pattern_len = (size_t)rand_r(&seed) % 8;
        size_t name_len = (size_t)rand_r(&seed) % 8;
        for (size_t i = 0; i < pattern_len; i++) {
            pattern[i] = pattern_bytes[(size_t)rand_r(&seed) % 5];
        }
        for (size_t i = 0; i < name_len; i++) {
            name[i] = (char)('a' + rand_r(&seed) % 2);
        }
        bool want = fnmatch(pattern, name, 0) == 0;
        matches += want;
        ck_assert_msg(otp_glob_matches(otp_text_of(pattern), otp_text_of(name)) == want,
                      "%s on %s, round %d", pattern, name, round);
    }
    ck_assert_int_gt(matches, 1000);
}
END_TEST

/* The pattern that makes backtracking matchers exponential. */
START_TEST(test_glob_work_is_bounded)
{
    static char pattern[2001];
    static char name[10001];
    struct timespec begin;
    struct timespec end;
    for (size_t i = 0; i < 2000; i += 2) {
        memcpy(pattern + i, "*a", 2);
    }
    memset(name, 'a', 10000);
    name[10000] = 'b';
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    ck_assert(!otp_glob_matches(otp_text_make(pattern, 2000), otp_text_make(name, 10001)));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    ck_assert_int_lt(end.tv_sec - begin.tv_sec, 5);
}
END_TEST

START_TEST(test_glob_list)
{
    ck_assert(otp_glob_list_matches(otp_text_of("a, b* ,c"), otp_text_of("bee")));
    ck_assert(!otp_glob_list_matches(otp_text_of("a, b* ,c"), otp_text_of("dee")));
    ck_assert(!otp_glob_list_matches(otp_text_of(""), otp_text_of("a")));
    ck_assert(!otp_glob_list_matches(otp_text_of(",,"), otp_text_of("")));
}
END_TEST

START_TEST(test_distance)
{
    static const struct {
        const char *a;
        const char *b;
        unsigned want;
    } pairs[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"abc", "", 3},
        {"abc", "abc", 0},
        {"abc", "abd", 1},
        {"abc", "ac", 1},
        {"kitten", "sitting", 3},
        {"flaw", "lawn", 2},
        {"intention", "execution", 5},
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(pairs); i++) {
        unsigned got = otp_notice_distance(otp_text_of(pairs[i].a), otp_text_of(pairs[i].b));
        ck_assert_msg(got == pairs[i].want, "%s %s: %u", pairs[i].a, pairs[i].b, got);
    }
    char longest[65];
    memset(longest, 'x', sizeof(longest));
    ck_assert_uint_eq(otp_notice_distance(otp_text_make(longest, 63), otp_text_of("")), 63);
    ck_assert_uint_eq(otp_notice_distance(otp_text_make(longest, 64), otp_text_of("")), 255);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conf_glob");
    TCase *glob = tcase_create("glob");
    tcase_add_loop_test(glob, test_glob_table, 0, (int)OTP_ARRAY_LEN(cases));
    tcase_add_loop_test(glob, test_lists_that_match_nothing, 0, (int)OTP_ARRAY_LEN(lists));
    tcase_add_test(glob, test_glob_agrees_with_fnmatch);
    tcase_add_test(glob, test_glob_work_is_bounded);
    tcase_add_test(glob, test_glob_list);
    tcase_add_test(glob, test_distance);
    suite_add_tcase(suite, glob);

    return unit_run(suite);
}
