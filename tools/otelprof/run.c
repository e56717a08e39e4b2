/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof run: sets the variables, then becomes the command, so that its exit status is ours. */
#define _GNU_SOURCE /* execvpe and the like */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fmt.h"
#include "core/conf/outputs.h"
#include "tools/otelprof/args.h"
#include "tools/otelprof/command.h"
#include "tools/otelprof/target.h"

#define STATUS_NOT_EXECUTABLE 126 /* as shells have it */
#define STATUS_NOT_FOUND 127

enum { RUN_CPU_HZ, RUN_HEAP_INTERVAL, RUN_OUTPUT };

static int no_memory(void)
{
    (void)fprintf(stderr, "otelprof run: no memory\n");
    return OTP_EXIT_INPUT;
}

/* A number with k, m or g behind it or not; at least 1. */
static bool is_size(const char *text)
{
    size_t len = strlen(text);
    uint64_t value;

    if (len > 1 && strchr("kKmMgG", text[len - 1]) != NULL) {
        len--;
    }
    return otp_fmt_parse_u64(text, len, &value) && value > 0;
}

/* Sets name to head and tail put together; false: no memory. */
static bool set_joined(const char *name, const char *head, const char *tail)
{
    char *value = NULL;
    bool ok = asprintf(&value, "%s%s", head, tail) >= 0 && setenv(name, value, 1) == 0;

    free(value);
    return ok;
}

static int set_variables(const struct otp_args *args)
{
    const char *hz = args->values[RUN_CPU_HZ];
    const char *interval = args->values[RUN_HEAP_INTERVAL];
    const char *output = args->values[RUN_OUTPUT];
    const char *scheme = output == NULL || otp_conf_is_output(otp_text_of(output)) ? "" : "file:";
    uint64_t number;

    if (hz != NULL && !otp_args_number(args, RUN_CPU_HZ, 1, 10000, &number)) {
        return OTP_EXIT_USAGE;
    }
    if (interval != NULL && !is_size(interval)) {
        return otp_usage_error(args->command, "--heap-interval: \"%s\" is not a size like 512k",
                               interval);
    }
    if ((hz != NULL && setenv("OTELPROF_CPU_HZ", hz, 1) != 0) ||
        (interval != NULL && setenv("OTELPROF_HEAP_INTERVAL", interval, 1) != 0) ||
        (output != NULL && !set_joined("OTELPROF_OUTPUT", scheme, output))) {
        return no_memory();
    }
    return OTP_EXIT_OK;
}

/* Is the library one of the entries, as the loader splits them? */
static bool is_preloaded(const char *list, const char *library)
{
    size_t len = strlen(library);

    while (*list != '\0') {
        size_t entry = strcspn(list, ": ");
        if (entry == len && memcmp(list, library, len) == 0) {
            return true;
        }
        list += entry + (list[entry] != '\0');
    }
    return false;
}

/* Puts the library before what is preloaded already. */
static int preload(const char *library)
{
    const char *old = getenv("LD_PRELOAD");

    if (strpbrk(library, " :") != NULL) {
        (void)fprintf(stderr,
                      "otelprof run: %s cannot be preloaded: its path has a space or a colon\n",
                      library);
        return OTP_EXIT_INPUT;
    }
    if (old != NULL && is_preloaded(old, library)) {
        return OTP_EXIT_OK;
    }
    bool has_old = old != NULL && old[0] != '\0';
    char *rest = NULL;
    if (asprintf(&rest, "%s%s", has_old ? ":" : "", has_old ? old : "") < 0) {
        return no_memory();
    }
    bool ok = set_joined("LD_PRELOAD", library, rest);
    free(rest);
    return ok ? OTP_EXIT_OK : no_memory();
}

/* Does not return when the command can be run. */
static int become(char **argv, const struct otp_target *target)
{
    (void)fflush(stderr);
    (void)execvp(argv[0], argv);
    int error = errno;
    if (error == ENOENT && target->kind != OTP_TARGET_NOT_FOUND) {
        (void)fprintf(stderr, "otelprof run: %s: its interpreter or loader is missing\n", argv[0]);
        return STATUS_NOT_FOUND;
    }
    (void)fprintf(stderr, "otelprof run: %s: %s\n", argv[0], strerror(error));
    return error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

static int run_run(const struct otp_args *args)
{
    static struct otp_target target; /* too large for the stack */
    char library[OTP_TARGET_PATH];

    if (args->operand_count == 0) {
        return otp_usage_error(args->command, "no command is named");
    }
    otp_target_find(args->operands[0], &target);
    if (target.kind == OTP_TARGET_NOT_FOUND || target.kind == OTP_TARGET_NOT_EXECUTABLE) {
        (void)fprintf(stderr, "otelprof run: %s\n", target.why);
        return target.kind == OTP_TARGET_NOT_FOUND ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
    }
    int status = set_variables(args);
    if (status != OTP_EXIT_OK) {
        return status;
    }
    if (!otp_library_find(library, sizeof(library))) {
        (void)fprintf(stderr,
                      "otelprof run: libotelprof.so is neither beside otelprof nor in ../lib\n");
        return OTP_EXIT_INPUT;
    }
    status = preload(library);
    if (status != OTP_EXIT_OK) {
        return status;
    }
    if (!otp_target_is_profiled(&target) && target.kind != OTP_TARGET_UNKNOWN) {
        (void)fprintf(stderr, "otelprof run: warning: %s: it will not be profiled\n", target.why);
    }
    return become(args->operands, &target);
}

static const struct otp_option options[] = {
    [RUN_CPU_HZ] = {"cpu-hz", 0, "N", "samples per second of CPU time, per thread (100)"},
    [RUN_HEAP_INTERVAL] = {"heap-interval", 0, "SIZE",
                           "mean bytes between sampled allocations (512k)"},
    [RUN_OUTPUT] = {"output", 'o', "OUT",
                    "file to write, or an output like tcp:HOST:PORT (otelprof-%e-%p.otlp.gz)"},
    {NULL, 0, NULL, NULL},
};

const struct otp_command otp_command_run = {
    .name = "run",
    .operands = "[--] COMMAND [ARGUMENT…]",
    .summary = "profile a command",
    .options = options,
    .details =
        "Runs COMMAND with libotelprof.so preloaded; all OTELPROF_ variables apply. The exit\n"
        "status is the command's own; 126: it cannot be executed, 127: it is not found.\n",
    .stops_at_operand = true,
    .run = run_run,
};
