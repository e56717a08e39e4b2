/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otelprof man: the manual pages, made of the tables that the tool and the library have anyway, so
 * that they say what is there. mdoc, the language of manual pages.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/version.h"
#include "tools/otelprof/args.h"
#include "tools/otelprof/command.h"

#define DATE "November 30, 2026"

/* Text as roff takes it: no escapes, no requests, ASCII. */
static void put_text(const char *text)
{
    static const char dots[] = "\xe2\x80\xa6"; /* an ellipsis */
    bool at_start = true;

    for (; *text != '\0'; text++) {
        if (at_start && (*text == '.' || *text == '\'')) {
            (void)fputs("\\&", stdout);
        }
        at_start = *text == '\n';
        if (*text == '\\') {
            (void)fputs("\\e", stdout);
        } else if (strncmp(text, dots, sizeof(dots) - 1) == 0) {
            (void)fputs("...", stdout);
            text += sizeof(dots) - 2;
        } else {
            (void)putchar(*text);
        }
    }
}

static void put_line(const char *before, const char *text)
{
    (void)fputs(before, stdout);
    put_text(text);
    (void)putchar('\n');
}

static void put_option(const struct otp_option *o)
{
    (void)fputs(".It ", stdout);
    if (o->letter != 0) {
        (void)printf("Fl %c , ", o->letter);
    }
    (void)printf("Fl -%s", o->name);
    if (o->value != NULL) {
        (void)fputs(" Ar ", stdout);
        put_text(o->value);
    }
    (void)putchar('\n');
    put_line("", o->help);
}

static void put_command(const struct otp_command *c)
{
    bool has_options = c->options != NULL && c->options[0].name != NULL;

    (void)printf(".Ss %s\n.Nm otelprof %s\n", c->name, c->name);
    if (has_options) {
        (void)fputs(".Op Ar option ...\n", stdout);
    }
    if (c->operands[0] != '\0') {
        put_line(".Li ", c->operands);
    }
    put_line(".Pp\n", c->summary);
    if (has_options) {
        (void)fputs(".Bl -tag -width Ds\n", stdout);
        for (int i = 0; c->options[i].name != NULL; i++) {
            put_option(&c->options[i]);
        }
        (void)fputs(".El\n", stdout);
    }
    if (c->details != NULL) {
        (void)fputs(".Bd -literal\n", stdout);
        put_text(c->details);
        (void)fputs(".Ed\n", stdout);
    }
}

static void put_tool(void)
{
    size_t count;
    const struct otp_command *const *commands = otp_commands(&count);

    (void)fputs(".Dd " DATE "\n.Dt OTELPROF 1\n.Os\n.Sh NAME\n.Nm otelprof\n"
                ".Nd profile programs, read, compare and convert profiles\n"
                ".Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar option ...\n.Op Ar operand ...\n"
                ".Sh DESCRIPTION\n.Nm\n"
                "starts programs with the profiler of\n.Xr libotelprof 7 ,\n"
                "and works on profiles of any origin: OTLP in protobuf or JSON, pprof, OTEP-0239, "
                "framed\nstreams of these, gzip or zstd around them.\n"
                "The kind of a file is told by its content; \\(lq-\\(rq is the standard input.\n"
                ".Sh COMMANDS\n",
                stdout);
    for (size_t i = 0; i < count; i++) {
        put_command(commands[i]);
    }
    (void)fputs(".Sh EXIT STATUS\n.Bl -tag -width Ds\n.It 0\ndone\n"
                ".It 1\na check or a comparison found something\n.It 2\nwrong usage\n"
                ".It 3\nan input cannot be read, or an output not be written\n.El\n.Pp\n"
                "The status of\n.Cm run\nis that of the program.\n"
                ".Sh SEE ALSO\n.Xr libotelprof 7\n",
                stdout);
}

static void put_variable(const char *name, const char *standard, const char *allowed,
                         const char *meaning)
{
    (void)printf(".It Ev %s\n", name);
    put_line("", meaning);
    put_line(".br\nAllowed: ", allowed);
    (void)fputs(".br\nDefault: ", stdout);
    put_line("", standard == NULL ? "as for all signals" : *standard == '\0' ? "unset" : standard);
}

static void put_library(void)
{
    (void)fputs(
        ".Dd " DATE "\n.Dt LIBOTELPROF 7\n.Os\n.Sh NAME\n.Nm libotelprof\n"
        ".Nd profiles of CPU time and heap of unchanged programs\n"
        ".Sh SYNOPSIS\n.Li LD_PRELOAD=libotelprof.so\n.Ar program\n"
        ".Sh DESCRIPTION\n"
        "The library, preloaded, samples the CPU time and the allocations of a program and "
        "of its\nchildren from inside, and writes profiles in the format of OpenTelemetry.\n"
        "Without settings each process leaves one file in its current folder.\n"
        "The program's output, exit status and behaviour stay as they are.\n.Pp\n"
        "In the names of files\n.Li %e\nis the program,\n.Li %p\nthe process id,\n.Li %h\n"
        "the host,\n.Li %t\nthe start time,\n.Li %n\nthe number of the flush and\n.Li %%\n"
        "a percent sign.\nThe end of the name decides the format:\n.Pa .otlp ,\n"
        ".Pa .jsonl ,\n.Pa .pb\nor\n.Pa .otep239 ,\nwith\n.Pa .gz\nor\n.Pa .zst\n"
        "behind it or nothing.\n"
        ".Sh ENVIRONMENT\n"
        "An empty value counts as unset.\n"
        "A value that is not allowed costs one line on the standard error; the default is "
        "used.\n.Bl -tag -width Ds\n",
        stdout);
#define OTP_OPTION(kind, field, name, standard, low, high, allowed, meaning)                       \
    put_variable(name, standard, allowed, meaning);
#include "core/conf/options.def"
#undef OTP_OPTION
    (void)fputs(".El\n.Sh SEE ALSO\n.Xr otelprof 1 ,\n.Xr ld.so 8\n", stdout);
}

static int run_man(const struct otp_args *args)
{
    const char *section = args->operand_count == 0 ? "1" : args->operands[0];

    if (args->operand_count > 1 || (strcmp(section, "1") != 0 && strcmp(section, "7") != 0)) {
        return otp_usage_error(args->command,
                               "the pages are 1, of the tool, and 7, of the library");
    }
    if (section[0] == '1') {
        put_tool();
    } else {
        put_library();
    }
    return OTP_EXIT_OK;
}

const struct otp_command otp_command_man = {
    .name = "man",
    .operands = "[1|7]",
    .summary = "print a manual page: otelprof man 1 | man -l -",
    .run = run_man,
};
