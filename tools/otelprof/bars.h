/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists for people who look at a terminal: a bar in front of each name, colours. Lines with bars
 * fit the terminal; without bars a list is the same as in a pipe.
 */
#ifndef OTP_OTELPROF_BARS_H
#define OTP_OTELPROF_BARS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/text.h"
#include "tools/otelprof/terminal.h"

#define OTP_BARS_SPARE 9U /* columns of the number that narrow lines do without, with its blank */

struct otp_bars {
    enum otp_when when;   /* bars are wanted */
    enum otp_when colour; /* and colours */
    /* What otp_bars_plan() makes of it. */
    bool has_colour;
    bool is_utf8;
    bool is_narrow;        /* there is no room for the number that can be done without */
    unsigned columns;      /* of a bar; 0: there are none */
    unsigned name_columns; /* of a name, when there are bars */
    uint64_t largest;      /* what the longest bar stands for */
    uint64_t cut;          /* names that were cut */
};

/* The columns that a name of the list takes: it and, when module has a text, that in brackets. */
unsigned otp_bars_name_columns(struct otp_text name, struct otp_text module);
/*
 * Divides the line: `used` columns are taken by numbers, the longest name of the list wants
 * `longest`. Where there is no room for bars there are none, unless they are asked for.
 */
void otp_bars_plan(struct otp_bars *b, unsigned used, unsigned longest, uint64_t largest);
/* Begins and ends the line of titles. */
void otp_bars_begin_titles(const struct otp_bars *b);
void otp_bars_end_titles(const struct otp_bars *b, const char *last_title);
/* Prints the bar of a value, and the blanks behind it. */
void otp_bars_draw(const struct otp_bars *b, int64_t value);
/* Prints a name, and the module, if it has one, behind it; with bars only as far as the line goes.
 */
void otp_bars_name(struct otp_bars *b, struct otp_text name, struct otp_text module);
/* Says that names were cut, if some were. */
void otp_bars_end(const struct otp_bars *b);

#endif
