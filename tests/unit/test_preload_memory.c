/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own functions on memory against libc's: all sizes up to 512 and some beyond, all alignments
 * within a piece of 16 bytes, overlaps, and places at the edge of a page behind which nothing may
 * be read. The functions are those of the library's own object file, renamed.
 */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/run.h"

void *own_memcpy(void *to, const void *from, size_t n);
void *own_memmove(void *to, const void *from, size_t n);
void *own_memset(void *to, int byte, size_t n);
int own_memcmp(const void *a, const void *b, size_t n);
void *own_memchr(const void *s, int byte, size_t n);
size_t own_strlen(const char *s);
size_t own_strnlen(const char *s, size_t n);
int own_strcmp(const char *a, const char *b);
int own_strncmp(const char *a, const char *b, size_t n);
char *own_strchr(const char *s, int c);
char *own_strrchr(const char *s, int c);

#define PAGE ((size_t)4096)
#define SMALL ((size_t)512) /* every size up to here */
#define ALIGNMENTS ((size_t)16)
#define ROOM (2 * PAGE)
#define SEED 11U

static const size_t large[] = {513, 1007, 1023, 1024, 1025, 1040, 2047, 2048, 3000, 4095, 4096};
#define SIZES (SMALL + 1 + sizeof(large) / sizeof(large[0]))

static size_t size_of(size_t i)
{
    return i <= SMALL ? i : large[i - SMALL - 1];
}

/* Two pages between two that nobody may touch. */
struct fenced {
    char *low;
    char *high; /* the first byte that is out of bounds */
};

static struct fenced one;
static struct fenced two;

static struct fenced make_fenced(void)
{
    char *p = mmap(NULL, ROOM + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(p, MAP_FAILED);
    ck_assert_int_eq(mprotect(p + PAGE, ROOM, PROT_READ | PROT_WRITE), 0);
    return (struct fenced){.low = p + PAGE, .high = p + PAGE + ROOM};
}

static void set_up(void)
{
    srand(SEED);
    one = make_fenced();
    two = make_fenced();
}

static void tear_down(void)
{
    ck_assert_int_eq(munmap(one.low - PAGE, ROOM + 2 * PAGE), 0);
    ck_assert_int_eq(munmap(two.low - PAGE, ROOM + 2 * PAGE), 0);
}

static void fill_random(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = (char)(rand() >> 4);
    }
}

static int sign(int x)
{
    return (x > 0) - (x < 0);
}

/* Where n bytes lie: at an alignment from the low end, or with their end at the page's. */
static char *place(const struct fenced *f, size_t n, size_t alignment)
{
    return alignment < ALIGNMENTS ? f->low + alignment : f->high - n;
}

START_TEST(test_copies_are_those_of_libc)
{
    static char before[ROOM];
    static char wanted[ROOM];
    fill_random(two.low, ROOM);
    fill_random(before, ROOM);
    for (size_t i = 0; i < SIZES; i++) {
        size_t n = size_of(i);
        for (size_t at = 0; at <= ALIGNMENTS; at++) {
            for (size_t from = 0; from <= ALIGNMENTS; from++) {
                char *to = place(&one, n, at);
                memcpy(one.low, before, ROOM);
                memcpy(wanted, before, ROOM);
                memcpy(wanted + (to - one.low), place(&two, n, from), n);
                ck_assert_ptr_eq(own_memcpy(to, place(&two, n, from), n), to);
                ck_assert_msg(memcmp(one.low, wanted, ROOM) == 0, "memcpy %zu to %zu from %zu", n,
                              at, from);
            }
        }
    }
}
END_TEST

