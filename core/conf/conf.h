/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of one process, read from its environment block. What each variable means, its
 * default and its range is one line in options.def.
 *
 * I1 The environment is an argument: never getenv(), whose lock and table belong to the host.
 * I2 Nothing allocates. Texts are copied into one static arena, so that they outlive the
 *    environment
 *    (a host may overwrite it). The next load reuses the arena: one settings object at a time.
 * I3 A value that cannot be used is reported in one line and replaced by the default; loading
 *    never fails.
 */
#ifndef OTP_CONF_CONF_H
#define OTP_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"

#define OTP_CONF_OUTPUTS_MAX 8

/* Most characters of one value; a longer one counts as not understood. */
#define OTP_CONF_VALUE_MAX ((size_t)16 << 10)

enum otp_log_level {
    OTP_LOG_NONE,
    OTP_LOG_ERROR,
    OTP_LOG_WARN,
    OTP_LOG_INFO,
    OTP_LOG_DEBUG,
};

enum otp_cpu_engine {
    OTP_CPU_ENGINE_AUTO,
    OTP_CPU_ENGINE_TIMER,
    OTP_CPU_ENGINE_PERF,
};

/* Bits of otp_conf.thread_attributes. */
#define OTP_THREAD_ATTRIBUTE_ID 1U
#define OTP_THREAD_ATTRIBUTE_NAME 2U

enum otp_output_kind {
    OTP_OUTPUT_NONE,  /* text: "none" */
    OTP_OUTPUT_FILE,  /* text: the name template, may be relative */
    OTP_OUTPUT_UNIX,  /* text: the path of the socket, may be relative; @name is an abstract one */
    OTP_OUTPUT_TCP,   /* text: HOST:PORT */
    OTP_OUTPUT_OTLP,  /* text: "otlp"; where to is in otp_conf.otlp */
    OTP_OUTPUT_HTTP,  /* text: the whole URL */
    OTP_OUTPUT_HTTPS, /* text: the whole URL */
    OTP_OUTPUT_GRPC,  /* text: the whole URL */
};

struct otp_output {
    enum otp_output_kind kind;
    struct otp_text text;
};

enum otp_otlp_protocol {
    OTP_OTLP_HTTP_PROTOBUF,
    OTP_OTLP_HTTP_JSON,
    OTP_OTLP_GRPC,
};

enum otp_otlp_compression {
    OTP_OTLP_COMPRESSION_NONE,
    OTP_OTLP_COMPRESSION_GZIP,
    OTP_OTLP_COMPRESSION_ZSTD,
};

/* The OTEL_EXPORTER_OTLP_* variables; those for profiles (..._OTLP_PROFILES_*) have won. */
struct otp_conf_otlp {
    struct otp_text endpoint; /* empty: not set */
    bool endpoint_is_whole;   /* OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT: use as it is, add no path */
    enum otp_otlp_protocol protocol;
    struct otp_text headers; /* key=value list, percent-encoded; secret: never log it */
    bool headers_are_own;    /* of OTEL_EXPORTER_OTLP_PROFILES_HEADERS */
    uint64_t timeout_ms;     /* 0: no limit */
    enum otp_otlp_compression compression;
    struct otp_text certificate; /* paths; empty: not set */
    struct otp_text client_key;
    struct otp_text client_certificate;
    bool insecure;
};

/* All texts have a NUL behind their length; an empty text: the variable is not set. */
struct otp_conf {
    bool disabled; /* OTEL_SDK_DISABLED: do nothing at all */

    struct otp_output outputs[OTP_CONF_OUTPUTS_MAX];
    size_t output_count; /* at least 1 after a load */
    uint64_t interval_ns;
    uint64_t shutdown_timeout_ns; /* 0: do not wait */
    struct otp_text spool;

    bool cpu;
    uint32_t cpu_hz;
    enum otp_cpu_engine cpu_engine;
    bool heap;
    uint64_t heap_interval_bytes;
    uint32_t max_depth;
    bool timestamps;
    uint32_t thread_attributes; /* OTP_THREAD_ATTRIBUTE_* */
    uint32_t max_labels;

    struct otp_text programs; /* glob lists, see otp_conf_wants_program */
    struct otp_text skip_programs;
    bool follow_fork;
    uint64_t memory_limit_bytes;
    uint32_t cpu_budget_ppm; /* millionths of the process's CPU time */
    bool start;
    bool control;
    int toggle_signal; /* 0: none */
    bool publish_context;
    enum otp_log_level log;
    struct otp_text log_file; /* empty: stderr */

    struct otp_text service_name;
    struct otp_text resource_attributes; /* as given; decoded by core/resource */
    struct otp_conf_otlp otlp;
};

/*
 * Gets one complete line (len characters, no newline, no control characters, no secrets) about a
 * value that is not used as it was given. conf->log and conf->log_file are valid when it is
 * called.
 */
typedef void (*otp_conf_report)(void *arg, enum otp_log_level level, const char *line, size_t len);

/*
 * Fills conf from envp (NAME=VALUE strings, NULL-terminated; NULL: all defaults). The first of
 * several values of a name counts, as for getenv(). report may be NULL. Context: init, worker.
 */
void otp_conf_load(struct otp_conf *conf, char *const *envp, otp_conf_report report, void *arg);

/* True when this build can write to that kind of output; a load reports and leaves out others. */
bool otp_conf_output_supported(enum otp_output_kind kind);

/*
 * True when OTELPROF_PROGRAMS and OTELPROF_SKIP_PROGRAMS let a program be profiled that was started
 * by that name and whose executable has that name of its own (sh and dash): either may be meant.
 */
bool otp_conf_wants_program(const struct otp_conf *conf, struct otp_text name, struct otp_text own);

#endif
