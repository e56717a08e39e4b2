/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the control socket: what is understood, and that nothing else changes anything. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/conf/command.h"
#include "tests/unit/run.h"

static struct otp_conf conf;
static struct otp_conf before;

static void setup(void)
{
    static char *const nothing[] = {NULL};
    otp_conf_load(&conf, nothing, NULL, NULL);
    before = conf;
}

static bool parse(const char *text, size_t len, enum otp_command_kind *out)
{
    const char *why = NULL;
    bool is_good = otp_command_parse(otp_text_make(text, len), &conf, out, &why);
    ck_assert(is_good || why != NULL);
    return is_good;
}

static bool parse_text(const char *text, enum otp_command_kind *out)
{
    return parse(text, strlen(text), out);
}

START_TEST(test_words_are_understood)
{
    enum otp_command_kind kind;
    ck_assert(parse_text("start", &kind) && kind == OTP_COMMAND_START);
    ck_assert(parse_text(" stop\n", &kind) && kind == OTP_COMMAND_STOP);
    ck_assert(parse_text("flush", &kind) && kind == OTP_COMMAND_FLUSH);
    ck_assert(parse_text("status\r\n", &kind) && kind == OTP_COMMAND_STATUS);
    ck_assert_mem_eq(&conf, &before, sizeof(conf));
}
END_TEST

#define SETS(text, field, value)                                                                   \
    do {                                                                                           \
        enum otp_command_kind kind;                                                                \
        ck_assert(parse_text("set " text, &kind) && kind == OTP_COMMAND_SET);                      \
        ck_assert_uint_eq(conf.field, value);                                                      \
    } while (false)

START_TEST(test_settings_change_their_field_and_no_other)
{
    SETS("OTELPROF_CPU_HZ=251", cpu_hz, 251);
    SETS("cpu-hz=250", cpu_hz, 250);
    SETS(" cpu-hz=1 ", cpu_hz, 1);
    SETS("OTELPROF_HEAP_INTERVAL=32k", heap_interval_bytes, 32768);
    SETS("heap-interval=64k", heap_interval_bytes, 65536);
    SETS("OTELPROF_INTERVAL=5", interval_ns, 5000000000);
    SETS("interval=1500ms", interval_ns, 1500000000);
    SETS("OTELPROF_CPU_BUDGET=2", cpu_budget_ppm, 20000);
    SETS("cpu-budget=0.5%", cpu_budget_ppm, 5000);
    before.cpu_hz = 1;
    before.heap_interval_bytes = 65536;
    before.interval_ns = 1500000000;
    before.cpu_budget_ppm = 5000;
    ck_assert_mem_eq(&conf, &before, sizeof(conf));
}
END_TEST

START_TEST(test_anything_else_is_refused)
{
    static const char *const bad[] = {
        "",
        " ",
        "\n",
        "Start",
        "start now",
        "set",
        "set ",
        "set =",
        "set cpu-hz",
        "set cpu-hz=",
        "set cpu-hz=0",
        "set cpu-hz=10001",
        "set cpu-hz=-1",
        "set cpu-hz=1e3",
        "set cpu-hz=99999999999999999999999",
        "set cpu_hz=100",
        "set OTELPROF_=100",
        "set OTELPROF_CPU-HZ=100",
        "set OTELPROF_cpu-hz=100",
        "set OTELPROF_CPU_HZ=0",
        "set OTELPROF_MAX_DEPTH=5",
        "set CPU_HZ=100",
        "set heap-interval=0",
        "set heap-interval=65g",
        "set heap-interval=16777216m",
        "set interval=9ms",
        "set interval=1441m",
        "set cpu-budget=0",
        "set cpu-budget=101%",
        "set cpu-budget=0.00001%",
        "set log=debug",
        "setcpu-hz=100",
        "status\nstop",
    };
    enum otp_command_kind kind;
    for (size_t i = 0; i < OTP_ARRAY_LEN(bad); i++) {
        ck_assert_msg(!parse_text(bad[i], &kind), "'%s' is taken", bad[i]);
    }
    ck_assert(!parse("stop\0", 5, &kind));
    ck_assert(!parse("", 0, &kind));
    ck_assert_mem_eq(&conf, &before, sizeof(conf));
}
END_TEST

START_TEST(test_any_bytes_are_survived)
{
    static const char words[] = "set cpu-hz=heap-interval=interval=cpu-budget=0123456789kmg%. \n";
    char *text = NULL;
    unsigned refused = 0;
    srand(1);
    for (unsigned n = 0; n < 200000; n++) {
        size_t len = (size_t)rand() % (OTP_COMMAND_MAX + 40);
        free(text);
        text = malloc(len + 1); /* of its own, so that a sanitizer sees a step too far */
        for (size_t i = 0; i < len; i++) {
            text[i] = n % 2 == 0 ? (char)rand() : words[(size_t)rand() % (sizeof(words) - 1)];
        }
        enum otp_command_kind kind;
        struct otp_line line = {0};
        refused += !parse(text, len, &kind);
        otp_command_show(&line, otp_text_make(text, len));
        ck_assert_uint_le(line.len, sizeof(line.text));
    }
    free(text);
    ck_assert_uint_gt(refused, 190000);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("conf_command");
    TCase *t = tcase_create("requests");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_words_are_understood);
    tcase_add_test(t, test_settings_change_their_field_and_no_other);
    tcase_add_test(t, test_anything_else_is_refused);
    tcase_add_test(t, test_any_bytes_are_survived);
    suite_add_tcase(s, t);
    return unit_run_here(s);
}
