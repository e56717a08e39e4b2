/* SPDX-License-Identifier: Apache-2.0 */
/* File names: what extensions mean, expansion, unique names, names that must be cut or made
 * harmless. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/utf8.h"
#include "core/export/template.h"
#include "tests/unit/run.h"

static char out[OTP_PATH_MAX];

static struct otp_template_values values = {
    .program = {.data = "python3.11", .len = 10},
    .host = {.data = "box", .len = 3},
    .pid = 1234,
    .start_ns = 1709208307999999999, /* 2024-02-29T12:05:07.999999999Z */
    .flush = 7,
};

static const struct {
    const char *name;
    enum otp_format format;
    enum otp_compression compression;
    bool is_known;
} formats[] = {
    {"x.otlp", OTP_FORMAT_OTLP, OTP_COMPRESSION_NONE, true},
    {"x.otlp.gz", OTP_FORMAT_OTLP, OTP_COMPRESSION_GZIP, true},
    {"x.otlp.zst", OTP_FORMAT_OTLP, OTP_COMPRESSION_ZSTD, true},
    {"x.jsonl", OTP_FORMAT_JSONL, OTP_COMPRESSION_NONE, true},
    {"x.jsonl.gz", OTP_FORMAT_JSONL, OTP_COMPRESSION_GZIP, true},
    {"x.jsonl.zst", OTP_FORMAT_JSONL, OTP_COMPRESSION_ZSTD, true},
    {"x.pb", OTP_FORMAT_PPROF, OTP_COMPRESSION_GZIP, true},
    {"x.pb.gz", OTP_FORMAT_PPROF, OTP_COMPRESSION_GZIP, true},
    {"x.pb.zst", OTP_FORMAT_PPROF, OTP_COMPRESSION_ZSTD, true},
    {"x.otep239", OTP_FORMAT_OTEP239, OTP_COMPRESSION_GZIP, true},
    {"x.otep239.gz", OTP_FORMAT_OTEP239, OTP_COMPRESSION_GZIP, true},
    {"x.otep239.zst", OTP_FORMAT_OTEP239, OTP_COMPRESSION_ZSTD, true},
    {"x", OTP_FORMAT_OTLP, OTP_COMPRESSION_NONE, false},
    {"", OTP_FORMAT_OTLP, OTP_COMPRESSION_NONE, false},
    {"x.gz", OTP_FORMAT_OTLP, OTP_COMPRESSION_GZIP, false},
    {"x.zst", OTP_FORMAT_OTLP, OTP_COMPRESSION_ZSTD, false},
    {"otlp", OTP_FORMAT_OTLP, OTP_COMPRESSION_NONE, false},
    {"x.otlp.bz2", OTP_FORMAT_OTLP, OTP_COMPRESSION_NONE, false},
    {"x.otlp/y", OTP_FORMAT_OTLP, OTP_COMPRESSION_NONE, false},
};

START_TEST(test_name_tells_the_format)
{
    enum otp_format format;
    enum otp_compression compression;
    bool is_known = otp_format_of_name(otp_text_of(formats[_i].name), &format, &compression);
    ck_assert_msg(is_known == formats[_i].is_known && format == formats[_i].format &&
                      compression == formats[_i].compression,
                  "%s: %d %d %d", formats[_i].name, is_known, (int)format, (int)compression);
}
END_TEST

static const struct {
    const char *text;
    unsigned attempt;
    const char *want;
} expansions[] = {
    {"/tmp/x.otlp", 0, "/tmp/x.otlp"},
    {"/tmp/x.otlp", 1, "/tmp/x.7.otlp"},
    {"/tmp/x.otlp", 2, "/tmp/x.7.1234.otlp"},
    {"/tmp/x.otlp", 3, "/tmp/x.7.1234.2.otlp"},
    {"/tmp/x.otlp", 31, "/tmp/x.7.1234.30.otlp"},
    {"x.jsonl.zst", 1, "x.7.jsonl.zst"},
    {"x.pb.gz", 2, "x.7.1234.pb.gz"},
    {"a.b/x", 1, "a.b/x.7"},
    {"x.data.gz", 1, "x.data.7.gz"},
    {"otelprof-%e-%p.otlp.gz", 0, "otelprof-python3.11-1234.otlp.gz"},
    {"otelprof-%e-%p.otlp.gz", 1, "otelprof-python3.11-1234.7.otlp.gz"},
    {"%h/%t-%n%%.otlp", 0, "box/20240229T120507Z-7%.otlp"},
    {"%%p%q%", 0, "%p%q%"},
    {"%e", 1, "python3.11.7"},
};

