/* SPDX-License-Identifier: Apache-2.0 */
/* What a command of the tool is. main.c holds the table; each command has a file of its own. */
#ifndef OTP_OTELPROF_COMMAND_H
#define OTP_OTELPROF_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* Exit status of all commands but `run`, which passes on the program's own. */
enum otp_exit {
    OTP_EXIT_OK = 0,
    OTP_EXIT_FOUND = 1, /* a check found something */
    OTP_EXIT_USAGE = 2,
    OTP_EXIT_INPUT = 3 /* an input cannot be read, or an output not be written */
};

#define OTP_OPTIONS_MAX 12

struct otp_option {
    const char *name;  /* without the dashes; NULL ends the list */
    char letter;       /* short form, or 0 */
    const char *value; /* what the value is called in the help; NULL: a switch */
    const char *help;
};

struct otp_args {
    const struct otp_command *command;
    const char *values[OTP_OPTIONS_MAX]; /* by number of the option; NULL: not given */
    char **operands;
    int operand_count;
};

struct otp_command {
    const char *name;
    const char *operands; /* as in the usage line */
    const char *summary;
    const struct otp_option *options; /* may be NULL */
    const char *details;              /* more help, or NULL */
    bool stops_at_operand;            /* what follows the first operand is not ours */
    int (*run)(const struct otp_args *args);
};

extern const struct otp_command otp_command_info;
extern const struct otp_command otp_command_top;
extern const struct otp_command otp_command_check;
extern const struct otp_command otp_command_flame;
extern const struct otp_command otp_command_run;
extern const struct otp_command otp_command_receive;
extern const struct otp_command otp_command_send;
extern const struct otp_command otp_command_doctor;
extern const struct otp_command otp_command_convert;
extern const struct otp_command otp_command_merge;
extern const struct otp_command otp_command_diff;
extern const struct otp_command otp_command_ctl;
extern const struct otp_command otp_command_symbolize;
extern const struct otp_command otp_command_completion;
extern const struct otp_command otp_command_man;

/* All commands, in the order in which they are listed. */
const struct otp_command *const *otp_commands(size_t *out_count);

/* Prints `otelprof COMMAND: ` and a formatted line to stderr; OTP_EXIT_USAGE. */
int otp_usage_error(const struct otp_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