START_TEST(test_moves_may_overlap_at_any_distance)
{
    static char before[ROOM];
    static char wanted[ROOM];
    static const size_t far[] = {40, 63, 64, 65, 127, 128, 500, 1023, 1024, 1500};
    fill_random(before, ROOM);
    for (size_t i = 0; i < SIZES; i++) {
        size_t n = size_of(i);
        for (size_t distance = 0; distance < 34 + sizeof(far) / sizeof(far[0]); distance++) {
            size_t gap = distance < 34 ? distance : far[distance - 34];
            for (int is_up = 0; is_up < 2; is_up++) {
                size_t from = is_up ? 7 : 7 + gap;
                size_t to = is_up ? 7 + gap : 7;
                memcpy(one.low, before, ROOM);
                memcpy(wanted, before, ROOM);
                memmove(wanted + to, wanted + from, n);
                ck_assert_ptr_eq(own_memmove(one.low + to, one.low + from, n), one.low + to);
                ck_assert_msg(memcmp(one.low, wanted, ROOM) == 0, "memmove %zu from %zu to %zu", n,
                              from, to);
            }
        }
    }
}
END_TEST

START_TEST(test_moves_stay_within_their_pages)
{
    fill_random(two.low, ROOM);
    for (size_t i = 0; i < SIZES; i++) {
        size_t n = size_of(i);
        own_memmove(one.high - n, two.high - n, n);
        ck_assert_int_eq(memcmp(one.high - n, two.high - n, n), 0);
        own_memmove(one.low, two.low, n);
        ck_assert_int_eq(memcmp(one.low, two.low, n), 0);
    }
}
END_TEST

START_TEST(test_memset_sets_all_and_nothing_else)
{
    static char wanted[ROOM];
    static const int bytes[] = {0, 1, 0x80, 0xff, 0x1234};
    for (size_t i = 0; i < SIZES; i++) {
        size_t n = size_of(i);
        for (size_t at = 0; at <= ALIGNMENTS; at++) {
            char *to = place(&one, n, at);
            int byte = bytes[(i + at) % (sizeof(bytes) / sizeof(bytes[0]))];
            fill_random(one.low, 64);
            memcpy(wanted, one.low, ROOM);
            memset(wanted + (to - one.low), byte, n);
            ck_assert_ptr_eq(own_memset(to, byte, n), to);
            ck_assert_msg(memcmp(one.low, wanted, ROOM) == 0, "memset %zu at %zu", n, at);
        }
    }
}
END_TEST

START_TEST(test_comparisons_have_libcs_sign)
{
    for (size_t i = 0; i < SIZES; i++) {
        size_t n = size_of(i);
        for (size_t at = 0; at <= ALIGNMENTS; at++) {
            char *a = place(&one, n, at);
            char *b = place(&two, n, (at * 5) % (ALIGNMENTS + 1));
            fill_random(a, n);
            memcpy(b, a, n);
            ck_assert_int_eq(own_memcmp(a, b, n), 0);
            for (size_t tries = 0; tries < 8 && n > 0; tries++) {
                size_t where = tries == 0 ? 0 : tries == 1 ? n - 1 : (size_t)rand() % n;
                char kept = b[where];
                b[where] = (char)(kept ^ (1 << rand() % 8));
                ck_assert_int_eq(sign(own_memcmp(a, b, n)), sign(memcmp(a, b, n)));
                ck_assert_int_eq(sign(own_memcmp(b, a, n)), sign(memcmp(b, a, n)));
                ck_assert_int_eq(own_memcmp(a, b, where), 0);
                b[where] = kept;
            }
        }
    }
}
END_TEST

/* A text of n bytes without byte 0 and byte 'x', and its end. */
static char *make_text(const struct fenced *f, size_t n, size_t at)
{
    char *s = place(f, n + 1, at);
    for (size_t i = 0; i < n; i++) {
        char c = (char)(1 + rand() % 255);
        s[i] = c == 'x' ? 'y' : c;
    }
    s[n] = '\0';
    return s;
}

