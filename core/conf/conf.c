/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading goes in three steps: one pass over the environment finds the value of each known
 * variable; then each line of options.def stores its default and its value; then come the names
 * that are not known. The log settings are stored first, so that reports can obey them.
 */
#include "core/conf/conf.h"

#include <string.h>

#include "core/base/annot.h"
#include "core/base/fmt.h"
#include "core/conf/glob.h"
#include "core/conf/notice.h"
#include "core/conf/outputs.h"
#include "core/conf/parse.h"

#define ARENA_BYTES ((size_t)64 << 10)
#define SHOWN_BYTES 64U      /* of a value that is quoted */
#define UNKNOWN_LINES_MAX 8U /* a hostile environment must not fill the log */
#define OWN_PREFIX "OTELPROF_"

enum option_kind {
    KIND_BOOL,
    KIND_FLAG,
    KIND_NUMBER,
    KIND_MILLIS,
    KIND_SIZE,
    KIND_TIME,
    KIND_PERCENT,
    KIND_WORD,
    KIND_WORDS,
    KIND_SIGNAL,
    KIND_TEXT,
    KIND_GLOBS,
    KIND_OUTPUTS,
};

struct option {
    const char *name;
    const char *standard; /* the default; NULL: an earlier line has stored it */
    const char *allowed;
    struct otp_range range;
    enum option_kind kind;
    size_t off; /* in struct otp_conf */
};

static const struct option options[] = {
#define OTP_OPTION(kind_, field_, name_, standard_, lowest_, highest_, allowed_, meaning_)         \
    {.name = (name_),                                                                              \
     .standard = (standard_),                                                                      \
     .allowed = (allowed_),                                                                        \
     .range = {.lowest = (lowest_), .highest = (highest_)},                                        \
     .kind = KIND_##kind_,                                                                         \
     .off = offsetof(struct otp_conf, field_)},
#include "core/conf/options.def"
#undef OTP_OPTION
};

#define OPTION_COUNT OTP_ARRAY_LEN(options)

_Static_assert(sizeof(enum otp_log_level) == sizeof(uint32_t), "WORD stores 32 bits");
_Static_assert(sizeof(enum otp_cpu_engine) == sizeof(uint32_t), "WORD stores 32 bits");
_Static_assert(sizeof(enum otp_otlp_protocol) == sizeof(uint32_t), "WORD stores 32 bits");
_Static_assert(sizeof(enum otp_otlp_compression) == sizeof(uint32_t), "WORD stores 32 bits");

/* Where the texts of the settings live (I2). */
static char arena[ARENA_BYTES];

struct load {
    struct otp_conf *conf;
    otp_conf_report report;
    void *arg;
    size_t arena_used;
    const char *why;                  /* the last value could not be stored */
    const char *values[OPTION_COUNT]; /* in the environment; NULL: not there */
};

static bool is_log_setting(const struct option *o)
{
    return o->off == offsetof(struct otp_conf, log) ||
           o->off == offsetof(struct otp_conf, log_file);
}

static void say(const struct load *l, enum otp_log_level level, const struct otp_line *line)
{
    if (l->report != NULL) {
        l->report(l->arg, level, line->text, line->len);
    }
}

/* A copy with a NUL behind it; false when the arena is full. */
static bool keep_text(struct load *l, struct otp_text text, struct otp_text *out)
{
    if (text.len >= ARENA_BYTES - l->arena_used) {
        return false;
    }
    char *copy = arena + l->arena_used;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    l->arena_used += text.len + 1;
    *out = otp_text_make(copy, text.len);
    return true;
}

/* Why an output cannot be the next one after count others; NULL: it can. */
static const char *judge_output(struct otp_text item, size_t count, struct otp_output *out)
{
    if (!otp_conf_parse_output(item, out)) {
        return "is not understood";
    }
    if (!otp_conf_output_supported(out->kind)) {
        return "is not supported by this version";
    }
    return count == OTP_CONF_OUTPUTS_MAX ? "is one too many, 8 are allowed" : NULL;
}

