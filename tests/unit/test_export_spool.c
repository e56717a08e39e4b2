/* SPDX-License-Identifier: Apache-2.0 */
/* The spool by itself: order, limits, locks, strange files. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/export/spool.h"
#include "tests/unit/run.h"

static struct otp_heap heap;
static struct otp_queue queue;
static char folder[64];
static struct otp_spool a;
static struct otp_spool b;
static struct otp_spooled taken_a = {.fd = {.fd = -1}};
static struct otp_spooled taken_b = {.fd = {.fd = -1}};

static void open_spool(struct otp_spool *s, const char *identity, const char *extension)
{
    struct otp_spool_options o = {.folder = otp_text_of(folder),
                                  .identity = otp_text_of(identity),
                                  .extension = otp_text_of(extension)};
    ck_assert(otp_spool_init(s, &o));
}

static void set_up(void)
{
    otp_heap_init(&heap, (size_t)16 << 20);
    queue = (struct otp_queue){.heap = &heap};
    snprintf(folder, sizeof(folder), "/tmp/otp-spool-%d", getpid());
    open_spool(&a, "service", ".otlp");
    open_spool(&b, "service", ".otlp");
}

static void tear_down(void)
{
    char command[128];
    otp_spool_release(&taken_a);
    otp_spool_release(&taken_b);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
    otp_heap_reset(&heap);
}

static void put(struct otp_spool *s, const char *text)
{
    ck_assert_int_eq((int)otp_spool_put(s, text, strlen(text)), OTP_OK);
}

/* Where a spool's taken file is kept; a third one and the others share. */
static struct otp_spooled *place(const struct otp_spool *s)
{
    return s == &a ? &taken_a : &taken_b;
}

static void release(const struct otp_spool *s)
{
    otp_spool_release(place(s));
}

static void done(struct otp_spool *s)
{
    ck_assert(otp_spool_done(s, place(s)));
}

static void assert_next(struct otp_spool *s, const char *text)
{
    struct otp_queue_item *item = otp_spool_take(s, &queue, place(s));
    if (text == NULL) {
        ck_assert_ptr_null(item);
        return;
    }
    ck_assert_ptr_nonnull(item);
    ck_assert_uint_eq(item->len, strlen(text));
    ck_assert_int_eq(memcmp(item->bytes, text, item->len), 0);
    otp_queue_free_item(&queue, item);
}

START_TEST(test_oldest_first)
{
    put(&a, "one");
    put(&b, "two");
    put(&a, "three");
    assert_next(&a, "one");
    release(&a);
    assert_next(&b, "one");
    done(&b);
    assert_next(&b, "two");
    done(&b);
    assert_next(&b, "three");
    done(&b);
    assert_next(&b, NULL);
}
END_TEST

START_TEST(test_what_one_has_the_other_does_not_get)
{
    put(&a, "one");
    put(&a, "two");
    assert_next(&a, "one");
    assert_next(&b, "two");
    static struct otp_spool c;
    struct otp_spooled third = {.fd = OTP_FD_NONE};
    open_spool(&c, "service", ".otlp");
    ck_assert_ptr_null(otp_spool_take(&c, &queue, &third));
    release(&a);
    struct otp_queue_item *item = otp_spool_take(&c, &queue, &third);
    ck_assert_ptr_nonnull(item);
    ck_assert_int_eq(memcmp(item->bytes, "one", 3), 0);
    ck_assert_ptr_eq(item->file, &third);
    ck_assert(otp_spool_done(&c, &third));
    otp_queue_free_item(&queue, item);
}
END_TEST

START_TEST(test_keys_are_apart)
{
    static struct otp_spool other;
    static struct otp_spool gz;
    open_spool(&other, "another", ".otlp");
    open_spool(&gz, "service", ".otlp.gz");
    put(&a, "one");
    assert_next(&other, NULL);
    assert_next(&gz, NULL);
    put(&gz, "packed");
    assert_next(&a, "one");
    done(&a);
    assert_next(&a, NULL);
    assert_next(&gz, "packed");
    done(&gz);
}
END_TEST

START_TEST(test_limits)
{
    char text[16];
    a.bytes_max = 30;
    for (int i = 0; i < 10; i++) {
        snprintf(text, sizeof(text), "%08d", i);
        put(&a, text);
    }
    ck_assert_uint_eq(a.dropped, 7);
    assert_next(&a, "00000007");
    release(&a);
    a.files_max = 2;
    put(&a, "x");
    ck_assert_uint_eq(a.dropped, 9);
    assert_next(&a, "00000009");
    done(&a);
    ck_assert_int_eq((int)otp_spool_put(&a, folder, 31), OTP_TOO_LARGE);
}
END_TEST

