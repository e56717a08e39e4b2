/* SPDX-License-Identifier: Apache-2.0 */
/* Source: RFC 8259 (JSON), RFC 4648 (base64). */
#include "core/decode/json_text.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

#define NUMBER_MAX 64U /* characters of a number that is not made of digits alone */

bool otp_json_fail(struct otp_json *j, const uint8_t *at, const char *reason)
{
    if (j->fault.reason == NULL) {
        j->fault.reason = reason;
        j->fault.at = at;
    }
    return false;
}

uint8_t otp_json_peek(struct otp_json *j)
{
    while (j->pos < j->end &&
           (*j->pos == ' ' || *j->pos == '\t' || *j->pos == '\n' || *j->pos == '\r')) {
        j->pos++;
    }
    return j->pos < j->end ? *j->pos : 0;
}

bool otp_json_expect(struct otp_json *j, char c, const char *reason)
{
    if (otp_json_peek(j) != (uint8_t)c || j->pos == j->end) {
        return otp_json_fail(j, j->pos, reason);
    }
    j->pos++;
    return true;
}

/* ---- strings ---- */

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex4(struct otp_json *j, uint32_t *out)
{
    *out = 0;
    if (j->end - j->pos < 4) {
        return otp_json_fail(j, j->pos, "a string is cut off");
    }
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(*j->pos++);
        if (digit < 0) {
            return otp_json_fail(j, j->pos - 1, "\\u is not followed by four hex digits");
        }
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

static void put_utf8(struct otp_emit *e, uint32_t c)
{
    uint8_t out[4];
    size_t len = 0;
    if (c < 0x80) {
        out[len++] = (uint8_t)c;
    } else if (c < 0x800) {
        out[len++] = (uint8_t)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        out[len++] = (uint8_t)(0xe0 | c >> 12);
        out[len++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
    } else {
        out[len++] = (uint8_t)(0xf0 | c >> 18);
        out[len++] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
        out[len++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
    }
    if (c >= 0x80) {
        out[len++] = (uint8_t)(0x80 | (c & 0x3f));
    }
    otp_emit_raw(e, out, len);
}

/* Behind \u: a character, or half of one with the other half behind it; a half alone is U+FFFD. */
static bool read_unicode(struct otp_json *j)
{
    uint32_t c;
    uint32_t low;
    if (!read_hex4(j, &c)) {
        return false;
    }
    bool is_high = c >= 0xd800 && c < 0xdc00;
    if (is_high && j->end - j->pos >= 6 && j->pos[0] == '\\' && j->pos[1] == 'u') {
        const uint8_t *back = j->pos;
        j->pos += 2;
        if (!read_hex4(j, &low)) {
            return false;
        }
        if (low >= 0xdc00 && low < 0xe000) {
            put_utf8(&j->text, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
            return true;
        }
        j->pos = back;
    }
    put_utf8(&j->text, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
    return true;
}

static bool read_escape(struct otp_json *j)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    if (j->pos == j->end) {
        return otp_json_fail(j, j->pos, "a string is cut off");
    }
    uint8_t c = *j->pos++;
    const char *found = c == 0 ? NULL : strchr(from, c);
    if (c == 'u') {
        return read_unicode(j);
    }
    if (found == NULL) {
        return otp_json_fail(j, j->pos - 1, "a character is escaped that need not be");
    }
    otp_emit_raw(&j->text, &to[found - from], 1);
    return true;
}

/* Takes over what stands for itself. */
static void pass_plain(struct otp_json *j)
{
    const uint8_t *from = j->pos;
    while (j->pos < j->end && *j->pos != '"' && *j->pos != '\\' && *j->pos >= 0x20) {
        j->pos++;
    }
    otp_emit_raw(&j->text, from, (size_t)(j->pos - from));
}

bool otp_json_string(struct otp_json *j)
{
    j->text.len = 0;
    if (!otp_json_expect(j, '"', "a string is missing")) {
        return false;
    }
    const uint8_t *start = j->pos - 1;
    while (j->pos < j->end && *j->pos != '"') {
        pass_plain(j);
        if (j->pos < j->end && *j->pos < 0x20) {
            return otp_json_fail(j, j->pos, "a control character stands in a string");
        }
        if (j->pos < j->end && *j->pos == '\\') {
            j->pos++;
            if (!read_escape(j)) {
                return false;
            }
        }
    }
    if (j->pos == j->end) {
        return otp_json_fail(j, start, "a string is cut off");
    }
    j->pos++;
    if (j->text.failed) {
        return otp_json_fail(j, start, "there is more in it than the memory limit allows");
    }
    if (!otp_utf8_is_valid(otp_text_make((const char *)j->text.data, j->text.len))) {
        return otp_json_fail(j, start, "a string is not UTF-8");
    }
    return true;
}

/* ---- numbers and words ---- */

bool otp_json_word(struct otp_json *j, char *out)
{
    static const char *const words[] = {"true", "false", "null"};
    (void)otp_json_peek(j);
    for (size_t i = 0; i < 3; i++) {
        size_t len = strlen(words[i]);
        if ((size_t)(j->end - j->pos) >= len && memcmp(j->pos, words[i], len) == 0) {
            *out = words[i][0];
            j->pos += len;
            return true;
        }
    }
    return otp_json_fail(j, j->pos, "a value is missing");
}

static bool pass_digits(struct otp_json *j)
{
    const uint8_t *from = j->pos;
    while (j->pos < j->end && *j->pos >= '0' && *j->pos <= '9') {
        j->pos++;
    }
    return j->pos > from;
}

bool otp_json_number(struct otp_json *j, struct otp_text *out)
{
    (void)otp_json_peek(j);
    const uint8_t *start = j->pos;
    j->pos += j->pos < j->end && *j->pos == '-';
    bool has_zero = j->pos < j->end && *j->pos == '0';
    const uint8_t *digits = j->pos;
    bool ok = pass_digits(j) && (!has_zero || j->pos == digits + 1);
    if (ok && j->pos < j->end && *j->pos == '.') {
        j->pos++;
        ok = pass_digits(j);
    }
    if (ok && j->pos < j->end && (*j->pos == 'e' || *j->pos == 'E')) {
        j->pos++;
        j->pos += j->pos < j->end && (*j->pos == '+' || *j->pos == '-');
        ok = pass_digits(j);
    }
    *out = otp_text_make((const char *)start, (size_t)(j->pos - start));
    return ok || otp_json_fail(j, start, "a number is not written as JSON has it");
}

/* The number at j, or the one inside the string at j. */
static bool number_or_string(struct otp_json *j, struct otp_text *out)
{
    if (otp_json_peek(j) != '"') {
        return otp_json_number(j, out);
    }
    const uint8_t *start = j->pos;
    if (!otp_json_string(j)) {
        return false;
    }
    *out = otp_text_make((const char *)j->text.data, j->text.len);
    return out->len > 0 || otp_json_fail(j, start, "a number is missing");
}

static bool to_double(struct otp_text t, double *out)
{
    char copy[NUMBER_MAX + 1];
    char *end;
    if (t.len == 0 || t.len > NUMBER_MAX || t.data[0] == '+' || t.data[0] == ' ') {
        return false;
    }
    memcpy(copy, t.data, t.len);
    copy[t.len] = '\0';
    *out = strtod(copy, &end);
    return *end == '\0';
}

/* Digits alone; false: something else is among them, or it is too large. */
static bool to_magnitude(const char *s, size_t len, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < len; i++) {
        if (s[i] < '0' || s[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v)) {
            return false;
        }
    }
    *out = v;
    return len > 0;
}

bool otp_json_integer(struct otp_json *j, bool is_signed, uint64_t *out)
{
    const double exact = 9007199254740992.0; /* 2 to the 53 */
    struct otp_text t;
    double real;
    const uint8_t *start = j->pos;
    if (!number_or_string(j, &t)) {
        return false;
    }
    bool is_negative = t.data[0] == '-';
    if (to_magnitude(t.data + is_negative, t.len - is_negative, out)) {
        uint64_t most = is_negative ? (uint64_t)1 << 63 : is_signed ? INT64_MAX : UINT64_MAX;
        if (*out > most || (is_negative && !is_signed && *out > 0)) {
            return otp_json_fail(j, start, "a number is out of its range");
        }
        *out = is_negative ? 0 - *out : *out;
        return true;
    }
    if (!to_double(t, &real) || real < (is_signed ? -exact : 0) || real > exact ||
        (double)(int64_t)real != real) {
        return otp_json_fail(j, start, "this is no whole number of 64 bits");
    }
    *out = (uint64_t)(int64_t)real;
    return true;
}

bool otp_json_double(struct otp_json *j, double *out)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    const double values[] = {__builtin_nan(""), __builtin_inf(), -__builtin_inf()};
    struct otp_text t;
    const uint8_t *start = j->pos;
    bool is_string = otp_json_peek(j) == '"';
    if (!number_or_string(j, &t)) {
        return false;
    }
    for (size_t i = 0; i < 3 && is_string; i++) {
        if (t.len == strlen(words[i]) && memcmp(t.data, words[i], t.len) == 0) {
            *out = values[i];
            return true;
        }
    }
    bool is_number = t.data[0] == '-' || (t.data[0] >= '0' && t.data[0] <= '9');
    return (is_number && to_double(t, out)) || otp_json_fail(j, start, "this is no number");
}

/* ---- bytes ---- */

static int base64_digit(uint8_t c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* j->text as base64 into a field. */
static bool put_base64(struct otp_json *j, const uint8_t *start, uint32_t field,
                       struct otp_emit *out)
{
    size_t len = j->text.len;
    uint32_t bits = 0;
    unsigned have = 0;
    while (len > 0 && j->text.data[len - 1] == '=') {
        len--;
    }
    size_t mark = otp_emit_open(out, field);
    for (size_t i = 0; i < len; i++) {
        int digit = base64_digit(j->text.data[i]);
        if (digit < 0) {
            return otp_json_fail(j, start, "this is not base64");
        }
        bits = bits << 6 | (uint32_t)digit;
        have += 6;
        if (have >= 8) {
            have -= 8;
            const uint8_t byte = (uint8_t)(bits >> have);
            otp_emit_raw(out, &byte, 1);
        }
    }
    otp_emit_close(out, mark);
    return have < 6 || otp_json_fail(j, start, "this is not base64");
}

bool otp_json_base64(struct otp_json *j, uint32_t field, struct otp_emit *out)
{
    const uint8_t *start = j->pos;
    return otp_json_string(j) && put_base64(j, start, field, out);
}

static bool is_hex(const struct otp_emit *text)
{
    for (size_t i = 0; i < text->len; i++) {
        if (hex_digit(text->data[i]) < 0) {
            return false;
        }
    }
    return text->len % 2 == 0;
}

bool otp_json_id(struct otp_json *j, uint32_t field, struct otp_emit *out)
{
    const uint8_t *start = j->pos;
    if (!otp_json_string(j)) {
        return false;
    }
    if (!is_hex(&j->text)) {
        return put_base64(j, start, field, out);
    }
    size_t mark = otp_emit_open(out, field);
    for (size_t i = 0; i < j->text.len; i += 2) {
        int byte = hex_digit(j->text.data[i]) << 4 | hex_digit(j->text.data[i + 1]);
        const uint8_t b = (uint8_t)byte;
        otp_emit_raw(out, &b, 1);
    }
    otp_emit_close(out, mark);
    return true;
}