/* One line for each output that is left out; only called when another one is used. */
static void say_bad_outputs(const struct load *l, const struct option *o, struct otp_text text)
{
    struct otp_text item;
    size_t count = 0;

    while (otp_conf_next_item(&text, &item)) {
        struct otp_output output;
        struct otp_line line = {0};
        const char *why = judge_output(item, count, &output);
        if (why == NULL) {
            count++;
            continue;
        }
        otp_line_str(&line, o->name);
        otp_line_str(&line, ": \"");
        otp_notice_value(&line, item, SHOWN_BYTES);
        otp_line_str(&line, "\" ");
        otp_line_str(&line, why);
        otp_line_str(&line, " (allowed: ");
        otp_line_str(&line, o->allowed);
        otp_line_str(&line, "), using the other outputs");
        say(l, OTP_LOG_ERROR, &line);
    }
}

/* Stores what can be used of the list; false, and the first reason in l->why, when nothing can. */
static bool store_outputs(struct load *l, const struct option *o, struct otp_text text)
{
    struct otp_conf *conf = l->conf;
    struct otp_output found[OTP_CONF_OUTPUTS_MAX];
    struct otp_text rest = text;
    struct otp_text item;
    size_t count = 0;
    size_t bad = 0;

    if (text.len > OTP_CONF_VALUE_MAX) {
        l->why = "is too long";
        return false;
    }
    while (otp_conf_next_item(&rest, &item)) {
        struct otp_output output;
        const char *why = judge_output(item, count, &output);
        if (why == NULL && keep_text(l, output.text, &output.text)) {
            found[count++] = output;
        } else if (bad++ == 0 && why != NULL) {
            l->why = why;
        }
    }
    if (count == 0) {
        return false;
    }
    if (bad > 0) {
        say_bad_outputs(l, o, text);
    }
    memcpy(conf->outputs, found, count * sizeof(found[0]));
    conf->output_count = count;
    return true;
}

/* Kinds whose value is a number at first and a field of 32 or 64 bits at last. */
static bool store_number(const struct option *o, struct otp_text text, void *field)
{
    uint64_t v = 0;
    bool is_wide = o->kind != KIND_NUMBER && o->kind != KIND_PERCENT;
    bool is_good = false;

    if (o->kind == KIND_SIZE) {
        is_good = otp_conf_parse_size(text, o->range, &v);
    } else if (o->kind == KIND_TIME) {
        is_good = otp_conf_parse_time(text, o->range, &v);
    } else if (o->kind == KIND_PERCENT) {
        is_good = otp_conf_parse_percent(text, o->range, &v);
    } else {
        is_good = otp_conf_parse_number(text, o->range, &v);
    }
    if (is_good && is_wide) {
        *(uint64_t *)field = v;
    } else if (is_good) {
        *(uint32_t *)field = (uint32_t)v;
    }
    return is_good;
}

/* A list that would match nothing is a mistake: the default, which is empty, is none. */
static bool store_globs(struct load *l, struct otp_text text, struct otp_text *field)
{
    if (text.len > OTP_CONF_VALUE_MAX) {
        l->why = "is too long";
        return false;
    }
    l->why = text.len == 0 ? NULL : otp_glob_list_fault(text);
    if (l->why == NULL && !keep_text(l, text, field)) {
        l->why = "has no room beside the other texts";
    }
    return l->why == NULL;
}

/* Parses text into the option's field; false when it is not understood, then nothing changes. */
static bool store(struct load *l, const struct option *o, struct otp_text text)
{
    void *field = (char *)l->conf + o->off;
    struct otp_text trimmed = otp_conf_trim(text);

    switch (o->kind) {
    case KIND_BOOL:
        return otp_conf_parse_bool(trimmed, field);
    case KIND_FLAG:
        return otp_conf_parse_flag(trimmed, field);
    case KIND_WORD:
        return otp_conf_parse_word(trimmed, o->allowed, field);
    case KIND_WORDS:
        return otp_conf_parse_words(trimmed, o->allowed, field);
    case KIND_SIGNAL:
        return otp_conf_parse_signal(trimmed, field);
    case KIND_TEXT:
        return text.len <= OTP_CONF_VALUE_MAX && keep_text(l, text, field);
    case KIND_GLOBS:
        return store_globs(l, text, field);
    case KIND_OUTPUTS:
        return store_outputs(l, o, trimmed);
    case KIND_NUMBER:
    case KIND_MILLIS:
    case KIND_SIZE:
    case KIND_TIME:
    case KIND_PERCENT:
    default:
        return store_number(o, trimmed, field);
    }
}

