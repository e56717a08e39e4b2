/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/origin.h"

#include <string.h>

#include "core/base/fmt.h"

static const char prefix[] = "otelprof.process: ";

const char *const otp_origin_keys[OTP_ORIGIN_FIELDS] = {
    [OTP_ORIGIN_PID] = "process.pid",
    [OTP_ORIGIN_INSTANCE] = "service.instance.id",
    [OTP_ORIGIN_HOST] = "host.name",
    [OTP_ORIGIN_SCOPE_NAME] = "otel.scope.name",
    [OTP_ORIGIN_SCOPE_VERSION] = "otel.scope.version",
};

/* ---- writing ---- */

/* Bytes that end a value, or that a person would not see. */
static bool is_escaped(unsigned char c)
{
    return c <= ' ' || c == 0x7f || c == '%' || c == ',';
}

static void add_value(struct otp_text value, struct otp_buf *out)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.data[i];
        if (is_escaped(c)) {
            char hex[2];
            otp_fmt_hex_bytes(hex, &c, 1);
            (void)otp_buf_add_byte(out, '%'); /* errors stay in the buffer */
            (void)otp_buf_add(out, hex, sizeof(hex));
        } else {
            (void)otp_buf_add_byte(out, c);
        }
    }
}

bool otp_origin_write(const struct otp_origin *o, struct otp_buf *out)
{
    const char *before = prefix;
    for (size_t i = 0; i < OTP_ORIGIN_FIELDS; i++) {
        if (o->field[i].len > 0) {
            (void)otp_buf_add_str(out, before); /* errors stay in the buffer */
            (void)otp_buf_add_str(out, otp_origin_keys[i]);
            (void)otp_buf_add_byte(out, '=');
            add_value(o->field[i], out);
            before = ",";
        }
    }
    return otp_buf_ok(out);
}

/* ---- reading ---- */

bool otp_origin_is_line(struct otp_text comment)
{
    return comment.len >= sizeof(prefix) - 1 &&
           memcmp(comment.data, prefix, sizeof(prefix) - 1) == 0;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Puts the bytes of a value at to; how many, or 0 when it is not as we write it. */
static size_t take_value(struct otp_text value, char *to)
{
    size_t len = 0;
    for (size_t i = 0; i < value.len; i++) {
        char c = value.data[i];
        if (c == '%') {
            int high = value.len - i > 2 ? hex_digit(value.data[i + 1]) : -1;
            int low = high < 0 ? -1 : hex_digit(value.data[i + 2]);
            if (low < 0 || !is_escaped((unsigned char)(high << 4 | low))) {
                return 0;
            }
            c = (char)(high << 4 | low);
            i += 2;
        } else if (is_escaped((unsigned char)c)) {
            return 0;
        }
        to[len++] = c;
    }
    return len;
}

/* Which field a part begins with, whose value is then *out_value. */
static size_t field_of(struct otp_text part, struct otp_text *out_value)
{
    for (size_t i = 0; i < OTP_ORIGIN_FIELDS; i++) {
        size_t len = strlen(otp_origin_keys[i]);
        if (part.len > len && part.data[len] == '=' &&
            memcmp(part.data, otp_origin_keys[i], len) == 0) {
            *out_value = otp_text_make(part.data + len + 1, part.len - len - 1);
            return i;
        }
    }
    return OTP_ORIGIN_FIELDS;
}

static bool is_sound(const struct otp_origin *o)
{
    const struct otp_text *pid = &o->field[OTP_ORIGIN_PID];
    uint64_t number;
    return otp_origin_is_known(o) &&
           (pid->len == 0 ||
            (otp_fmt_parse_u64(pid->data, pid->len, &number) && number <= INT64_MAX));
}

bool otp_origin_read(struct otp_text line, char *room, struct otp_origin *out)
{
    memset(out, 0, sizeof(*out));
    if (!otp_origin_is_line(line)) {
        return false;
    }
    size_t next = 0;
    for (size_t at = sizeof(prefix) - 1; at <= line.len;) {
        const char *comma = at == line.len ? NULL : memchr(line.data + at, ',', line.len - at);
        size_t end = comma == NULL ? line.len : (size_t)(comma - line.data);
        struct otp_text value = otp_text_of(NULL);
        size_t field = field_of(otp_text_make(line.data + at, end - at), &value);
        size_t len = field < next || field == OTP_ORIGIN_FIELDS ? 0 : take_value(value, room);
        if (len == 0) {
            return false;
        }
        out->field[field] = otp_text_make(room, len);
        room += len;
        next = field + 1;
        at = end + 1;
    }
    return is_sound(out);
}
