/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/args.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fmt.h"

int otp_usage_error(const struct otp_command *command, const char *format, ...)
{
    va_list list;

    (void)fprintf(stderr, "otelprof %s: ", command->name);
    va_start(list, format);
    (void)vfprintf(stderr, format, list);
    va_end(list);
    (void)fprintf(stderr, " (see: otelprof help %s)\n", command->name);
    return OTP_EXIT_USAGE;
}

/* Where the parser is. */
struct parser {
    const struct otp_command *command;
    struct otp_args *args;
    int argc;
    char **argv;
    int pos;
};

static int find_long(const struct otp_option *options, const char *name, size_t len)
{
    for (int i = 0; options != NULL && options[i].name != NULL; i++) {
        if (strlen(options[i].name) == len && memcmp(options[i].name, name, len) == 0) {
            return i;
        }
    }
    return -1;
}

static int find_letter(const struct otp_option *options, char letter)
{
    for (int i = 0; options != NULL && options[i].name != NULL; i++) {
        if (options[i].letter == letter) {
            return i;
        }
    }
    return -1;
}

/* Stores the value of option i: what is attached to it, or the next argument. */
static bool take_value(struct parser *p, int i, const char *attached)
{
    const struct otp_option *o = &p->command->options[i];

    if (o->value == NULL) {
        if (attached != NULL) {
            (void)otp_usage_error(p->command, "--%s takes no value", o->name);
            return false;
        }
        p->args->values[i] = "";
        return true;
    }
    if (attached == NULL && p->pos + 1 < p->argc) {
        attached = p->argv[++p->pos];
    }
    if (attached == NULL) {
        (void)otp_usage_error(p->command, "--%s needs a value: %s", o->name, o->value);
        return false;
    }
    p->args->values[i] = attached;
    return true;
}

static bool parse_long(struct parser *p, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t len = equals == NULL ? strlen(text) : (size_t)(equals - text);
    int i = find_long(p->command->options, text, len);

    if (i < 0) {
        (void)otp_usage_error(p->command, "there is no option --%.*s", (int)len, text);
        return false;
    }
    return take_value(p, i, equals == NULL ? NULL : equals + 1);
}

/* One or more letters; the first that takes a value takes the rest of the argument. */
static bool parse_letters(struct parser *p, const char *text)
{
    for (; *text != '\0'; text++) {
        int i = find_letter(p->command->options, *text);
        if (i < 0) {
            (void)otp_usage_error(p->command, "there is no option -%c", *text);
            return false;
        }
        if (p->command->options[i].value != NULL) {
            return take_value(p, i, text[1] != '\0' ? text + 1 : NULL);
        }
        p->args->values[i] = "";
    }
    return true;
}

static bool parse_one(struct parser *p, const char *arg, bool *is_over)
{
    struct otp_args *args = p->args;

    if (*is_over || arg[0] != '-' || arg[1] == '\0') {
        args->operands[args->operand_count++] = p->argv[p->pos];
        *is_over = *is_over || p->command->stops_at_operand;
        return true;
    }
    if (strcmp(arg, "--") == 0) {
        *is_over = true;
        return true;
    }
    return arg[1] == '-' ? parse_long(p, arg + 2) : parse_letters(p, arg + 1);
}

bool otp_args_parse(const struct otp_command *command, int argc, char **argv,
                    struct otp_args *out_args)
{
    struct parser p = {.command = command, .args = out_args, .argc = argc, .argv = argv};
    bool is_over = false;

    memset(out_args, 0, sizeof(*out_args));
    out_args->command = command;
    out_args->operands = argv; /* operands move to the front: never more than were read */
    for (p.pos = 0; p.pos < argc; p.pos++) {
        if (!parse_one(&p, argv[p.pos], &is_over)) {
            return false;
        }
    }
    if (out_args->operand_count < argc) {
        argv[out_args->operand_count] = NULL;
    }
    return true;
}

bool otp_args_number(const struct otp_args *args, int option, uint64_t min, uint64_t max,
                     uint64_t *out_value)
{
    const char *text = args->values[option];
    uint64_t value;

    if (otp_fmt_parse_u64(text, strlen(text), &value) && value >= min && value <= max) {
        *out_value = value;
        return true;
    }
    (void)otp_usage_error(args->command, "--%s: \"%s\" is not a number from %llu to %llu",
                          args->command->options[option].name, text, (unsigned long long)min,
                          (unsigned long long)max);
    return false;
}
