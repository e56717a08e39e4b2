/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof: the table of commands, help and version. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/version.h"
#include "tools/otelprof/args.h"
#include "tools/otelprof/command.h"
#include "tools/otelprof/jsonout.h"

static int run_help(const struct otp_args *args);
static int run_version(const struct otp_args *args);

enum { VERSION_JSON };

static const struct otp_option version_options[] = {
    [VERSION_JSON] = OTP_JSON_OPTION,
    {NULL, 0, NULL, NULL},
};

static const struct otp_command command_version = {
    .name = "version",
    .operands = "",
    .summary = "print the version",
    .options = version_options,
    .run = run_version,
};

static const struct otp_command command_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .summary = "explain a command, or list them",
    .run = run_help,
};

static const struct otp_command *const commands[] = {
    &otp_command_run,   &otp_command_info,       &otp_command_top,    &otp_command_flame,
    &otp_command_check, &otp_command_receive,    &otp_command_doctor, &otp_command_convert,
    &otp_command_merge, &otp_command_diff,       &otp_command_ctl,    &otp_command_symbolize,
    &otp_command_send,  &otp_command_completion, &otp_command_man,    &command_version,
    &command_help,
};

const struct otp_command *const *otp_commands(size_t *out_count)
{
    *out_count = OTP_ARRAY_LEN(commands);
    return commands;
}

static const struct otp_command *find_command(const char *name)
{
    for (size_t i = 0; i < OTP_ARRAY_LEN(commands); i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static void print_version_json(void)
{
    struct otp_jsonout j;

    otp_jsonout_begin(&j, stdout);
    otp_jsonout_string(&j, "version", OTP_VERSION);
    otp_jsonout_string(&j, "signal", "v1development");
    otp_jsonout_list(&j, "proto");
    otp_jsonout_string(&j, NULL, "1.10");
    otp_jsonout_string(&j, NULL, "1.11");
    otp_jsonout_close(&j);
    otp_jsonout_end(&j);
}

static int run_version(const struct otp_args *args)
{
    if (args->operand_count > 0) {
        return otp_usage_error(args->command, "there is nothing to name");
    }
    if (otp_args_has(args, VERSION_JSON)) {
        print_version_json();
    } else {
        (void)printf("otelprof " OTP_VERSION ", OTLP Profiles v1development (proto 1.10, 1.11)\n");
    }
    return OTP_EXIT_OK;
}

static void print_overview(FILE *to)
{
    (void)fputs(
        "usage: otelprof COMMAND [OPTION…] …\n\n"
        "Profiles programs with libotelprof.so and reads what it writes: OTLP profiles.\n\n",
        to);
    for (size_t i = 0; i < OTP_ARRAY_LEN(commands); i++) {
        (void)fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    (void)fputs(
        "\notelprof help COMMAND tells more. FILE may be compressed (gzip, zstd) or `-`, the\n"
        "standard input. Exit status: 0 done, 1 something was found, 2 wrong usage, 3 an input\n"
        "cannot be read.\n",
        to);
}

static void print_option(const struct otp_option *o)
{
    char left[64];
    const char *space = o->value != NULL ? " " : "";
    const char *value = o->value != NULL ? o->value : "";

    if (o->letter != 0) {
        (void)snprintf(left, sizeof(left), "-%c, --%s%s%s", o->letter, o->name, space, value);
    } else {
        (void)snprintf(left, sizeof(left), "    --%s%s%s", o->name, space, value);
    }
    (void)printf("  %-28s %s\n", left, o->help);
}

static void print_command(const struct otp_command *c)
{
    bool has_options = c->options != NULL && c->options[0].name != NULL;

    (void)printf("usage: otelprof %s%s%s%s\n\n%s\n", c->name, has_options ? " [OPTION…]" : "",
                 c->operands[0] != '\0' ? " " : "", c->operands, c->summary);
    if (has_options) {
        (void)putchar('\n');
    }
    for (int i = 0; has_options && c->options[i].name != NULL; i++) {
        print_option(&c->options[i]);
    }
    if (c->details != NULL) {
        (void)printf("\n%s", c->details);
    }
}

static int run_help(const struct otp_args *args)
{
    if (args->operand_count == 0) {
        print_overview(stdout);
        return OTP_EXIT_OK;
    }
    const struct otp_command *c = find_command(args->operands[0]);
    if (c == NULL || args->operand_count > 1) {
        (void)fprintf(stderr, "otelprof help: there is no command \"%s\"\n",
                      args->operands[args->operand_count > 1 ? 1 : 0]);
        return OTP_EXIT_USAGE;
    }
    print_command(c);
    return OTP_EXIT_OK;
}

/* `otelprof --help`, `-h`, `--version`, `COMMAND --help`. */
static bool is_help(const char *arg)
{
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

/* Output that did not get out (a full disk, a closed pipe) is not a success. */
static int finish(int status)
{
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        if (errno != EPIPE) {
            (void)fprintf(stderr, "otelprof: standard output: %s\n", strerror(errno));
        }
        return status == OTP_EXIT_OK ? OTP_EXIT_INPUT : status;
    }
    return status;
}

int main(int argc, char **argv)
{
    struct otp_args args;

    if (argc < 2) {
        print_overview(stderr);
        return OTP_EXIT_USAGE;
    }
    if (is_help(argv[1])) {
        print_overview(stdout);
        return finish(OTP_EXIT_OK);
    }
    const struct otp_command *c =
        find_command(strcmp(argv[1], "--version") == 0 ? "version" : argv[1]);
    if (c == NULL) {
        (void)fprintf(stderr, "otelprof: there is no command \"%s\" (see: otelprof help)\n",
                      argv[1]);
        return OTP_EXIT_USAGE;
    }
    if (argc > 2 && is_help(argv[2])) {
        print_command(c);
        return finish(OTP_EXIT_OK);
    }
    if (!otp_args_parse(c, argc - 2, argv + 2, &args)) {
        return OTP_EXIT_USAGE;
    }
    return finish(c->run(&args));
}