START_TEST(test_lengths_and_places_of_bytes)
{
    for (size_t i = 0; i < SIZES - 1; i++) {
        size_t n = size_of(i);
        for (size_t at = 0; at <= ALIGNMENTS; at++) {
            char *s = make_text(&one, n, at);
            ck_assert_uint_eq(own_strlen(s), n);
            ck_assert_uint_eq(own_strnlen(s, SIZE_MAX), n);
            for (size_t most = n > 20 ? n - 20 : 0; most < n + 20; most++) {
                ck_assert_uint_eq(own_strnlen(s, most), strnlen(s, most));
            }
            ck_assert_ptr_null(own_strchr(s, 'x'));
            ck_assert_ptr_null(own_strrchr(s, 'x'));
            ck_assert_ptr_eq(own_strchr(s, 0), s + n);
            ck_assert_ptr_eq(own_strrchr(s, 0), s + n);
            ck_assert_ptr_null(own_memchr(s, 'x', n + 1));
            for (size_t tries = 0; tries < 6 && n > 0; tries++) {
                size_t first = tries == 0 ? 0 : tries == 1 ? n - 1 : (size_t)rand() % n;
                size_t last = first + (size_t)rand() % (n - first);
                char kept[2] = {s[first], s[last]};
                s[first] = 'x';
                s[last] = 'x';
                ck_assert_ptr_eq(own_memchr(s, 'x', n), s + first);
                ck_assert_ptr_eq(own_memchr(s, 'x' + 256, n), s + first);
                ck_assert_ptr_null(own_memchr(s, 'x', first));
                ck_assert_ptr_eq(own_memchr(s, 'x', first + 1), s + first);
                ck_assert_ptr_eq(own_strchr(s, 'x' + 256), s + first);
                ck_assert_ptr_eq(own_strrchr(s, 'x'), s + last);
                s[first] = kept[0];
                s[last] = kept[1];
            }
        }
    }
}
END_TEST

START_TEST(test_a_length_without_an_end_is_not_passed)
{
    for (size_t n = 0; n <= SMALL; n++) {
        memset(one.high - n, 'a', n);
        ck_assert_uint_eq(own_strnlen(one.high - n, n), n);
        ck_assert_ptr_null(own_memchr(one.high - n, 'x', n));
        memset(two.high - n, 'a', n);
        ck_assert_int_eq(own_strncmp(one.high - n, two.high - n, n), 0);
        ck_assert_int_eq(own_memcmp(one.high - n, two.high - n, n), 0);
    }
}
END_TEST

START_TEST(test_texts_compare_as_in_libc)
{
    for (size_t n = 0; n <= SMALL; n++) {
        for (size_t at = 0; at <= ALIGNMENTS; at++) {
            char *a = make_text(&one, n, at);
            char *b = place(&two, n + 1, (at + 3) % (ALIGNMENTS + 1));
            memcpy(b, a, n + 1);
            ck_assert_int_eq(own_strcmp(a, b), 0);
            ck_assert_int_eq(own_strncmp(a, b, SIZE_MAX), 0);
            for (size_t tries = 0; tries < 4 && n > 0; tries++) {
                size_t where = tries == 0 ? n - 1 : (size_t)rand() % n;
                char kept = b[where];
                b[where] = (char)(tries == 1 ? 0 : kept ^ (1 << rand() % 8));
                ck_assert_int_eq(sign(own_strcmp(a, b)), sign(strcmp(a, b)));
                ck_assert_int_eq(sign(own_strcmp(b, a)), sign(strcmp(b, a)));
                ck_assert_int_eq(own_strncmp(a, b, where), 0);
                ck_assert_int_eq(sign(own_strncmp(a, b, where + 1)), sign(strcmp(a, b)));
                b[where] = kept;
            }
        }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("memory");
    TCase *t = tcase_create("memory");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, test_copies_are_those_of_libc);
    tcase_add_test(t, test_moves_may_overlap_at_any_distance);
    tcase_add_test(t, test_moves_stay_within_their_pages);
    tcase_add_test(t, test_memset_sets_all_and_nothing_else);
    tcase_add_test(t, test_comparisons_have_libcs_sign);
    tcase_add_test(t, test_lengths_and_places_of_bytes);
    tcase_add_test(t, test_a_length_without_an_end_is_not_passed);
    tcase_add_test(t, test_texts_compare_as_in_libc);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    return unit_run(s);
}
