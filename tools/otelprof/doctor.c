/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof doctor: what would happen on this machine, to this program. */
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "core/base/version.h"
#include "tools/otelprof/args.h"
#include "tools/otelprof/command.h"
#include "tools/otelprof/jsonout.h"
#include "tools/otelprof/target.h"

enum { DOCTOR_JSON };

/* Where the answers go: lines for people, or JSON. */
struct doctor {
    struct otp_jsonout *json; /* NULL: lines */
};

static void line(const struct doctor *d, const char *what, const char *value)
{
    if (d->json == NULL) {
        (void)printf("%-22s %s\n", what, value);
    }
}

/* A line, and under that key the same text. */
static void answer(const struct doctor *d, const char *what, const char *key, const char *value)
{
    line(d, what, value);
    if (d->json != NULL) {
        otp_jsonout_string(d->json, key, value);
    }
}

static void number(const struct doctor *d, const char *key, uint64_t value)
{
    if (d->json != NULL) {
        otp_jsonout_uint(d->json, key, value);
    }
}

static void yes_or_no(const struct doctor *d, const char *key, bool value)
{
    if (d->json != NULL) {
        otp_jsonout_bool(d->json, key, value);
    }
}

static void nothing(const struct doctor *d, const char *key)
{
    if (d->json != NULL) {
        otp_jsonout_null(d->json, key);
    }
}

/* First line of a small file; false: it cannot be read. */
static bool read_line(const char *path, char *out, size_t room)
{
    FILE *f = fopen(path, "re");
    bool ok = f != NULL && fgets(out, (int)room, f) != NULL;

    if (f != NULL) {
        (void)fclose(f); /* only read from */
    }
    if (ok) {
        out[strcspn(out, "\n")] = '\0';
    }
    return ok;
}

/* The coarse clock moves with the kernel's tick. */
static long kernel_tick_hz(void)
{
    struct timespec res;
    bool ok = clock_getres(CLOCK_REALTIME_COARSE, &res) == 0 && res.tv_sec == 0 && res.tv_nsec > 0;
    return ok ? (1000000000L + res.tv_nsec / 2) / res.tv_nsec : 0;
}

static void tell_tick(const struct doctor *d)
{
    char text[120];
    long hz = kernel_tick_hz();

    if (hz == 0) {
        line(d, "kernel tick", "unknown");
        nothing(d, "kernel_tick_hz");
        return;
    }
    (void)snprintf(text, sizeof(text), "%ld Hz: at most %ld CPU samples a second per thread", hz,
                   hz);
    line(d, "kernel tick", text);
    number(d, "kernel_tick_hz", (uint64_t)hz);
}

static void tell_perf(const struct doctor *d)
{
    char level[32];
    char text[120];

    if (!read_line("/proc/sys/kernel/perf_event_paranoid", level, sizeof(level))) {
        line(d, "perf events", "not there");
        nothing(d, "perf_event_paranoid");
        yes_or_no(d, "perf_events", false);
        return;
    }
    bool is_allowed = atoi(level) <= 2 || geteuid() == 0;
    (void)snprintf(text, sizeof(text), "perf_event_paranoid %s: %s", level,
                   is_allowed ? "own threads may be measured" : "not for this user");
    line(d, "perf events", text);
    if (d->json != NULL) {
        otp_jsonout_int(d->json, "perf_event_paranoid", atoi(level));
    }
    yes_or_no(d, "perf_events", is_allowed);
}

static void tell_limit(const struct doctor *d, const char *what, const char *key, int resource)
{
    struct rlimit limit;
    char text[40];

    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0) {
        return;
    }
    if (limit.rlim_cur == RLIM_INFINITY) {
        line(d, what, "unlimited");
        nothing(d, key);
        return;
    }
    (void)snprintf(text, sizeof(text), "%" PRIu64, (uint64_t)limit.rlim_cur);
    line(d, what, text);
    number(d, key, (uint64_t)limit.rlim_cur);
}

static void tell_library(const struct doctor *d)
{
    char text[400];
    bool is_there = otp_library_find(text, sizeof(text));

    line(d, "library", is_there ? text : "libotelprof.so is not found");
    if (d->json != NULL) {
        otp_jsonout_string(d->json, "library", is_there ? text : NULL);
    }
}