START_TEST(test_expansion)
{
    enum otp_status status = otp_template_expand(otp_text_of(expansions[_i].text), &values,
                                                 expansions[_i].attempt, out, sizeof(out));
    ck_assert_int_eq((int)status, OTP_OK);
    ck_assert_str_eq(out, expansions[_i].want);
}
END_TEST

START_TEST(test_late_attempts_are_random)
{
    static char before[OTP_PATH_MAX];
    for (unsigned i = 0; i < 100; i++) {
        ck_assert_int_eq(
            (int)otp_template_expand(otp_text_of("/d/x.otlp"), &values, 32 + i, out, sizeof(out)),
            OTP_OK);
        ck_assert_uint_eq(strlen(out), strlen("/d/x.7.1234.0123456789abcdef.otlp"));
        ck_assert_str_ne(out, before);
        memcpy(before, out, sizeof(before));
    }
}
END_TEST

START_TEST(test_unknown_sequence_is_found)
{
    struct otp_text found = otp_template_unknown(otp_text_of("a%p%%q%x%z"));
    ck_assert_uint_eq(found.len, 2);
    ck_assert_int_eq(memcmp(found.data, "%x", 2), 0);
    found = otp_template_unknown(otp_text_of("a%"));
    ck_assert_uint_eq(found.len, 1);
    ck_assert_uint_eq(otp_template_unknown(otp_text_of("%e%p%h%t%n%%")).len, 0);
    ck_assert_uint_eq(otp_template_unknown(otp_text_of("")).len, 0);
}
END_TEST

START_TEST(test_flush_number_is_noticed)
{
    ck_assert(otp_template_has_flush(otp_text_of("x-%n.otlp")));
    ck_assert(!otp_template_has_flush(otp_text_of("x-%%n.otlp")));
    ck_assert(!otp_template_has_flush(otp_text_of("n%")));
    ck_assert(otp_template_has_flush(otp_text_of("%%%n")));
}
END_TEST

static const struct {
    const char *program;
    const char *text;
    const char *want;
} programs[] = {
    {"", "%e.otlp", "unknown.otlp"},
    {"-bash", "%e.otlp", "_bash.otlp"},
    {"-bash", "p%e.otlp", "p-bash.otlp"},
    {"-bash", "d/%e.otlp", "d/_bash.otlp"},
    {"..", "%e/x.otlp", "_./x.otlp"},
    {".", "%e", "_"},
    {".hidden", "%e.otlp", "_hidden.otlp"},
    {"a/b", "%e.otlp", "a_b.otlp"},
    {"a\nb\x7f\x1b", "%e.otlp", "a_b__.otlp"},
    {"\xff\xfeprog", "%e.otlp", "__prog.otlp"},
    {"pr\xc3\xa9", "%e.otlp", "pr\xc3\xa9.otlp"},
    {"pr\xc3", "%e.otlp", "pr_.otlp"},
    {"a\xe2\x80\xae"
     "b",
     "%e.otlp", "a_b.otlp"},
    {"a b%n", "%e.otlp", "a b%n.otlp"},
};

START_TEST(test_odd_program_names_become_harmless)
{
    struct otp_template_values odd = values;
    odd.program = otp_text_of(programs[_i].program);
    ck_assert_int_eq(
        (int)otp_template_expand(otp_text_of(programs[_i].text), &odd, 0, out, sizeof(out)),
        OTP_OK);
    ck_assert_str_eq(out, programs[_i].want);
}
END_TEST

/* Both components are names that the kernel takes; what stands before the last one is returned. */
static const char *expand_short_names(const char *text, const struct otp_template_values *v,
                                      unsigned attempt)
{
    enum otp_status status = otp_template_expand(otp_text_of(text), v, attempt, out, sizeof(out));
    char *slash = strrchr(out, '/');
    ck_assert_int_eq((int)status, OTP_OK);
    ck_assert_uint_le(strlen(slash == NULL ? out : slash + 1), OTP_NAME_MAX);
    if (slash == NULL) {
        return "";
    }
    *slash = '\0';
    ck_assert_uint_le(strlen(strrchr(out, '/')), OTP_NAME_MAX + 1);
    return out;
}

/* The limit holds with every mark that may come, and the folder does not differ between attempts.
 */
