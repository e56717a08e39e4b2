/* SPDX-License-Identifier: Apache-2.0 */
/* The spool by itself: order, limits, locks, strange files. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/export/spool.h"

static struct otp_heap heap;
static struct otp_queue queue;
static char folder[64];
static struct otp_spool a;
static struct otp_spool b;

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
    otp_spool_release(&a);
    otp_spool_release(&b);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
    otp_heap_reset(&heap);
}

static void put(struct otp_spool *s, const char *text)
{
    ck_assert_int_eq((int)otp_spool_put(s, text, strlen(text)), OTP_OK);
}

static void assert_next(struct otp_spool *s, const char *text)
{
    struct otp_queue_item *item = otp_spool_take(s, &queue);
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
    otp_spool_release(&a);
    assert_next(&b, "one");
    otp_spool_done(&b);
    assert_next(&b, "two");
    otp_spool_done(&b);
    assert_next(&b, "three");
    otp_spool_done(&b);
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
    open_spool(&c, "service", ".otlp");
    assert_next(&c, NULL);
    otp_spool_release(&a);
    assert_next(&c, "one");
    otp_spool_done(&c);
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
    otp_spool_done(&a);
    assert_next(&a, NULL);
    assert_next(&gz, "packed");
    otp_spool_done(&gz);
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
    otp_spool_release(&a);
    a.files_max = 2;
    put(&a, "x");
    ck_assert_uint_eq(a.dropped, 9);
    assert_next(&a, "00000009");
    otp_spool_done(&a);
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
        struct otp_queue_item *item = otp_spool_take(&a, &queue);
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

START_TEST(test_folder_that_cannot_be)
{
    static struct otp_spool s;
    struct otp_spool_options o = {.folder = otp_text_of("/nonexistent/a"),
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
    tcase_add_test(t, test_folder_that_cannot_be);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(make_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