static void tell_preloads(const struct doctor *d)
{
    char text[400];
    const char *preload = getenv("LD_PRELOAD");

    if (read_line("/etc/ld.so.preload", text, sizeof(text))) {
        answer(d, "/etc/ld.so.preload", "ld_so_preload", text);
    }
    if (preload != NULL && preload[0] != '\0') {
        answer(d, "LD_PRELOAD", "ld_preload", preload);
    }
}

static void tell_folder(const struct doctor *d)
{
    bool is_writable = access(".", W_OK) == 0;

    line(d, "current folder",
         is_writable ? "profiles can be written here" : "no file can be written here");
    yes_or_no(d, "folder_is_writable", is_writable);
}

static void tell_machine(const struct doctor *d)
{
    struct utsname u;
    char text[400];

    answer(d, "otelprof", "otelprof", OTP_VERSION);
    tell_library(d);
    if (uname(&u) == 0) {
        (void)snprintf(text, sizeof(text), "%.60s %.100s %.60s", u.sysname, u.release, u.machine);
        answer(d, "kernel", "kernel", text);
    }
    (void)snprintf(text, sizeof(text), "glibc %s", gnu_get_libc_version());
    answer(d, "C library", "c_library", text);
    (void)snprintf(text, sizeof(text), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    line(d, "processors", text);
    number(d, "processors", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    tell_tick(d);
    tell_perf(d);
    /* Each timer takes one queued signal of this limit: one per thread. */
    tell_limit(d, "pending signals", "pending_signals", RLIMIT_SIGPENDING);
    tell_limit(d, "open files", "open_files", RLIMIT_NOFILE);
    tell_limit(d, "address space", "address_space", RLIMIT_AS);
    tell_preloads(d);
    tell_folder(d);
}

/* The exit status says whether the command would be profiled. */
static int tell_command(const struct doctor *d, const char *name, const struct otp_target *target)
{
    bool is_profiled = otp_target_is_profiled(target);
    line(d, name, target->why);
    if (target->is_script) {
        line(d, "", "(a script: its interpreter is what is profiled)");
    }
    line(d, "", is_profiled ? "it can be profiled" : "it will not be profiled");
    if (d->json != NULL) {
        otp_jsonout_object(d->json, "command");
        otp_jsonout_string(d->json, "name", name);
        otp_jsonout_string(d->json, "kind", target->why);
        otp_jsonout_bool(d->json, "is_script", target->is_script);
        otp_jsonout_bool(d->json, "is_profiled", is_profiled);
        otp_jsonout_close(d->json);
    }
    return is_profiled ? OTP_EXIT_OK : OTP_EXIT_FOUND;
}

static int run_doctor(const struct otp_args *args)
{
    static struct otp_target target; /* too large for the stack */
    struct otp_jsonout json;
    struct doctor d = {.json = NULL};
    int status = OTP_EXIT_OK;

    if (args->operand_count > 1) {
        return otp_usage_error(args->command, "one command at a time");
    }
    if (args->operand_count > 0) {
        otp_target_find(args->operands[0], &target);
    }
    if (target.is_unread) {
        (void)fprintf(stderr, "otelprof doctor: %s\n", target.why);
        return OTP_EXIT_INPUT;
    }
    if (otp_args_has(args, DOCTOR_JSON)) {
        otp_jsonout_begin(&json, stdout);
        d.json = &json;
    }
    tell_machine(&d);
    if (args->operand_count > 0) {
        status = tell_command(&d, args->operands[0], &target);
    }
    if (d.json != NULL) {
        otp_jsonout_end(&json);
    }
    return status;
}

static const struct otp_option options[] = {
    [DOCTOR_JSON] = OTP_JSON_OPTION,
    {NULL, 0, NULL, NULL},
};

const struct otp_command otp_command_doctor = {
    .name = "doctor",
    .operands = "[COMMAND]",
    .summary = "tell what would happen here: versions, limits, the command's kind",
    .options = options,
    .details = "Exit status 1: COMMAND will not be profiled; 3: it is a path to no such file.\n",
    .run = run_doctor,
};