/* Texts are refused for their length alone; what they hold may be secret and is not shown. */
static void say_bad_value(const struct load *l, const struct option *o, struct otp_text value,
                          const char *used)
{
    struct otp_line line = {0};
    otp_line_str(&line, o->name);
    if (o->kind == KIND_TEXT) {
        otp_line_str(&line, " is too long (");
        otp_line_u64(&line, value.len);
        otp_line_str(&line, " bytes; allowed: 16384, and 65535 for all texts together)");
    } else {
        otp_line_str(&line, "=\"");
        otp_notice_value(&line, value, SHOWN_BYTES);
        otp_line_str(&line, "\" ");
        otp_line_str(&line, l->why);
        otp_line_str(&line, " (allowed: ");
        otp_line_str(&line, o->allowed);
        otp_line_str(&line, ")");
    }
    otp_line_str(&line, ", using ");
    if (used == NULL) {
        otp_line_str(&line, "the setting for all signals");
    } else {
        const char *none = o->kind == KIND_GLOBS ? "none" : "nothing";
        otp_line_str(&line, *used == '\0' ? none : used);
    }
    say(l, OTP_LOG_ERROR, &line);
}

/* Stores the default and then, when there is one, the value. */
static void load_option(struct load *l, const struct option *o)
{
    struct otp_text value = otp_text_of(l->values[o - options]);

    if (o->standard != NULL) {
        (void)store(l, o, otp_text_of(o->standard));
    }
    if (otp_conf_trim(value).len == 0) {
        return;
    }
    l->why = "is not understood";
    if (!store(l, o, value)) {
        say_bad_value(l, o, value, o->standard);
    }
}

