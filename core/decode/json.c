/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descends along the schema and writes each field as it comes. The recursion is bounded by
 * OTP_JSON_DEPTH; what is unknown is passed over without recursion.
 */
#include "core/decode/json.h"

#include <string.h>

#include "core/decode/json_schema.h"
#include "core/decode/json_text.h"
#include "core/decode/meter.h"

struct reader {
    struct otp_json j;
    struct otp_emit *out;
    unsigned depth;
    const uint8_t *begin;
    uint64_t items; /* of all lists so far */
};

static bool read_object(struct reader *r, const struct otp_json_message *m, bool *out_known);

/* ---- what is unknown ---- */

/* Passes a value of any kind over: strings and words one by one, counting brackets. */
static bool skip_scalar(struct otp_json *j)
{
    struct otp_text number;
    char word;
    uint8_t c = otp_json_peek(j);
    if (c == '"') {
        return otp_json_string(j);
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        return otp_json_number(j, &number);
    }
    return otp_json_word(j, &word);
}

/* One step inside: passes what stands before the next value; true at the end of the bracket. */
static bool next_member(struct otp_json *j, char close, bool is_first, bool *out_end)
{
    *out_end = false;
    if (otp_json_peek(j) == (uint8_t)close) {
        j->pos++;
        *out_end = true;
        return true;
    }
    return is_first || otp_json_expect(j, ',', "a comma or a closing bracket is missing");
}

static bool skip_value(struct reader *r)
{
    char closes[OTP_JSON_DEPTH];
    unsigned depth = 0;
    bool is_first = false;
    struct otp_json *j = &r->j;
    do {
        uint8_t c = otp_json_peek(j);
        bool opens = c == '{' || c == '[';
        if (opens && depth == OTP_JSON_DEPTH) {
            return otp_json_fail(j, j->pos, "brackets are nested too deep");
        }
        if (opens) {
            j->pos++;
            closes[depth++] = c == '{' ? '}' : ']';
        } else if (!skip_scalar(j)) {
            return false;
        }
        is_first = opens;
        bool end = depth > 0;
        while (depth > 0 && end) {
            if (!next_member(j, closes[depth - 1], is_first, &end)) {
                return false;
            }
            depth -= end;
            is_first = false;
        }
        if (depth > 0 && closes[depth - 1] == '}' &&
            (!otp_json_string(j) || !otp_json_expect(j, ':', "a colon is missing"))) {
            return false;
        }
    } while (depth > 0);
    return true;
}

/* ---- scalars ---- */

static bool read_bool(struct otp_json *j, uint64_t *out)
{
    char word;
    const uint8_t *start = j->pos;
    if (!otp_json_word(j, &word)) {
        return false;
    }
    *out = word == 't';
    return word != 'n' || otp_json_fail(j, start, "true or false is missing");
}

static bool read_double(struct reader *r, uint32_t number)
{
    double real;
    uint64_t bits;
    if (!otp_json_double(&r->j, &real)) {
        return false;
    }
    memcpy(&bits, &real, sizeof(bits));
    otp_emit_fixed64(r->out, number, bits);
    return true;
}

static bool read_scalar(struct reader *r, const struct otp_json_field *f)
{
    struct otp_json *j = &r->j;
    uint64_t v = 0;
    bool ok;
    switch (f->kind) {
    case OTP_JSON_STRING:
        ok = otp_json_string(j);
        if (ok) {
            otp_emit_bytes(r->out, f->number, j->text.data, j->text.len);
        }
        return ok;
    case OTP_JSON_BYTES:
        return otp_json_base64(j, f->number, r->out);
    case OTP_JSON_ID:
        return otp_json_id(j, f->number, r->out);
    case OTP_JSON_DOUBLE:
        return read_double(r, f->number);
    case OTP_JSON_FIXED64:
        ok = otp_json_integer(j, false, &v);
        otp_emit_fixed64(r->out, f->number, v);
        return ok;
    case OTP_JSON_BOOL:
        ok = read_bool(j, &v);
        break;
    case OTP_JSON_INT:
    case OTP_JSON_UINT:
        ok = otp_json_integer(j, f->kind == OTP_JSON_INT, &v);
        break;
    case OTP_JSON_MESSAGE:
    default:
        return false;
    }
    otp_emit_uint(r->out, f->number, v);
    return ok;
}

