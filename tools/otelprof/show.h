/* SPDX-License-Identifier: Apache-2.0 */
/* How values, times and foreign texts are shown to people and to other programs. */
#ifndef OTP_OTELPROF_SHOW_H
#define OTP_OTELPROF_SHOW_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/text.h"
#include "core/decode/model.h"

#define OTP_SHOW_MAX 48 /* room for any value below, with its NUL */

/* What a number counts, as far as showing goes. */
enum otp_unit { OTP_UNIT_COUNT, OTP_UNIT_NS, OTP_UNIT_BYTES, OTP_UNIT_OTHER };

/* The kind of a unit's name, and by *out_factor how many of the base kind (ns, bytes) one is. */
enum otp_unit otp_show_unit(struct otp_text unit, int64_t *out_factor);
/* A value in its unit, short: 1.25s, 34.5MiB, 1234. Writes at most OTP_SHOW_MAX bytes; returns out.
 */
char *otp_show_value(char *out, int64_t value, struct otp_text unit);
/* part of whole in percent with two digits; returns out. */
char *otp_show_percent(char *out, int64_t part, int64_t whole);
/* UTC, with milliseconds; returns out. */
char *otp_show_time(char *out, uint64_t unix_ns);
/* Prints foreign text: control characters and what is not UTF-8 become `?`. */
void otp_show_text(FILE *to, struct otp_text text);
/* Prints text as a JSON string with its quotes; safe inside an HTML script as well. */
void otp_show_json(FILE *to, struct otp_text text);
/* Prints an array or key-value list: [a, b], {key: value}. For otp_show_attribute. */
void otp_show_nested(FILE *to, const struct otp_profiles *m, const struct otp_value *v);
/* Prints an attribute's value on one line. */
void otp_show_attribute(FILE *to, const struct otp_profiles *m, const struct otp_value *v);

/* The name of a table as people call it: "mappings". */
extern const char *const otp_table_names[OTP_TABLES];

#endif