/* Files that are none of ours stay; links, folders and empty files are not followed or sent. */
START_TEST(test_strange_files)
{
    char path[256];
    const char *key = a.key;
    static const char *const others[] = {"otelprof-x", "readme", "otelprof-.otlp", ".tmp-x"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, others[i]);
        ck_assert_int_ge(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
    }
    snprintf(path, sizeof(path), "%s/otelprof-%s-00000000000000000001-1-1.otlp", folder, key);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    snprintf(path, sizeof(path), "%s/otelprof-%s-00000000000000000002-1-1.otlp", folder, key);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/otelprof-%s-00000000000000000003-1-1.otlp", folder, key);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    put(&a, "good");
    for (int i = 0; i < 8; i++) {
        struct otp_queue_item *item = otp_spool_take(&a, &queue, &taken_a);
        if (item != NULL) {
            ck_assert_uint_eq(item->len, 4);
            ck_assert_int_eq(memcmp(item->bytes, "good", 4), 0);
            otp_queue_free_item(&queue, item);
            return;
        }
    }
    ck_abort_msg("the good file was never reached");
}
END_TEST

static void make_file(const char *name, size_t size, time_t age)
{
    char path[256];
    struct timespec now;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
    clock_gettime(CLOCK_REALTIME, &now);
    struct timespec times[2] = {{now.tv_sec - age, 0}, {now.tv_sec - age, 0}};
    ck_assert_int_eq(futimens(fd, times), 0);
    close(fd);
}

static bool exists(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* What a process that was killed while it wrote has left goes after an hour, and only ours. */
START_TEST(test_remains_of_the_killed)
{
    char old[128];
    char young[128];
    snprintf(old, sizeof(old), ".tmp-otelprof-%s-00000000000000000001-1-1.otlp", a.key);
    snprintf(young, sizeof(young), ".tmp-otelprof-%s-00000000000000000002-1-1.otlp", a.key);
    make_file(old, 10, 7200);
    make_file(young, 10, 60);
    make_file(".tmp-readme", 10, 7200);
    put(&a, "one");
    ck_assert(!exists(old));
    ck_assert(exists(young));
    ck_assert(exists(".tmp-readme"));
    assert_next(&a, "one");
    done(&a);
    assert_next(&a, NULL);
}
END_TEST

/* One that there is no memory for does not keep the others from being delivered. */
START_TEST(test_too_large_for_this_process)
{
    char name[128];
    struct otp_heap small;
    struct otp_queue q = {.heap = &small};
    otp_heap_init(&small, (size_t)1 << 20);
    snprintf(name, sizeof(name), "otelprof-%s-00000000000000000001-1-1.otlp", a.key);
    make_file(name, (size_t)8 << 20, 0);
    put(&a, "good");
    struct otp_queue_item *item = otp_spool_take(&a, &q, &taken_a);
    ck_assert_ptr_nonnull(item);
    ck_assert_uint_eq(item->len, 4);
    ck_assert(exists(name));
    done(&a);
    otp_heap_reset(&small);
}
END_TEST

/* A folder that has become read-only: said, and nothing is taken from it again. */
START_TEST(test_file_that_cannot_be_removed)
{
    char command[160];
    put(&a, "one");
    assert_next(&a, "one");
    if (geteuid() == 0) {
        /* Permissions do not hold root back: a folder at the file's name does. */
        snprintf(command, sizeof(command), "cd %s && f=$(ls) && rm $f && mkdir $f", folder);
    } else {
        snprintf(command, sizeof(command), "chmod 500 %s", folder);
    }
    ck_assert_int_eq(system(command), 0);
    ck_assert(!otp_spool_done(&a, &taken_a));
    ck_assert_int_ne(a.error, 0);
    ck_assert_ptr_null(otp_spool_take(&a, &queue, &taken_a));
    snprintf(command, sizeof(command), "chmod 700 %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(test_folder_that_cannot_be)
{
    static struct otp_spool s;
    struct otp_spool_options o = {.folder = otp_text_of("/proc/nonexistent/a"),
                                  .extension = otp_text_of(".otlp")};
    ck_assert(!otp_spool_init(&s, &o));
    ck_assert_int_ne(s.error, 0);
    o.folder = otp_text_of("relative");
    o.base_path = otp_text_of(folder);
    ck_assert(otp_spool_init(&s, &o));
    ck_assert_int_eq(strncmp(s.folder, folder, strlen(folder)), 0);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("export_spool");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, test_oldest_first);
    tcase_add_test(t, test_what_one_has_the_other_does_not_get);
    tcase_add_test(t, test_keys_are_apart);
    tcase_add_test(t, test_limits);
    tcase_add_test(t, test_strange_files);
    tcase_add_test(t, test_remains_of_the_killed);
    tcase_add_test(t, test_too_large_for_this_process);
    tcase_add_test(t, test_file_that_cannot_be_removed);
    tcase_add_test(t, test_folder_that_cannot_be);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return unit_run(make_suite());
}
