/* SPDX-License-Identifier: Apache-2.0 */
/* What the standard output is: a terminal of some width that shows colours, or something else. */
#ifndef OTP_OTELPROF_TERMINAL_H
#define OTP_OTELPROF_TERMINAL_H

#include <stdbool.h>

#include "tools/otelprof/args.h"

/* Whether something is done: on a terminal, in any case, or not at all. */
enum otp_when { OTP_WHEN_AUTO, OTP_WHEN_ALWAYS, OTP_WHEN_NEVER };

#define OTP_WHEN_HELP "auto, always or never"

/* Reads the value of an option, auto when it is not given, or prints what is wrong with it. */
bool otp_args_when(const struct otp_args *args, int option, enum otp_when *out_when);
/* The columns of a line: what COLUMNS says, else what the terminal has, else 80. */
unsigned otp_terminal_columns(void);
/* Are bars wanted on the standard output? */
bool otp_terminal_has_bars(enum otp_when when);
/* Colours: not where NO_COLOR is set or the terminal is a dumb one, unless they are asked for. */
bool otp_terminal_has_colour(enum otp_when when);
/* Does the locale of the environment write UTF-8? */
bool otp_terminal_is_utf8(void);

#endif