/* A list of numbers, packed into one field. */
static bool read_numbers(struct reader *r, const struct otp_json_field *f)
{
    struct otp_json *j = &r->j;
    bool end = false;
    bool is_first = true;
    size_t mark = otp_emit_open(r->out, f->number);
    while (next_member(j, ']', is_first, &end) && !end) {
        uint64_t v;
        if (!otp_json_integer(j, f->kind == OTP_JSON_INT, &v)) {
            return false;
        }
        if (f->kind == OTP_JSON_FIXED64) {
            otp_emit_raw(r->out, &v, sizeof(v)); /* this machine stores numbers as the wire does */
        } else {
            otp_emit_varint(r->out, v);
        }
        is_first = false;
    }
    otp_emit_close(r->out, mark);
    return end;
}

/* ---- messages ---- */

static bool read_message(struct reader *r, const struct otp_json_field *f)
{
    bool known;
    size_t mark = otp_emit_open(r->out, f->number);
    bool ok = read_object(r, f->message, &known);
    otp_emit_close(r->out, mark);
    return ok;
}

static bool is_null(struct reader *r)
{
    char word;
    return otp_json_peek(&r->j) == 'n' && otp_json_word(&r->j, &word);
}

static bool read_one(struct reader *r, const struct otp_json_field *f)
{
    return f->kind == OTP_JSON_MESSAGE ? read_message(r, f) : read_scalar(r, f);
}

static bool read_list(struct reader *r, const struct otp_json_field *f)
{
    bool end = false;
    bool is_first = true;
    bool is_numbers = f->kind == OTP_JSON_INT || f->kind == OTP_JSON_FIXED64;
    if (!otp_json_expect(&r->j, '[', "a list is missing")) {
        return false;
    }
    if (is_numbers) {
        return read_numbers(r, f);
    }
    while (next_member(&r->j, ']', is_first, &end) && !end) {
        otp_meter_at("reading", r->begin, r->j.pos, r->j.end, r->items++);
        if (!read_one(r, f)) {
            return false;
        }
        is_first = false;
    }
    return end;
}

static bool read_member(struct reader *r, const struct otp_json_message *m, bool *out_known)
{
    struct otp_json *j = &r->j;
    if (otp_json_peek(j) != '"') {
        return otp_json_fail(j, j->pos, "a name is missing");
    }
    if (!otp_json_string(j)) {
        return false;
    }
    const struct otp_json_field *f =
        otp_json_find(m, otp_text_make((const char *)j->text.data, j->text.len));
    if (!otp_json_expect(j, ':', "a colon is missing")) {
        return false;
    }
    if (f == NULL) {
        return skip_value(r);
    }
    *out_known = true;
    return is_null(r) || (f->is_list ? read_list(r, f) : read_one(r, f));
}

static bool read_object(struct reader *r, const struct otp_json_message *m, bool *out_known)
{
    struct otp_json *j = &r->j;
    bool end = false;
    bool is_first = true;
    *out_known = false;
    if (r->depth == OTP_JSON_DEPTH) {
        return otp_json_fail(j, j->pos, "brackets are nested too deep");
    }
    if (!otp_json_expect(j, '{', "an object is missing")) {
        return false;
    }
    r->depth++;
    while (next_member(j, '}', is_first, &end) && !end) {
        if (!read_member(r, m, out_known)) {
            return false;
        }
        is_first = false;
    }
    r->depth--;
    *out_known = *out_known || is_first; /* an empty object may be anything */
    return end;
}

enum otp_status otp_json_decode(const uint8_t *data, size_t len, struct otp_translation *t)
{
    struct reader r = {.j = {.pos = data, .end = data + len}, .out = &t->out, .begin = data};
    bool known = false;
    otp_emit_init(&r.j.text, len + 1);
    bool ok = read_object(&r, &otp_json_profiles_data, &known);
    if (ok && !known) {
        ok = otp_json_fail(&r.j, data, "no OTLP profiles are in it");
    }
    if (ok && t->out.failed) {
        ok = otp_json_fail(&r.j, data, "there is more in it than the memory limit allows");
    }
    (void)otp_json_peek(&r.j);
    t->used = (size_t)(r.j.pos - data);
    t->fault = r.j.fault;
    otp_emit_fini(&r.j.text);
    return ok ? OTP_OK : OTP_MALFORMED;
}
