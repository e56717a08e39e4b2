/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: defaults, each kind of good and bad value, precedence, and what the reports say. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/conf/conf.h"
#include "tests/unit/run.h"

static struct otp_conf conf;
static char lines[64][512];
static enum otp_log_level levels[64];
static size_t line_count;

static void keep_line(void *arg, enum otp_log_level level, const char *line, size_t len)
{
    ck_assert_ptr_eq(arg, lines);
    ck_assert_uint_lt(line_count, OTP_ARRAY_LEN(lines));
    ck_assert_uint_lt(len, sizeof(lines[0]));
    ck_assert_uint_gt(len, 0);
    for (size_t i = 0; i < len; i++) {
        ck_assert_msg((unsigned char)line[i] >= 0x20 && line[i] != 0x7f, "control byte in a line");
    }
    memcpy(lines[line_count], line, len);
    lines[line_count][len] = '\0';
    levels[line_count] = level;
    line_count++;
}

static void load(char *const *envp)
{
    line_count = 0;
    memset(&conf, 0xa5, sizeof(conf));
    otp_conf_load(&conf, envp, keep_line, lines);
}

/* Loads one variable on its own. */
static void load_one(const char *entry)
{
    static char copy[200000];
    char *envp[] = {copy, NULL};
    ck_assert_uint_lt(strlen(entry), sizeof(copy));
    strncpy(copy, entry, sizeof(copy) - 1);
    load(envp);
    /* The environment is the host's: it may change right after. */
    memset(copy, 'Z', strlen(entry));
}

static void assert_text(struct otp_text text, const char *want)
{
    ck_assert_uint_eq(text.len, strlen(want));
    ck_assert_int_eq(memcmp(text.data, want, text.len), 0);
    ck_assert_int_eq(text.data[text.len], '\0');
}

/* One report, of level error, that names variable and value, what is allowed and what is used. */
static void assert_refused(const char *name, const char *shown, const char *used)
{
    ck_assert_msg(line_count == 1, "%zu lines, first: %s", line_count, lines[0]);
    ck_assert_int_eq((int)levels[0], OTP_LOG_ERROR);
    ck_assert_msg(strncmp(lines[0], name, strlen(name)) == 0, "%s", lines[0]);
    ck_assert_msg(strstr(lines[0], shown) != NULL, "%s lacks %s", lines[0], shown);
    ck_assert_msg(strstr(lines[0], "allowed: ") != NULL, "%s", lines[0]);
    const char *using = strstr(lines[0], "using ");
    ck_assert_msg(using != NULL && strcmp(using + 6, used) == 0, "%s: not %s", lines[0], used);
}

static void assert_defaults(void)
{
    ck_assert(!conf.disabled);
    ck_assert_uint_eq(conf.output_count, 1);
    ck_assert_int_eq((int)conf.outputs[0].kind, OTP_OUTPUT_FILE);
    assert_text(conf.outputs[0].text, "otelprof-%e-%p.otlp.gz");
    ck_assert_uint_eq(conf.interval_ns, 60000000000);
    ck_assert_uint_eq(conf.shutdown_timeout_ns, 2000000000);
    assert_text(conf.spool, "");
    ck_assert(conf.cpu && conf.heap && conf.follow_fork && conf.start);
    ck_assert(!conf.timestamps && !conf.control && !conf.publish_context);
    ck_assert_uint_eq(conf.cpu_hz, 100);
    ck_assert_int_eq((int)conf.cpu_engine, OTP_CPU_ENGINE_AUTO);
    ck_assert_uint_eq(conf.heap_interval_bytes, 512 << 10);
    ck_assert_uint_eq(conf.max_depth, 128);
    ck_assert_uint_eq(conf.thread_attributes, OTP_THREAD_ATTRIBUTE_NAME);
    ck_assert_uint_eq(conf.max_labels, 1000);
    ck_assert_uint_eq(conf.memory_limit_bytes, 64 << 20);
    ck_assert_uint_eq(conf.cpu_budget_ppm, 10000);
    ck_assert_int_eq(conf.toggle_signal, 0);
    ck_assert_int_eq((int)conf.log, OTP_LOG_ERROR);
    assert_text(conf.log_file, "");
    assert_text(conf.programs, "");
    assert_text(conf.skip_programs, "");
    assert_text(conf.service_name, "");
    assert_text(conf.resource_attributes, "");
    assert_text(conf.otlp.endpoint, "");
    assert_text(conf.otlp.headers, "");
    assert_text(conf.otlp.certificate, "");
    ck_assert_int_eq((int)conf.otlp.protocol, OTP_OTLP_HTTP_PROTOBUF);
    ck_assert_int_eq((int)conf.otlp.compression, OTP_OTLP_COMPRESSION_NONE);
    ck_assert_uint_eq(conf.otlp.timeout_ms, 10000);
    ck_assert(!conf.otlp.insecure && !conf.otlp.endpoint_is_whole);
}

