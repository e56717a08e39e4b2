/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of /proc/<pid>/maps. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/annot.h"
#include "core/symbol/maps.h"
#include "tests/unit/run.h"
#include "tests/unit/symbol_elf.h"

static struct otp_heap heap;
static char folder[] = "/tmp/otp-maps-XXXXXX";

static void set_up(void)
{
    otp_heap_init(&heap, (size_t)1 << 20);
}

START_TEST(test_line)
{
    static const char line[] = "7f1c2a000000-7f1c2a021000 r-xp 0001f000 fd:01 1234567    "
                               "                /usr/lib/lib x.so (deleted)";
    struct otp_maps_entry e;
    ck_assert(otp_maps_parse(otp_text_of(line), &e));
    ck_assert_uint_eq(e.start, 0x7f1c2a000000);
    ck_assert_uint_eq(e.end, 0x7f1c2a021000);
    ck_assert_uint_eq(e.perms, OTP_MAPS_READ | OTP_MAPS_EXEC);
    ck_assert_uint_eq(e.offset, 0x1f000);
    ck_assert_uint_eq(e.dev_major, 0xfd);
    ck_assert_uint_eq(e.dev_minor, 1);
    ck_assert_uint_eq(e.inode, 1234567);
    ck_assert_uint_eq(e.name.len, strlen("/usr/lib/lib x.so (deleted)"));
    ck_assert_mem_eq(e.name.data, "/usr/lib/lib x.so (deleted)", e.name.len);
}
END_TEST

START_TEST(test_other_lines)
{
    struct otp_maps_entry e;
    ck_assert(otp_maps_parse(otp_text_of("0-1000 ---s 00000000 00:00 0 "), &e));
    ck_assert_uint_eq(e.perms, OTP_MAPS_SHARED);
    ck_assert_uint_eq(e.name.len, 0);
    ck_assert(otp_maps_parse(otp_text_of("0-1000 rw-p 00000000 00:00 0"), &e));
    ck_assert_uint_eq(e.perms, OTP_MAPS_READ | OTP_MAPS_WRITE);
    ck_assert(otp_maps_parse(otp_text_of("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  "
                                         "                [vsyscall]"),
                             &e));
    ck_assert_uint_eq(e.end, 0xffffffffff601000);
    ck_assert_uint_eq(e.name.len, 10);
}
END_TEST

START_TEST(test_bad_lines)
{
    static const char *const lines[] = {
        "",
        "x",
        "1000",
        "1000-",
        "1000-2000",
        "1000-2000 r-x",
        "1000-2000 r-xp",
        "1000-2000 r-xp 0",
        "1000-2000 r-xp 0 00",
        "1000-2000 r-xp 0 00:00",
        "1000-2000 r-xp 0 00:00 ",
        "1000-2000 r-xp 0 00:00 x",
        "2000-1000 r-xp 0 00:00 0",
        "11111111111111111-22222222222222222 r-xp 0 00:00 0",
        "1000-2000r-xp 0 00:00 0",
        "1000-2000 r-xpp 0 00:00 0",
        "-1000-2000 r-xp 0 00:00 0",
        "1000-2000 r-xp 0 00:00 99999999999999999999999",
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(lines); i++) {
        struct otp_maps_entry e;
        ck_assert_msg(!otp_maps_parse(otp_text_of(lines[i]), &e), "%s", lines[i]);
    }
}
END_TEST

/* What a visit has seen: all lines put together again. */
struct seen {
    size_t count;
    size_t stop_after;
    size_t name_bytes;
    uint64_t last_end;
    bool ordered;
};

static bool visit(void *arg, const struct otp_maps_entry *e)
{
    struct seen *s = arg;
    s->ordered = s->ordered && e->start >= s->last_end && e->end > e->start;
    s->last_end = e->end;
    s->name_bytes += e->name.len;
    s->count++;
    return s->count != s->stop_after;
}

START_TEST(test_own_maps)
{
    struct seen s = {.ordered = true};
    ck_assert_int_eq(otp_maps_read(&heap, NULL, visit, &s), OTP_OK);
    ck_assert_uint_gt(s.count, 10);
    ck_assert(s.ordered);
    s = (struct seen){.ordered = true, .stop_after = 3};
    ck_assert_int_eq(otp_maps_read(&heap, "/proc/self/maps", visit, &s), OTP_OK);
    ck_assert_uint_eq(s.count, 3);
}
END_TEST

/* A long map, read in pieces: each mapping that was made is found. */
static bool find_marks(void *arg, const struct otp_maps_entry *e)
{
    struct seen *s = arg;
    s->count += e->name.len > 20 && memcmp(e->name.data, folder, strlen(folder)) == 0;
    return true;
}

START_TEST(test_long_map)
{
    char path[256];
    struct seen s = {0};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (int i = 0; i < 300; i++) {
        snprintf(path, sizeof(path), "%s/%0*d\nnew line", folder, 20 + i % 150, i);
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(ftruncate(fd, 4096), 0);
        ck_assert_ptr_ne(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), MAP_FAILED);
        close(fd);
        unlink(path);
    }
    ck_assert_int_eq(otp_maps_read(&heap, NULL, find_marks, &s), OTP_OK);
    ck_assert_uint_eq(s.count, 300);
    rmdir(folder);
}
END_TEST

static void add_text(char *to, size_t *len, const char *text, size_t more)
{
    memcpy(to + *len, text, more);
    *len += more;
}

/* From a file: bad and over-long lines are skipped, the last needs no newline. */
START_TEST(test_skipped_lines)
{
    char path[] = "/tmp/otp-maps-file-XXXXXX";
    struct seen s = {.ordered = true};
    static const char first[] = "1000-2000 r-xp 0 00:00 1 first\nnot a line\n\n"
                                "2000-3000 r-xp 0 00:00 1 ";
    static const char second[] = "\n3000-4000 r-xp 0 00:00 1 ";
    static const char third[] = "\n4000-5000 r-xp 0 00:00 1 last";
    char *text = malloc(80000);
    size_t len = 0;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    add_text(text, &len, first, sizeof(first) - 1);
    memset(text + len, 'a', 40000);
    len += 40000;
    add_text(text, &len, second, sizeof(second) - 1);
    memset(text + len, 'b', 10000);
    len += 10000;
    add_text(text, &len, third, sizeof(third) - 1);
    symbol_elf_write(path, text, len);
    ck_assert_int_eq(otp_maps_read(&heap, path, visit, &s), OTP_OK);
    ck_assert_uint_eq(s.count, 3);
    ck_assert_uint_eq(s.name_bytes, 5 + 10000 + 4);
    unlink(path);
    ck_assert_int_eq(otp_maps_read(&heap, path, visit, &s), OTP_IO);
    ck_assert_int_eq(otp_maps_read(&heap, "/", visit, &s), OTP_IO);
    free(text);
}
END_TEST

START_TEST(test_no_memory)
{
    struct seen s = {0};
    otp_heap_init(&heap, 100);
    ck_assert_int_eq(otp_maps_read(&heap, NULL, visit, &s), OTP_NO_MEMORY);
    ck_assert_uint_eq(s.count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbol_maps");
    TCase *all = tcase_create("maps");
    tcase_add_checked_fixture(all, set_up, NULL);
    tcase_add_test(all, test_line);
    tcase_add_test(all, test_other_lines);
    tcase_add_test(all, test_bad_lines);
    tcase_add_test(all, test_own_maps);
    tcase_add_test(all, test_long_map);
    tcase_add_test(all, test_skipped_lines);
    tcase_add_test(all, test_no_memory);
    suite_add_tcase(suite, all);
    return unit_run(suite);
}
