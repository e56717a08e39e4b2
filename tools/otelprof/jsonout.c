/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/jsonout.h"

#include <inttypes.h>
#include <string.h>

#include "tools/otelprof/show.h"

/* ---- form ---- */

static void new_line(const struct otp_jsonout *j)
{
    (void)fprintf(j->to, "\n%*s", (int)j->depth, "");
}

/* Everything in front of an item: what divides it from the one before, and its key. */
static void begin_item(struct otp_jsonout *j, const char *key)
{
    if (j->is_keyed) {
        j->is_keyed = false;
        return;
    }
    if (j->depth > 0) {
        unsigned top = j->depth - 1;
        (void)fputs(j->has_items[top] ? "," : "", j->to);
        if (!j->is_row[top]) {
            new_line(j);
        } else if (j->has_items[top]) {
            (void)fputc(' ', j->to);
        }
        j->has_items[top] = true;
    }
    if (key != NULL) {
        otp_show_json(j->to, otp_text_of(key));
        (void)fputs(": ", j->to);
    }
}

static void open_item(struct otp_jsonout *j, const char *key, char begin, char end, bool is_row)
{
    begin_item(j, key);
    if (j->depth == OTP_JSONOUT_DEPTH) {
        return; /* cannot be: values are not nested so deep */
    }
    (void)fputc(begin, j->to);
    j->is_row[j->depth] = is_row || (j->depth > 0 && j->is_row[j->depth - 1]);
    j->has_items[j->depth] = false;
    j->end[j->depth++] = end;
}

void otp_jsonout_object(struct otp_jsonout *j, const char *key)
{
    open_item(j, key, '{', '}', false);
}

void otp_jsonout_list(struct otp_jsonout *j, const char *key)
{
    open_item(j, key, '[', ']', false);
}

void otp_jsonout_row(struct otp_jsonout *j, const char *key)
{
    open_item(j, key, '{', '}', true);
}

void otp_jsonout_close(struct otp_jsonout *j)
{
    j->depth--;
    if (!j->is_row[j->depth] && j->has_items[j->depth]) {
        new_line(j);
    }
    (void)fputc(j->end[j->depth], j->to);
}

static void begin(struct otp_jsonout *j, FILE *to, bool is_row)
{
    memset(j, 0, sizeof(*j));
    j->to = to;
    open_item(j, NULL, '{', '}', is_row);
}

void otp_jsonout_begin(struct otp_jsonout *j, FILE *to)
{
    begin(j, to, false);
}

void otp_jsonout_begin_row(struct otp_jsonout *j, FILE *to)
{
    begin(j, to, true);
}

void otp_jsonout_end(struct otp_jsonout *j)
{
    otp_jsonout_close(j);
    (void)fputc('\n', j->to);
}

void otp_jsonout_key(struct otp_jsonout *j, struct otp_text key)
{
    begin_item(j, NULL);
    otp_show_json(j->to, key);
    (void)fputs(": ", j->to);
    j->is_keyed = true;
}

/* ---- items ---- */

void otp_jsonout_text(struct otp_jsonout *j, const char *key, struct otp_text text)
{
    begin_item(j, key);
    otp_show_json(j->to, text);
}

void otp_jsonout_null(struct otp_jsonout *j, const char *key)
{
    begin_item(j, key);
    (void)fputs("null", j->to);
}

void otp_jsonout_string(struct otp_jsonout *j, const char *key, const char *text)
{
    if (text == NULL) {
        otp_jsonout_null(j, key);
    } else {
        otp_jsonout_text(j, key, otp_text_of(text));
    }
}

void otp_jsonout_int(struct otp_jsonout *j, const char *key, int64_t value)
{
    begin_item(j, key);
    (void)fprintf(j->to, "%" PRId64, value);
}

void otp_jsonout_uint(struct otp_jsonout *j, const char *key, uint64_t value)
{
    begin_item(j, key);
    (void)fprintf(j->to, "%" PRIu64, value);
}

void otp_jsonout_bool(struct otp_jsonout *j, const char *key, bool value)
{
    begin_item(j, key);
    (void)fputs(value ? "true" : "false", j->to);
}

void otp_jsonout_hex(struct otp_jsonout *j, const char *key, struct otp_text bytes)
{
    begin_item(j, key);
    (void)fputc('"', j->to);
    for (size_t i = 0; i < bytes.len; i++) {
        (void)fprintf(j->to, "%02x", (unsigned char)bytes.data[i]);
    }
    (void)fputc('"', j->to);
}

static void put_real(struct otp_jsonout *j, const char *key, double value)
{
    if (value != value) {
        otp_jsonout_string(j, key, "NaN");
    } else if (value - value != 0) {
        otp_jsonout_string(j, key, value > 0 ? "Infinity" : "-Infinity");
    } else {
        begin_item(j, key);
        (void)fprintf(j->to, "%.17g", value);
    }
}

void otp_jsonout_value(struct otp_jsonout *j, const char *key, const struct otp_profiles *m,
                       const struct otp_value *v)
{
    switch (v->kind) {
    case OTP_VALUE_STRING:
    case OTP_VALUE_STRINDEX:
        otp_jsonout_text(j, key, otp_profiles_value_text(m, v));
        break;
    case OTP_VALUE_BOOL:
        otp_jsonout_bool(j, key, v->of.number != 0);
        break;
    case OTP_VALUE_INT:
        otp_jsonout_int(j, key, v->of.number);
        break;
    case OTP_VALUE_DOUBLE:
        put_real(j, key, v->of.real);
        break;
    case OTP_VALUE_BYTES:
        otp_jsonout_hex(j, key, otp_profiles_text(m, v->of.piece));
        break;
    case OTP_VALUE_ARRAY:
    case OTP_VALUE_KVLIST:
        if (key != NULL) {
            otp_jsonout_key(j, otp_text_of(key));
        }
        otp_jsonout_nested(j, m, v);
        break;
    case OTP_VALUE_NONE:
    case OTP_VALUE_KINDS:
    default:
        otp_jsonout_null(j, key);
        break;
    }
}