START_TEST(test_no_environment_gives_defaults)
{
    char *empty[] = {NULL};
    load(NULL);
    assert_defaults();
    ck_assert_uint_eq(line_count, 0);
    load(empty);
    assert_defaults();
    ck_assert_uint_eq(line_count, 0);
    otp_conf_load(&conf, NULL, NULL, NULL);
    assert_defaults();
}
END_TEST

START_TEST(test_empty_values_count_as_unset)
{
    char *envp[] = {(char[]){"OTELPROF_OUTPUT="},
                    (char[]){"OTELPROF_CPU_HZ="},
                    (char[]){"OTELPROF_LOG= "},
                    (char[]){"OTEL_SDK_DISABLED="},
                    (char[]){"OTEL_EXPORTER_OTLP_ENDPOINT="},
                    (char[]){"OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT="},
                    (char[]){"OTELPROF_TOGGLE_SIGNAL="},
                    (char[]){"OTEL_CONFIG_FILE="},
                    NULL};
    load(envp);
    assert_defaults();
    ck_assert_uint_eq(line_count, 0);
}
END_TEST

START_TEST(test_first_of_two_values_counts)
{
    char *envp[] = {(char[]){"OTELPROF_CPU_HZ=7"}, (char[]){"OTELPROF_CPU_HZ=x"}, NULL};
    char *empty_first[] = {(char[]){"OTELPROF_CPU_HZ="}, (char[]){"OTELPROF_CPU_HZ=9"}, NULL};
    load(envp);
    ck_assert_uint_eq(conf.cpu_hz, 7);
    ck_assert_uint_eq(line_count, 0);
    load(empty_first);
    ck_assert_uint_eq(conf.cpu_hz, 100);
}
END_TEST

/* A number that a variable must store, or that it must refuse (with the default that is named). */
struct number_case {
    const char *name;
    const char *value;
    uint64_t want; /* the default, when used is set */
    const char *used;
};

static uint64_t number_of(const char *name)
{
    const struct {
        const char *name;
        uint64_t value;
    } fields[] = {
        {"OTELPROF_CPU_HZ", conf.cpu_hz},
        {"OTELPROF_MAX_DEPTH", conf.max_depth},
        {"OTELPROF_MAX_LABELS", conf.max_labels},
        {"OTELPROF_HEAP_INTERVAL", conf.heap_interval_bytes},
        {"OTELPROF_MEMORY_LIMIT", conf.memory_limit_bytes},
        {"OTELPROF_INTERVAL", conf.interval_ns},
        {"OTELPROF_SHUTDOWN_TIMEOUT", conf.shutdown_timeout_ns},
        {"OTELPROF_CPU_BUDGET", conf.cpu_budget_ppm},
        {"OTELPROF_TOGGLE_SIGNAL", (uint64_t)conf.toggle_signal},
        {"OTELPROF_CPU_ENGINE", conf.cpu_engine},
        {"OTELPROF_LOG", conf.log},
        {"OTELPROF_THREAD_ATTRIBUTES", conf.thread_attributes},
        {"OTELPROF_CPU", conf.cpu},
        {"OTELPROF_TIMESTAMPS", conf.timestamps},
        {"OTEL_SDK_DISABLED", conf.disabled},
        {"OTEL_EXPORTER_OTLP_TIMEOUT", conf.otlp.timeout_ms},
        {"OTEL_EXPORTER_OTLP_PROTOCOL", conf.otlp.protocol},
        {"OTEL_EXPORTER_OTLP_COMPRESSION", conf.otlp.compression},
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(fields); i++) {
        if (strcmp(fields[i].name, name) == 0) {
            return fields[i].value;
        }
    }
    ck_abort_msg("no field for %s", name);
    return 0;
}

