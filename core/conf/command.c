/* SPDX-License-Identifier: Apache-2.0 */
#include "core/conf/command.h"

#include <stddef.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/utf8.h"
#include "core/conf/parse.h"

#define SHOWN 80
#define VARIABLE_PREFIX "OTELPROF_"

enum value_kind { VALUE_NUMBER, VALUE_SIZE, VALUE_TIME, VALUE_PERCENT };

/* What can be set while the process runs; bounds as in options.def. */
static const struct setting {
    const char *name;
    enum value_kind kind;
    struct otp_range range;
    size_t offset;
    const char *why; /* a value is refused */
} settings[] = {
    {"cpu-hz",
     VALUE_NUMBER,
     {1, 10000},
     offsetof(struct otp_conf, cpu_hz),
     "cpu-hz is a number from 1 to 10000"},
    {"heap-interval",
     VALUE_SIZE,
     {1, 68719476736},
     offsetof(struct otp_conf, heap_interval_bytes),
     "heap-interval is a size from 1 to 64g"},
    {"interval",
     VALUE_TIME,
     {10000000, 86400000000000},
     offsetof(struct otp_conf, interval_ns),
     "interval is a time from 10ms to 1440m"},
    {"cpu-budget",
     VALUE_PERCENT,
     {100, 1000000},
     offsetof(struct otp_conf, cpu_budget_ppm),
     "cpu-budget is a share from 0.01% to 100%"},
};

static const char *const words[] = {"start", "stop", "flush", "status"};

_Static_assert(OTP_COMMAND_STATUS == OTP_ARRAY_LEN(words) - 1, "in the order of the enum");

static bool is_word(struct otp_text t, const char *word)
{
    return t.len == strlen(word) && memcmp(t.data, word, t.len) == 0;
}

/* The letter as it stands in a variable. */
static char as_in_variable(char c)
{
    return c == '-' ? '_' : c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* cpu-hz, or the variable that sets it: OTELPROF_CPU_HZ. */
static bool is_name(struct otp_text text, const char *name)
{
    const size_t skip = sizeof(VARIABLE_PREFIX) - 1;
    if (text.len != skip + strlen(name) || memcmp(text.data, VARIABLE_PREFIX, skip) != 0) {
        return is_word(text, name);
    }
    for (size_t i = skip; i < text.len; i++) {
        if (text.data[i] != as_in_variable(name[i - skip])) {
            return false;
        }
    }
    return true;
}

static bool parse_value(const struct setting *s, struct otp_text text, struct otp_conf *conf)
{
    void *field = (char *)conf + s->offset;
    uint64_t v = 0;
    bool is_good = s->kind == VALUE_SIZE      ? otp_conf_parse_size(text, s->range, &v)
                   : s->kind == VALUE_TIME    ? otp_conf_parse_time(text, s->range, &v)
                   : s->kind == VALUE_PERCENT ? otp_conf_parse_percent(text, s->range, &v)
                                              : otp_conf_parse_number(text, s->range, &v);
    if (!is_good) {
        return false;
    }
    if (s->kind == VALUE_SIZE || s->kind == VALUE_TIME) {
        *(uint64_t *)field = v;
    } else {
        *(uint32_t *)field = (uint32_t)v;
    }
    return true;
}

/* NAME=VALUE */
static bool parse_set(struct otp_text text, struct otp_conf *conf, const char **out_why)
{
    const char *equals = text.len == 0 ? NULL : memchr(text.data, '=', text.len);
    size_t name_len = equals == NULL ? text.len : (size_t)(equals - text.data);
    struct otp_text name = otp_text_make(text.data, name_len);
    for (size_t i = 0; i < OTP_ARRAY_LEN(settings) && equals != NULL; i++) {
        if (is_name(name, settings[i].name)) {
            *out_why = settings[i].why;
            struct otp_text value = otp_text_make(equals + 1, text.len - name_len - 1);
            return parse_value(&settings[i], otp_conf_trim(value), conf);
        }
    }
    *out_why = "set takes NAME=VALUE with cpu-hz, heap-interval, interval or cpu-budget";
    return false;
}

bool otp_command_parse(struct otp_text request, struct otp_conf *conf, enum otp_command_kind *out,
                       const char **out_why)
{
    if (request.len > OTP_COMMAND_MAX) {
        *out_why = "the request is too long";
        return false;
    }
    struct otp_text text = otp_conf_trim(request);
    for (size_t i = 0; i < OTP_ARRAY_LEN(words); i++) {
        if (is_word(text, words[i])) {
            *out = (enum otp_command_kind)i;
            return true;
        }
    }
    if (text.len > 4 && memcmp(text.data, "set ", 4) == 0) {
        *out = OTP_COMMAND_SET;
        return parse_set(otp_conf_trim(otp_text_make(text.data + 4, text.len - 4)), conf, out_why);
    }
    *out_why = "the requests are start, stop, flush, status and set NAME=VALUE";
    return false;
}

void otp_command_show(struct otp_line *line, struct otp_text request)
{
    otp_utf8_show(line, otp_conf_trim(request), SHOWN);
}
