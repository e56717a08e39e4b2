/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results for other programs: one JSON value, written as it comes. Keys are NULL inside lists. What
 * is opened as a row, and all inside it, is one line.
 */
#ifndef OTP_OTELPROF_JSONOUT_H
#define OTP_OTELPROF_JSONOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/text.h"
#include "core/decode/model.h"

/* Deep enough for a value nested as deep as the decoder lets pass, and what is around it. */
#define OTP_JSONOUT_DEPTH 80

/* The option of each command that prints a result. */
#define OTP_JSON_OPTION                                                                            \
    {                                                                                              \
        "json", 0, NULL, "print JSON"                                                              \
    }

struct otp_jsonout {
    FILE *to;
    unsigned depth;
    bool is_keyed; /* the key of the next item is written already */
    bool is_row[OTP_JSONOUT_DEPTH];
    bool has_items[OTP_JSONOUT_DEPTH];
    char end[OTP_JSONOUT_DEPTH];
};

/* Begins with an object; otp_jsonout_end() ends it, and the line. */
void otp_jsonout_begin(struct otp_jsonout *j, FILE *to);
void otp_jsonout_begin_row(struct otp_jsonout *j, FILE *to);
void otp_jsonout_end(struct otp_jsonout *j);
/* Begins an object or list inside; otp_jsonout_close() ends the one that was opened last. */
void otp_jsonout_object(struct otp_jsonout *j, const char *key);
void otp_jsonout_list(struct otp_jsonout *j, const char *key);
void otp_jsonout_row(struct otp_jsonout *j, const char *key);
void otp_jsonout_close(struct otp_jsonout *j);
/* Writes the key of the next item, for keys that are not ours; that item's own is NULL. */
void otp_jsonout_key(struct otp_jsonout *j, struct otp_text key);
/* Items. Text may be of any bytes; NULL is null. */
void otp_jsonout_text(struct otp_jsonout *j, const char *key, struct otp_text text);
void otp_jsonout_string(struct otp_jsonout *j, const char *key, const char *text);
void otp_jsonout_int(struct otp_jsonout *j, const char *key, int64_t value);
void otp_jsonout_uint(struct otp_jsonout *j, const char *key, uint64_t value);
void otp_jsonout_bool(struct otp_jsonout *j, const char *key, bool value);
void otp_jsonout_null(struct otp_jsonout *j, const char *key);
/* Bytes as hex. */
void otp_jsonout_hex(struct otp_jsonout *j, const char *key, struct otp_text bytes);
/* An attribute's value: lists and maps as such, bytes as hex, numbers that are none as text. */
void otp_jsonout_value(struct otp_jsonout *j, const char *key, const struct otp_profiles *m,
                       const struct otp_value *v);
/* A list or map of values; for otp_jsonout_value. */
void otp_jsonout_nested(struct otp_jsonout *j, const struct otp_profiles *m,
                        const struct otp_value *v);

#endif