static const struct number_case numbers[] = {
    {"OTELPROF_CPU_HZ", "1", 1, NULL},
    {"OTELPROF_CPU_HZ", "10000", 10000, NULL},
    {"OTELPROF_CPU_HZ", " 99\t", 99, NULL},
    {"OTELPROF_CPU_HZ", "0", 100, "100"},
    {"OTELPROF_CPU_HZ", "10001", 100, "100"},
    {"OTELPROF_CPU_HZ", "-1", 100, "100"},
    {"OTELPROF_CPU_HZ", "+5", 100, "100"},
    {"OTELPROF_CPU_HZ", "1e3", 100, "100"},
    {"OTELPROF_CPU_HZ", "0x10", 100, "100"},
    {"OTELPROF_CPU_HZ", "99.5", 100, "100"},
    {"OTELPROF_CPU_HZ", "1 000", 100, "100"},
    {"OTELPROF_CPU_HZ", "4294967297", 100, "100"},
    {"OTELPROF_CPU_HZ", "18446744073709551617", 100, "100"},
    {"OTELPROF_MAX_DEPTH", "1024", 1024, NULL},
    {"OTELPROF_MAX_DEPTH", "1025", 128, "128"},
    {"OTELPROF_MAX_DEPTH", "0", 128, "128"},
    {"OTELPROF_MAX_LABELS", "0", 0, NULL},
    {"OTELPROF_MAX_LABELS", "1000001", 1000, "1000"},
    {"OTELPROF_HEAP_INTERVAL", "1", 1, NULL},
    {"OTELPROF_HEAP_INTERVAL", "64G", (uint64_t)64 << 30, NULL},
    {"OTELPROF_HEAP_INTERVAL", "3k", 3072, NULL},
    {"OTELPROF_HEAP_INTERVAL", "0", 512 << 10, "512k"},
    {"OTELPROF_HEAP_INTERVAL", "65g", 512 << 10, "512k"},
    {"OTELPROF_HEAP_INTERVAL", "17179869184g", 512 << 10, "512k"},
    {"OTELPROF_HEAP_INTERVAL", "k", 512 << 10, "512k"},
    {"OTELPROF_HEAP_INTERVAL", "1kk", 512 << 10, "512k"},
    {"OTELPROF_HEAP_INTERVAL", "1 k", 512 << 10, "512k"},
    {"OTELPROF_HEAP_INTERVAL", "1t", 512 << 10, "512k"},
    {"OTELPROF_MEMORY_LIMIT", "1m", 1 << 20, NULL},
    {"OTELPROF_MEMORY_LIMIT", "1048575", 64 << 20, "64m"},
    {"OTELPROF_MEMORY_LIMIT", "68719476737", 64 << 20, "64m"},
    {"OTELPROF_INTERVAL", "10ms", 10000000, NULL},
    {"OTELPROF_INTERVAL", "2s", 2000000000, NULL},
    {"OTELPROF_INTERVAL", "2", 2000000000, NULL},
    {"OTELPROF_INTERVAL", "1440m", 86400000000000, NULL},
    {"OTELPROF_INTERVAL", "1441m", 60000000000, "60s"},
    {"OTELPROF_INTERVAL", "9ms", 60000000000, "60s"},
    {"OTELPROF_INTERVAL", "0", 60000000000, "60s"},
    {"OTELPROF_INTERVAL", "1.5s", 60000000000, "60s"},
    {"OTELPROF_INTERVAL", "1h", 60000000000, "60s"},
    {"OTELPROF_INTERVAL", "s", 60000000000, "60s"},
    {"OTELPROF_SHUTDOWN_TIMEOUT", "0", 0, NULL},
    {"OTELPROF_SHUTDOWN_TIMEOUT", "10m", 600000000000, NULL},
    {"OTELPROF_SHUTDOWN_TIMEOUT", "601s", 2000000000, "2s"},
    {"OTELPROF_CPU_BUDGET", "0.01%", 100, NULL},
    {"OTELPROF_CPU_BUDGET", "2.5", 25000, NULL},
    {"OTELPROF_CPU_BUDGET", "100%", 1000000, NULL},
    {"OTELPROF_CPU_BUDGET", "100.0001%", 10000, "1%"},
    {"OTELPROF_CPU_BUDGET", "0", 10000, "1%"},
    {"OTELPROF_CPU_BUDGET", "%", 10000, "1%"},
    {"OTELPROF_CPU_BUDGET", "1.", 10000, "1%"},
    {"OTELPROF_CPU_BUDGET", ".5", 10000, "1%"},
    {"OTELPROF_CPU_BUDGET", "1.00001", 10000, "1%"},
    {"OTELPROF_CPU_BUDGET", "1.2.3", 10000, "1%"},
    {"OTELPROF_TOGGLE_SIGNAL", "USR2", SIGUSR2, NULL},
    {"OTELPROF_TOGGLE_SIGNAL", "sigusr1", SIGUSR1, NULL},
    {"OTELPROF_TOGGLE_SIGNAL", "12", 12, NULL},
    {"OTELPROF_TOGGLE_SIGNAL", "RTMIN", 34, NULL},
    {"OTELPROF_TOGGLE_SIGNAL", "SIGRTMIN+30", 64, NULL},
    {"OTELPROF_TOGGLE_SIGNAL", "RTMAX-1", 63, NULL},
    {"OTELPROF_TOGGLE_SIGNAL", "none", 0, NULL},
    {"OTELPROF_TOGGLE_SIGNAL", "RTMIN+31", 0, "none"},
    {"OTELPROF_TOGGLE_SIGNAL", "RTMIN-1", 0, "none"},
    {"OTELPROF_TOGGLE_SIGNAL", "RTMAX+1", 0, "none"},
    {"OTELPROF_TOGGLE_SIGNAL", "RTMIN+", 0, "none"},
    {"OTELPROF_TOGGLE_SIGNAL", "KILL", 0, "none"},
    {"OTELPROF_TOGGLE_SIGNAL", "9", 0, "none"},
    {"OTELPROF_TOGGLE_SIGNAL", "PROF", 0, "none"},
    {"OTELPROF_TOGGLE_SIGNAL", "SEGV", 0, "none"},
    {"OTELPROF_TOGGLE_SIGNAL", "33", 0, "none"},
    {"OTELPROF_TOGGLE_SIGNAL", "65", 0, "none"},
    {"OTELPROF_TOGGLE_SIGNAL", "SIG", 0, "none"},
    {"OTELPROF_TOGGLE_SIGNAL", "0", 0, "none"},
    {"OTELPROF_TOGGLE_SIGNAL", "-1", 0, "none"},
    {"OTELPROF_TOGGLE_SIGNAL", "SIGNONE", 0, "none"},
    {"OTELPROF_TOGGLE_SIGNAL", "None", 0, NULL},
    {"OTELPROF_CPU_ENGINE", "Perf", OTP_CPU_ENGINE_PERF, NULL},
    {"OTELPROF_CPU_ENGINE", "timer", OTP_CPU_ENGINE_TIMER, NULL},
    {"OTELPROF_CPU_ENGINE", "tim", OTP_CPU_ENGINE_AUTO, "auto"},
    {"OTELPROF_CPU_ENGINE", "timer,perf", OTP_CPU_ENGINE_AUTO, "auto"},
    {"OTELPROF_LOG", "none", OTP_LOG_NONE, NULL},
    {"OTELPROF_LOG", "debug", OTP_LOG_DEBUG, NULL},
    {"OTELPROF_LOG", "verbose", OTP_LOG_ERROR, "error"},
    {"OTELPROF_THREAD_ATTRIBUTES", "id", 1, NULL},
    {"OTELPROF_THREAD_ATTRIBUTES", "name , id", 3, NULL},
    {"OTELPROF_THREAD_ATTRIBUTES", "none", 0, NULL},
    {"OTELPROF_THREAD_ATTRIBUTES", "id,pid", 2, "name"},
    {"OTELPROF_THREAD_ATTRIBUTES", ",", 2, "name"},
    {"OTELPROF_CPU", "off", 0, NULL},
    {"OTELPROF_CPU", "FALSE", 0, NULL},
    {"OTELPROF_CPU", "0", 0, NULL},
    {"OTELPROF_CPU", "no", 1, "true"},
    {"OTELPROF_CPU", "2", 1, "true"},
    {"OTELPROF_TIMESTAMPS", "on", 1, NULL},
    {"OTELPROF_TIMESTAMPS", "True", 1, NULL},
    {"OTELPROF_TIMESTAMPS", "1", 1, NULL},
    {"OTELPROF_TIMESTAMPS", "truee", 0, "false"},
    {"OTEL_SDK_DISABLED", "TRUE", 1, NULL},
    {"OTEL_SDK_DISABLED", "false", 0, NULL},
    {"OTEL_SDK_DISABLED", "1", 0, "false"},
    {"OTEL_SDK_DISABLED", "on", 0, "false"},
    {"OTEL_EXPORTER_OTLP_TIMEOUT", "0", 0, NULL},
    {"OTEL_EXPORTER_OTLP_TIMEOUT", "10s", 10000, "10000"},
    {"OTEL_EXPORTER_OTLP_TIMEOUT", "3600001", 10000, "10000"},
    {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", OTP_OTLP_GRPC, NULL},
    {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", OTP_OTLP_HTTP_JSON, NULL},
    {"OTEL_EXPORTER_OTLP_PROTOCOL", "http", OTP_OTLP_HTTP_PROTOBUF, "http/protobuf"},
    {"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", OTP_OTLP_COMPRESSION_GZIP, NULL},
    {"OTEL_EXPORTER_OTLP_COMPRESSION", "snappy", OTP_OTLP_COMPRESSION_NONE, "none"},
};

START_TEST(test_number_is_stored_or_refused)
{
    const struct number_case *c = &numbers[_i];
    char entry[128];
    snprintf(entry, sizeof(entry), "%s=%s", c->name, c->value);
    load_one(entry);
    ck_assert_msg(number_of(c->name) == c->want, "%s: %llu", entry,
                  (unsigned long long)number_of(c->name));
    if (c->used != NULL) {
        snprintf(entry, sizeof(entry), "=\"%s\"", c->value);
        assert_refused(c->name, entry, c->used);
    } else {
        ck_assert_msg(line_count == 0, "%s: %s", entry, lines[0]);
    }
}
END_TEST

struct output_case {
    const char *value;
    enum otp_output_kind kind;
    const char *text; /* NULL: refused */
};

static const struct output_case outputs[] = {
    {"file:/tmp/x.otlp", OTP_OUTPUT_FILE, "/tmp/x.otlp"},
    {"file:x y.otlp", OTP_OUTPUT_FILE, "x y.otlp"},
    {"FILE:x", OTP_OUTPUT_FILE, "x"},
    {"file:///tmp/x", OTP_OUTPUT_FILE, "///tmp/x"},
    {"unix:/run/x.sock", OTP_OUTPUT_UNIX, "/run/x.sock"},
    {"unix:@name", OTP_OUTPUT_UNIX, "@name"},
    {"tcp:localhost:4317", OTP_OUTPUT_TCP, "localhost:4317"},
    {"tcp://127.0.0.1:1", OTP_OUTPUT_TCP, "127.0.0.1:1"},
    {"tcp:[::1]:65535", OTP_OUTPUT_TCP, "[::1]:65535"},
    {"http://h:4318/x", OTP_OUTPUT_HTTP, "http://h:4318/x"},
    {"https://h", OTP_OUTPUT_HTTPS, "https://h"},
    {"grpc://h:4317", OTP_OUTPUT_GRPC, "grpc://h:4317"},
    {"grpcs://h:4317", OTP_OUTPUT_GRPC, "grpcs://h:4317"},
    {"otlp", OTP_OUTPUT_OTLP, "otlp"},
    {"none", OTP_OUTPUT_NONE, "none"},
    {"file:", OTP_OUTPUT_FILE, NULL},
    {"file:/tmp/", OTP_OUTPUT_FILE, NULL},
    {"unix:", OTP_OUTPUT_UNIX, NULL},
    {"unix:@", OTP_OUTPUT_UNIX, NULL},
    {"tcp:localhost", OTP_OUTPUT_TCP, NULL},
    {"tcp:localhost:", OTP_OUTPUT_TCP, NULL},
    {"tcp::80", OTP_OUTPUT_TCP, NULL},
    {"tcp:a:0", OTP_OUTPUT_TCP, NULL},
    {"tcp:a:65536", OTP_OUTPUT_TCP, NULL},
    {"tcp:::1:80", OTP_OUTPUT_TCP, NULL},
    {"tcp:[]:80", OTP_OUTPUT_TCP, NULL},
    {"tcp:[::1:80", OTP_OUTPUT_TCP, NULL},
    {"tcp:80", OTP_OUTPUT_TCP, NULL},
    {"http://", OTP_OUTPUT_HTTP, NULL},
    {"http:///x", OTP_OUTPUT_HTTP, NULL},
    {"/tmp/x.otlp", OTP_OUTPUT_FILE, NULL},
    {"nonee", OTP_OUTPUT_NONE, NULL},
};

START_TEST(test_output_is_stored_or_refused)
{
    const struct output_case *c = &outputs[_i];
    char entry[256];
    snprintf(entry, sizeof(entry), "OTELPROF_OUTPUT=%s", c->value);
    load_one(entry);
    ck_assert_uint_eq(conf.output_count, 1);
    if (c->text == NULL) {
        assert_text(conf.outputs[0].text, "otelprof-%e-%p.otlp.gz");
        assert_refused("OTELPROF_OUTPUT", c->value, "file:otelprof-%e-%p.otlp.gz");
        ck_assert_ptr_nonnull(strstr(lines[0], "is not understood"));
    } else {
        ck_assert_msg(line_count == 0, "%s", lines[0]);
        ck_assert_int_eq((int)conf.outputs[0].kind, (int)c->kind);
        assert_text(conf.outputs[0].text, c->text);
    }
}
END_TEST

START_TEST(test_unix_path_has_the_kernels_limit)
{
    char entry[256] = "OTELPROF_OUTPUT=unix:";
    size_t prefix = strlen(entry);
    memset(entry + prefix, 'p', 107);
    load_one(entry);
    ck_assert_int_eq((int)conf.outputs[0].kind, OTP_OUTPUT_UNIX);
    ck_assert_uint_eq(conf.outputs[0].text.len, 107);
    entry[prefix + 107] = 'p';
    load_one(entry);
    ck_assert_int_eq((int)conf.outputs[0].kind, OTP_OUTPUT_FILE);
    ck_assert_uint_eq(line_count, 1);
}
END_TEST

START_TEST(test_good_outputs_of_a_list_stay)
{
    load_one("OTELPROF_OUTPUT= file:a.otlp ,, bad:x ,unix:/s,http://h/,");
    ck_assert_uint_eq(conf.output_count, 3);
    assert_text(conf.outputs[0].text, "a.otlp");
    assert_text(conf.outputs[1].text, "/s");
    assert_text(conf.outputs[2].text, "http://h/");
    ck_assert_uint_eq(line_count, 1);
    ck_assert_ptr_nonnull(strstr(lines[0], "\"bad:x\" is not understood"));

    load_one("OTELPROF_OUTPUT=file:1,file:2,file:3,file:4,file:5,file:6,file:7,file:8,file:9");
    ck_assert_uint_eq(conf.output_count, OTP_CONF_OUTPUTS_MAX);
    assert_text(conf.outputs[7].text, "8");
    ck_assert_uint_eq(line_count, 1);
    ck_assert_ptr_nonnull(strstr(lines[0], "\"file:9\" is one too many"));

    load_one("OTELPROF_OUTPUT=,");
    ck_assert_uint_eq(conf.output_count, 1);
    ck_assert_uint_eq(line_count, 1);
}
END_TEST

/* What is not supported must be said; what is must be used. */
START_TEST(test_endpoint_makes_otlp_the_output)
{
    char *envp[] = {(char[]){"OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318"}, NULL};
    load(envp);
    ck_assert_uint_eq(conf.output_count, 1);
    if (otp_conf_output_supported(OTP_OUTPUT_OTLP)) {
        ck_assert_int_eq((int)conf.outputs[0].kind, OTP_OUTPUT_OTLP);
        ck_assert_uint_eq(line_count, 0);
    } else {
        ck_assert_int_eq((int)conf.outputs[0].kind, OTP_OUTPUT_FILE);
        assert_refused("OTELPROF_OUTPUT", "not supported", "file:otelprof-%e-%p.otlp.gz");
    }
    assert_text(conf.otlp.endpoint, "http://collector:4318");
    ck_assert(!conf.otlp.endpoint_is_whole);

    char *named[] = {(char[]){"OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318"},
                     (char[]){"OTELPROF_OUTPUT=none"}, NULL};
    load(named);
    ck_assert_uint_eq(line_count, 0);
    ck_assert_int_eq((int)conf.outputs[0].kind, OTP_OUTPUT_NONE);
}
END_TEST

START_TEST(test_settings_for_profiles_win)
{
    char *envp[] = {(char[]){"OTEL_EXPORTER_OTLP_PROFILES_TIMEOUT=5"},
                    (char[]){"OTEL_EXPORTER_OTLP_TIMEOUT=7"},
                    (char[]){"OTEL_EXPORTER_OTLP_HEADERS=a=b"},
                    (char[]){"OTEL_EXPORTER_OTLP_PROFILES_HEADERS="},
                    (char[]){"OTEL_EXPORTER_OTLP_COMPRESSION=gzip"},
                    (char[]){"OTEL_EXPORTER_OTLP_PROFILES_COMPRESSION=lzma"},
                    (char[]){"OTEL_EXPORTER_OTLP_PROFILES_INSECURE=true"},
                    (char[]){"OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT=http://p/x"},
                    (char[]){"OTEL_EXPORTER_OTLP_ENDPOINT=http://g"},
                    (char[]){"OTELPROF_OUTPUT=none"},
                    NULL};
    load(envp);
    ck_assert_uint_eq(conf.otlp.timeout_ms, 5);
    assert_text(conf.otlp.headers, "a=b");
    ck_assert_int_eq((int)conf.otlp.compression, OTP_OTLP_COMPRESSION_GZIP);
    ck_assert(conf.otlp.insecure);
    assert_text(conf.otlp.endpoint, "http://p/x");
    ck_assert(conf.otlp.endpoint_is_whole);
    assert_refused("OTEL_EXPORTER_OTLP_PROFILES_COMPRESSION", "\"lzma\"",
                   "the setting for all signals");
}
END_TEST

START_TEST(test_report_is_one_harmless_line)
{
    load_one("OTELPROF_CPU=a\nb\r\033[31m\t\x7f\xff\xc2\x85\xe2\x80\xa8\xe2\x80\xae\xc3\xa9");
    assert_refused("OTELPROF_CPU", "\"a?b??[31m??????\xc3\xa9\"", "true");

    char entry[3000] = "OTELPROF_LOG=";
    memset(entry + strlen(entry), 'v', 2000);
    load_one(entry);
    ck_assert_uint_eq(line_count, 1);
    ck_assert_uint_lt(strlen(lines[0]), 250);
    ck_assert_ptr_nonnull(strstr(lines[0], "vvv...\" is not understood"));

    /* The cut must not fall into a character. */
    char wide[200] = "OTELPROF_LOG=";
    for (size_t i = 0; i < 40; i++) {
        strncat(wide, "\xe2\x82\xac", sizeof(wide) - strlen(wide) - 1);
    }
    load_one(wide);
    ck_assert_ptr_nonnull(strstr(lines[0], "\xe2\x82\xac...\""));
    ck_assert_ptr_null(strchr(lines[0] + strlen("OTELPROF_LOG=\""), '?'));
}
END_TEST

START_TEST(test_secrets_are_not_shown)
{
    load_one("OTELPROF_OUTPUT=ftp://user:pass@word@host/x@y");
    ck_assert_uint_eq(line_count, 1);
    ck_assert_ptr_null(strstr(lines[0], "pass"));
    ck_assert_ptr_null(strstr(lines[0], "word"));
    ck_assert_ptr_nonnull(strstr(lines[0], "\"ftp://***@host/x@y\""));

    /* A secret that is longer than what is shown at all. */
    char entry[400] = "OTELPROF_OUTPUT=ftp://";
    memset(entry + strlen(entry), 's', 200);
    strncat(entry, "@host", sizeof(entry) - strlen(entry) - 1);
    load_one(entry);
    ck_assert_ptr_nonnull(strstr(lines[0], "\"ftp://***...\""));
    ck_assert_ptr_null(strstr(lines[0], "sss"));
}
END_TEST

static char *text_entry(const char *name, size_t len)
{
    char *entry = malloc(strlen(name) + len + 2);
    ck_assert_ptr_nonnull(entry);
    memcpy(entry, name, strlen(name));
    entry[strlen(name)] = '=';
    memset(entry + strlen(name) + 1, 't', len);
    entry[strlen(name) + 1 + len] = '\0';
    return entry;
}

START_TEST(test_texts_are_kept_up_to_a_limit)
{
    char *envp[] = {text_entry("OTEL_SERVICE_NAME", OTP_CONF_VALUE_MAX), NULL};
    load(envp);
    ck_assert_uint_eq(line_count, 0);
    ck_assert_uint_eq(conf.service_name.len, OTP_CONF_VALUE_MAX);
    free(envp[0]);

    envp[0] = text_entry("OTEL_EXPORTER_OTLP_HEADERS", OTP_CONF_VALUE_MAX + 1);
    load(envp);
    ck_assert_uint_eq(conf.otlp.headers.len, 0);
    assert_refused("OTEL_EXPORTER_OTLP_HEADERS", "too long (16385 bytes", "nothing");
    ck_assert_ptr_null(strstr(lines[0], "ttt"));
    free(envp[0]);

    envp[0] = text_entry("OTELPROF_OUTPUT", OTP_CONF_VALUE_MAX + 1);
    load(envp);
    assert_refused("OTELPROF_OUTPUT", "is too long", "file:otelprof-%e-%p.otlp.gz");
    free(envp[0]);
}
END_TEST

START_TEST(test_texts_together_have_a_limit)
{
    char *envp[] = {
        text_entry("OTELPROF_PROGRAMS", 16384), text_entry("OTELPROF_SKIP_PROGRAMS", 16384),
        text_entry("OTELPROF_SPOOL", 16384),    text_entry("OTELPROF_LOG_FILE", 16384),
        text_entry("OTEL_SERVICE_NAME", 16384), NULL};
    load(envp);
    /* The log file and the outputs come first, so they always have room. */
    ck_assert_uint_eq(conf.log_file.len, 16384);
    assert_text(conf.outputs[0].text, "otelprof-%e-%p.otlp.gz");
    ck_assert_uint_ge(line_count, 1);
    for (size_t i = 0; envp[i] != NULL; i++) {
        free(envp[i]);
    }
    load(NULL);
    assert_defaults();
}
END_TEST

START_TEST(test_unknown_names_are_told_with_the_nearest)
{
    static const struct {
        const char *entry;
        const char *want;
    } cases[] = {
        {"OTELPROF_CPUHZ=5",
         "OTELPROF_CPUHZ is not a known variable, did you mean OTELPROF_CPU_HZ?"},
        {"OTELPROF_INTERVALL=5",
         "OTELPROF_INTERVALL is not a known variable, did you mean OTELPROF_INTERVAL?"},
        {"OTELPROF_OUTPUTS=",
         "OTELPROF_OUTPUTS is not a known variable, did you mean OTELPROF_OUTPUT?"},
        {"OTELPROF_=1", "OTELPROF_ is not a known variable"},
        {"OTELPROF_XYZZY_PLUGH_FOO=1", "OTELPROF_XYZZY_PLUGH_FOO is not a known variable"},
        {"OTELPROF_cpu\n=1", "OTELPROF_cpu? is not a known variable"},
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(cases); i++) {
        load_one(cases[i].entry);
        ck_assert_uint_eq(line_count, 1);
        ck_assert_str_eq(lines[0], cases[i].want);
        ck_assert_int_eq((int)levels[0], OTP_LOG_ERROR);
    }
}
END_TEST

START_TEST(test_odd_entries_are_passed_over)
{
    char *envp[] = {(char[]){""},
                    (char[]){"="},
                    (char[]){"=OTELPROF_CPU=false"},
                    (char[]){"OTELPROF_CPU"},
                    (char[]){"OTELPROF"},
                    (char[]){"OTELPROF=1"},
                    (char[]){"xOTELPROF_CPU=false"},
                    (char[]){"otelprof_cpu=false"},
                    (char[]){"OTEL_SOMETHING_ELSE=1"},
                    (char[]){"OTEL"},
                    NULL};
    load(envp);
    assert_defaults();
    ck_assert_uint_eq(line_count, 0);
}
END_TEST

START_TEST(test_configuration_file_gets_a_warning)
{
    load_one("OTEL_CONFIG_FILE=/etc/otel.yaml");
    ck_assert_uint_eq(line_count, 1);
    ck_assert_int_eq((int)levels[0], OTP_LOG_WARN);
    ck_assert_ptr_nonnull(strstr(lines[0], "OTEL_CONFIG_FILE is not supported"));
    load_one("OTEL_EXPERIMENTAL_CONFIG_FILE=x");
    ck_assert_uint_eq(line_count, 1);
}
END_TEST

/* 10,000 variables: found among them, reports bounded. */
START_TEST(test_large_environment)
{
    enum { COUNT = 10000 };
    char **envp = calloc(COUNT + 2, sizeof(*envp));
    ck_assert_ptr_nonnull(envp);
    for (size_t i = 0; i < COUNT; i++) {
        envp[i] = malloc(64);
        ck_assert_ptr_nonnull(envp[i]);
        snprintf(envp[i], 64, "%sVARIABLE_%zu=%zu", i % 2 == 0 ? "OTELPROF_" : "X_", i, i);
    }
    envp[COUNT] = malloc(64);
    ck_assert_ptr_nonnull(envp[COUNT]);
    strncpy(envp[COUNT], "OTELPROF_CPU_HZ=250", 64);
    load(envp);
    ck_assert_uint_eq(conf.cpu_hz, 250);
    ck_assert_uint_eq(line_count, 9);
    ck_assert_str_eq(lines[8], "4992 more variables that begin with OTELPROF_ are not known");
    for (size_t i = 0; i <= COUNT; i++) {
        free(envp[i]);
    }
    free(envp);
}
END_TEST

static void note_log(void *arg, enum otp_log_level level, const char *line, size_t len)
{
    (void)level;
    (void)line;
    (void)len;
    *(enum otp_log_level *)arg = conf.log;
    assert_text(conf.log_file, "/l");
}

START_TEST(test_log_settings_are_there_when_reports_come)
{
    enum otp_log_level seen = OTP_LOG_ERROR;
    char *envp[] = {(char[]){"OTELPROF_CPU_HZ=bad"}, (char[]){"OTELPROF_LOG=none"},
                    (char[]){"OTELPROF_LOG_FILE=/l"}, NULL};
    otp_conf_load(&conf, envp, note_log, &seen);
    ck_assert_int_eq((int)seen, OTP_LOG_NONE);
}
END_TEST

START_TEST(test_programs_are_chosen_by_globs)
{
    struct otp_text cc1 = otp_text_of("cc1plus");
    load(NULL);
    ck_assert(otp_conf_wants_program(&conf, cc1, cc1));
    load_one("OTELPROF_PROGRAMS=ld, cc1* ");
    ck_assert(otp_conf_wants_program(&conf, cc1, cc1));
    ck_assert(otp_conf_wants_program(&conf, otp_text_of("ld"), otp_text_of("ld")));
    ck_assert(!otp_conf_wants_program(&conf, otp_text_of("gcc"), otp_text_of("gcc")));
    load_one("OTELPROF_SKIP_PROGRAMS=bash,*plus");
    ck_assert(!otp_conf_wants_program(&conf, cc1, cc1));
    ck_assert(otp_conf_wants_program(&conf, otp_text_of("ld"), otp_text_of("ld")));
    char *both[] = {(char[]){"OTELPROF_PROGRAMS=cc1*"}, (char[]){"OTELPROF_SKIP_PROGRAMS=cc1plus"},
                    NULL};
    load(both);
    ck_assert(!otp_conf_wants_program(&conf, cc1, cc1));
    ck_assert(otp_conf_wants_program(&conf, otp_text_of("cc1"), otp_text_of("cc1")));
    /* sh that is dash: either name. */
    load_one("OTELPROF_PROGRAMS=dash");
    ck_assert(otp_conf_wants_program(&conf, otp_text_of("sh"), otp_text_of("dash")));
    ck_assert(!otp_conf_wants_program(&conf, otp_text_of("sh"), otp_text_of("busybox")));
    load_one("OTELPROF_SKIP_PROGRAMS=dash");
    ck_assert(!otp_conf_wants_program(&conf, otp_text_of("sh"), otp_text_of("dash")));
    load_one("OTELPROF_SKIP_PROGRAMS=sh");
    ck_assert(!otp_conf_wants_program(&conf, otp_text_of("sh"), otp_text_of("dash")));
    /* A list that can match nothing is none. */
    load_one("OTELPROF_PROGRAMS=[");
    ck_assert(otp_conf_wants_program(&conf, cc1, cc1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conf");
    TCase *values = tcase_create("values");
    TCase *rest = tcase_create("rest");

    tcase_add_loop_test(values, test_number_is_stored_or_refused, 0, (int)OTP_ARRAY_LEN(numbers));
    tcase_add_loop_test(values, test_output_is_stored_or_refused, 0, (int)OTP_ARRAY_LEN(outputs));
    tcase_add_test(rest, test_no_environment_gives_defaults);
    tcase_add_test(rest, test_empty_values_count_as_unset);
    tcase_add_test(rest, test_first_of_two_values_counts);
    tcase_add_test(rest, test_unix_path_has_the_kernels_limit);
    tcase_add_test(rest, test_good_outputs_of_a_list_stay);
    tcase_add_test(rest, test_endpoint_makes_otlp_the_output);
    tcase_add_test(rest, test_settings_for_profiles_win);
    tcase_add_test(rest, test_report_is_one_harmless_line);
    tcase_add_test(rest, test_secrets_are_not_shown);
    tcase_add_test(rest, test_texts_are_kept_up_to_a_limit);
    tcase_add_test(rest, test_texts_together_have_a_limit);
    tcase_add_test(rest, test_unknown_names_are_told_with_the_nearest);
    tcase_add_test(rest, test_odd_entries_are_passed_over);
    tcase_add_test(rest, test_configuration_file_gets_a_warning);
    tcase_add_test(rest, test_large_environment);
    tcase_add_test(rest, test_log_settings_are_there_when_reports_come);
    tcase_add_test(rest, test_programs_are_chosen_by_globs);
    suite_add_tcase(suite, values);
    suite_add_tcase(suite, rest);

    return unit_run(suite);
}