static const struct option *find_option(struct otp_text name)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (strlen(options[i].name) == name.len &&
            memcmp(options[i].name, name.data, name.len) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

static bool is_set(const struct load *l, const char *name)
{
    const struct option *o = find_option(otp_text_of(name));
    return o != NULL && otp_conf_trim(otp_text_of(l->values[o - options])).len > 0;
}

/* The name before the '=' when it begins with prefix; empty otherwise. */
static struct otp_text own_name(const char *entry, const char *prefix)
{
    const char *equals = strchr(entry, '=');
    if (equals == NULL || strncmp(entry, prefix, strlen(prefix)) != 0) {
        return otp_text_make(entry, 0);
    }
    return otp_text_make(entry, (size_t)(equals - entry));
}

static void find_values(struct load *l, char *const *envp)
{
    for (size_t i = 0; envp[i] != NULL; i++) {
        struct otp_text name = own_name(envp[i], "OTEL");
        const struct option *o = name.len == 0 ? NULL : find_option(name);
        if (o != NULL && l->values[o - options] == NULL) {
            l->values[o - options] = name.data + name.len + 1;
        }
    }
}

/* The known name that a typo most likely stands for, or NULL. */
static const char *nearest_name(struct otp_text name)
{
    const char *best = NULL;
    unsigned best_distance = 1 + (unsigned)(name.len - strlen(OWN_PREFIX)) / 3;

    for (size_t i = 0; i < OPTION_COUNT; i++) {
        unsigned distance = otp_notice_distance(name, otp_text_of(options[i].name));
        if (strncmp(options[i].name, OWN_PREFIX, strlen(OWN_PREFIX)) == 0 &&
            distance <= best_distance && (best == NULL || distance < best_distance)) {
            best = options[i].name;
            best_distance = distance;
        }
    }
    return best;
}

static void say_unknown_name(const struct load *l, struct otp_text name)
{
    struct otp_line line = {0};
    const char *nearest = nearest_name(name);
    otp_notice_value(&line, name, SHOWN_BYTES);
    otp_line_str(&line, " is not a known variable");
    if (nearest != NULL) {
        otp_line_str(&line, ", did you mean ");
        otp_line_str(&line, nearest);
        otp_line_str(&line, "?");
    }
    say(l, OTP_LOG_ERROR, &line);
}

/* Names with our prefix that mean nothing are typos: what their writer wanted does not happen. */
static void report_unknown_names(const struct load *l, char *const *envp)
{
    size_t unknown = 0;
    struct otp_line line = {0};

    for (size_t i = 0; envp[i] != NULL; i++) {
        struct otp_text name = own_name(envp[i], OWN_PREFIX);
        if (name.len == 0 || find_option(name) != NULL) {
            continue;
        }
        if (unknown++ < UNKNOWN_LINES_MAX) {
            say_unknown_name(l, name);
        }
    }
    if (unknown > UNKNOWN_LINES_MAX) {
        otp_line_u64(&line, unknown - UNKNOWN_LINES_MAX);
        otp_line_str(&line, " more variables that begin with " OWN_PREFIX " are not known");
        say(l, OTP_LOG_ERROR, &line);
    }
}

/* A configuration file would have to replace all variables; half of that is worse than none. */
static void report_config_file(const struct load *l, char *const *envp)
{
    for (size_t i = 0; envp[i] != NULL; i++) {
        struct otp_text name = own_name(envp[i], "OTEL_");
        struct otp_line line = {0};
        if (name.data[name.len] != '=' || name.data[name.len + 1] == '\0' ||
            (!otp_conf_same_word(name, otp_text_of("OTEL_CONFIG_FILE")) &&
             !otp_conf_same_word(name, otp_text_of("OTEL_EXPERIMENTAL_CONFIG_FILE")))) {
            continue;
        }
        otp_line_bytes(&line, name.data, name.len);
        otp_line_str(&line, " is not supported, using the other variables");
        say(l, OTP_LOG_WARN, &line);
    }
}

/* A set endpoint means otlp, where no output is named. */
static void choose_standard_output(struct load *l)
{
    bool is_whole = is_set(l, "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT");
    const struct option *o = find_option(otp_text_of("OTELPROF_OUTPUT"));

    l->conf->otlp.endpoint_is_whole = is_whole;
    if (o == NULL || is_set(l, o->name) ||
        (!is_whole && !is_set(l, "OTEL_EXPORTER_OTLP_ENDPOINT"))) {
        return;
    }
    l->why = "follows from the endpoint that is set, but is not supported by this version";
    if (!otp_conf_output_supported(OTP_OUTPUT_OTLP) || !store(l, o, otp_text_of("otlp"))) {
        say_bad_value(l, o, otp_text_of("otlp"), o->standard);
    }
}

void otp_conf_load(struct otp_conf *conf, char *const *envp, otp_conf_report report, void *arg)
{
    static char *const nothing[] = {NULL};
    struct load l = {.conf = conf, .report = report, .arg = arg};

    envp = envp == NULL ? nothing : envp;
    memset(conf, 0, sizeof(*conf));
    find_values(&l, envp);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (is_log_setting(&options[i])) {
            load_option(&l, &options[i]);
        }
    }
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (!is_log_setting(&options[i])) {
            load_option(&l, &options[i]);
        }
    }
    conf->otlp.headers_are_own = is_set(&l, "OTEL_EXPORTER_OTLP_PROFILES_HEADERS");
    choose_standard_output(&l);
    report_unknown_names(&l, envp);
    report_config_file(&l, envp);
}

bool otp_conf_wants_program(const struct otp_conf *conf, struct otp_text name, struct otp_text own)
{
    if (otp_glob_list_matches(conf->skip_programs, name) ||
        otp_glob_list_matches(conf->skip_programs, own)) {
        return false;
    }
    return conf->programs.len == 0 || otp_glob_list_matches(conf->programs, name) ||
           otp_glob_list_matches(conf->programs, own);
}