START_TEST(test_long_program_names_are_cut)
{
    static const char *const texts[] = {"%e.otlp.gz", "a-%e-%p-%e.otlp", "/d/%e/%e-%p.pb", "%e"};
    static char folder[OTP_PATH_MAX];
    struct otp_template_values longest = values;
    char program[700];
    memset(program, 'n', sizeof(program));
    longest.pid = 4194304;
    longest.flush = UINT64_MAX;
    for (size_t len = 1; len <= sizeof(program); len++) {
        const char *text = texts[_i];
        longest.program = otp_text_make(program, len);
        strncpy(folder, expand_short_names(text, &longest, 0), sizeof(folder) - 1);
        ck_assert_str_eq(folder, expand_short_names(text, &longest, 39));
    }
    /* As much of the name as fits is there. */
    longest.flush = 0;
    ck_assert_int_eq(
        (int)otp_template_expand(otp_text_of("%e.otlp"), &longest, 0, out, sizeof(out)), OTP_OK);
    ck_assert_uint_eq(strlen(out), 255 - 49);
}
END_TEST

START_TEST(test_cut_keeps_characters_whole)
{
    struct otp_template_values wide = values;
    char program[240] = "";
    for (size_t i = 0; i < 79; i++) {
        memcpy(program + 3 * i, "\xe2\x82\xac", 3);
    }
    for (size_t shift = 0; shift < 3; shift++) {
        char text[] = "xx%e.otlp";
        wide.program = otp_text_make(program, 237);
        ck_assert_int_eq(
            (int)otp_template_expand(otp_text_of(text + shift), &wide, 0, out, sizeof(out)),
            OTP_OK);
        ck_assert(otp_utf8_is_valid(otp_text_of(out)));
        ck_assert_ptr_null(strchr(out, '_'));
        ck_assert_uint_gt(strlen(out), 200);
    }
}
END_TEST

START_TEST(test_too_long_is_refused)
{
    static char text[5000];
    memset(text, 'x', sizeof(text));
    ck_assert_int_eq(
        (int)otp_template_expand(otp_text_make(text, 255), &values, 0, out, sizeof(out)), OTP_OK);
    ck_assert_int_eq(
        (int)otp_template_expand(otp_text_make(text, 256), &values, 0, out, sizeof(out)),
        OTP_TOO_LARGE);
    for (size_t i = 99; i < sizeof(text); i += 100) {
        text[i] = '/';
    }
    ck_assert_int_eq(
        (int)otp_template_expand(otp_text_make(text, 4095), &values, 0, out, sizeof(out)), OTP_OK);
    ck_assert_uint_eq(strlen(out), 4095);
    ck_assert_int_eq(
        (int)otp_template_expand(otp_text_make(text, 4096), &values, 0, out, sizeof(out)),
        OTP_TOO_LARGE);
    ck_assert_int_eq((int)otp_template_expand(otp_text_of("x/"), &values, 0, out, sizeof(out)),
                     OTP_TOO_LARGE);
    ck_assert_int_eq((int)otp_template_expand(otp_text_of(""), &values, 0, out, sizeof(out)),
                     OTP_TOO_LARGE);
    for (size_t room = 0; room < 12; room++) {
        char small[12];
        memset(small, 'Z', sizeof(small));
        ck_assert_int_eq(
            (int)otp_template_expand(otp_text_of("/tmp/x.otlp"), &values, 0, small, room),
            OTP_TOO_LARGE);
        ck_assert_int_eq(small[room], 'Z');
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("export_template");
    TCase *names = tcase_create("names");
    tcase_add_loop_test(names, test_name_tells_the_format, 0, (int)OTP_ARRAY_LEN(formats));
    tcase_add_loop_test(names, test_expansion, 0, (int)OTP_ARRAY_LEN(expansions));
    tcase_add_loop_test(names, test_odd_program_names_become_harmless, 0,
                        (int)OTP_ARRAY_LEN(programs));
    tcase_add_test(names, test_late_attempts_are_random);
    tcase_add_test(names, test_unknown_sequence_is_found);
    tcase_add_test(names, test_flush_number_is_noticed);
    tcase_add_loop_test(names, test_long_program_names_are_cut, 0, 4);
    tcase_add_test(names, test_cut_keeps_characters_whole);
    tcase_add_test(names, test_too_long_is_refused);
    suite_add_tcase(suite, names);

    return unit_run(suite);
}
