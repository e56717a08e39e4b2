/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines: options anywhere among the operands, `--` ends them, `--name=value` and `-n 5`. */
#ifndef OTP_OTELPROF_ARGS_H
#define OTP_OTELPROF_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/otelprof/command.h"

/*
 * Sorts argv (behind the command's name) into options and operands. argv is reordered; out_args
 * borrows from it. False: a line about what is wrong was printed.
 */
bool otp_args_parse(const struct otp_command *command, int argc, char **argv,
                    struct otp_args *out_args);
/* Was the option of that number given? */
static inline bool otp_args_has(const struct otp_args *args, int option)
{
    return args->values[option] != NULL;
}
/* Reads an option's value as a number of [min, max] or prints what is wrong with it. */
bool otp_args_number(const struct otp_args *args, int option, uint64_t min, uint64_t max,
                     uint64_t *out_value);

#endif
