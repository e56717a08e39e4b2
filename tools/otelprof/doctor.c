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
#include "tools/otelprof/command.h"
#include "tools/otelprof/target.h"

static void line(const char *what, const char *value)
{
    (void)printf("%-22s %s\n", what, value);
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

static void print_tick(void)
{
    char text[120];
    long hz = kernel_tick_hz();

    if (hz == 0) {
        line("kernel tick", "unknown");
        return;
    }
    (void)snprintf(text, sizeof(text), "%ld Hz: at most %ld CPU samples a second per thread", hz,
                   hz);
    line("kernel tick", text);
}

static void print_perf(void)
{
    char level[32];
    char text[120];

    if (!read_line("/proc/sys/kernel/perf_event_paranoid", level, sizeof(level))) {
        line("perf events", "not there");
        return;
    }
    (void)snprintf(text, sizeof(text), "perf_event_paranoid %s: %s", level,
                   atoi(level) <= 2 || geteuid() == 0 ? "own threads may be measured"
                                                      : "not for this user");
    line("perf events", text);
}

static void print_limit(const char *what, int resource)
{
    struct rlimit limit;
    char text[40];

    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0) {
        return;
    }
    if (limit.rlim_cur == RLIM_INFINITY) {
        line(what, "unlimited");
        return;
    }
    (void)snprintf(text, sizeof(text), "%" PRIu64, (uint64_t)limit.rlim_cur);
    line(what, text);
}

static void print_machine(void)
{
    struct utsname u;
    char text[400];

    line("otelprof", OTP_VERSION);
    line("library", otp_library_find(text, sizeof(text)) ? text : "libotelprof.so is not found");
    if (uname(&u) == 0) {
        (void)snprintf(text, sizeof(text), "%.60s %.100s %.60s", u.sysname, u.release, u.machine);
        line("kernel", text);
    }
    (void)snprintf(text, sizeof(text), "glibc %s", gnu_get_libc_version());
    line("C library", text);
    (void)snprintf(text, sizeof(text), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    line("processors", text);
    print_tick();
    print_perf();
    /* Each timer takes one queued signal of this limit: one per thread. */
    print_limit("pending signals", RLIMIT_SIGPENDING);
    print_limit("open files", RLIMIT_NOFILE);
    print_limit("address space", RLIMIT_AS);
    if (read_line("/etc/ld.so.preload", text, sizeof(text))) {
        line("/etc/ld.so.preload", text);
    }
    const char *preload = getenv("LD_PRELOAD");
    if (preload != NULL && preload[0] != '\0') {
        line("LD_PRELOAD", preload);
    }
    line("current folder",
         access(".", W_OK) == 0 ? "profiles can be written here" : "no file can be written here");
}

static int run_doctor(const struct otp_args *args)
{
    static struct otp_target target; /* too large for the stack */

    if (args->operand_count > 1) {
        return otp_usage_error(args->command, "one command at a time");
    }
    print_machine();
    if (args->operand_count == 0) {
        return OTP_EXIT_OK;
    }
    otp_target_find(args->operands[0], &target);
    line(args->operands[0], target.why);
    if (target.is_script) {
        line("", "(a script: its interpreter is what is profiled)");
    }
    line("", otp_target_is_profiled(&target) ? "it can be profiled" : "it will not be profiled");
    return otp_target_is_profiled(&target) ? OTP_EXIT_OK : OTP_EXIT_FOUND;
}

const struct otp_command otp_command_doctor = {
    .name = "doctor",
    .operands = "[COMMAND]",
    .summary = "tell what would happen here: versions, limits, the command's kind",
    .details = "Exit status 1: COMMAND will not be profiled.\n",
    .run = run_doctor,
};
