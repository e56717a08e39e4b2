/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The comment that tells the process. Other programs that add profiles up keep the comments of all:
 * where several processes are told, the profile is of none of them.
 */
#include <string.h>

#include "core/base/fmt.h"
#include "core/decode/pprof_parts.h"

enum {
    RESOURCE_ATTRIBUTES = 1,
    SCOPE_NAME = 1,
    SCOPE_VERSION = 2,
    KEY_VALUE_KEY = 1,
    KEY_VALUE_VALUE = 2,
    ANY_STRING = 1,
    ANY_INT = 3
};

static struct otp_text text_of(const struct otp_pprof *p, int64_t string)
{
    const struct otp_field *f = otp_vec_at(&p->strings, (uint32_t)string);
    return otp_text_make((const char *)f->data, f->len);
}

bool otp_pprof_read_origin(struct otp_pprof *p)
{
    const int64_t *comments = p->comments.items;
    struct otp_text line = otp_text_of(NULL);
    for (uint32_t i = 0; i < p->comments.count; i++) {
        struct otp_text text = comments[i] == 0 ? otp_text_of(NULL) : text_of(p, comments[i]);
        if (!otp_origin_is_line(text)) {
            continue;
        }
        if (line.len > 0 && (line.len != text.len || memcmp(line.data, text.data, line.len) != 0)) {
            return true; /* several processes */
        }
        line = text;
    }
    if (line.len == 0) {
        return true;
    }
    char *room = otp_heap_alloc(&p->heap, line.len);
    if (room == NULL) {
        return otp_pprof_no_room(p);
    }
    p->has_origin = otp_origin_read(line, room, &p->origin);
    return true;
}

bool otp_pprof_is_origin(const struct otp_pprof *p, int64_t comment)
{
    return p->has_origin && comment != 0 && otp_origin_is_line(text_of(p, comment));
}

void otp_pprof_put_resource(const struct otp_pprof *p, struct otp_emit *out)
{
    for (size_t i = 0; i <= OTP_ORIGIN_HOST && p->has_origin; i++) {
        struct otp_text value = p->origin.field[i];
        uint64_t number = 0;
        if (value.len == 0) {
            continue;
        }
        size_t kv = otp_emit_open(out, RESOURCE_ATTRIBUTES);
        otp_emit_text(out, KEY_VALUE_KEY, otp_origin_keys[i]);
        size_t any = otp_emit_open(out, KEY_VALUE_VALUE);
        if (i == OTP_ORIGIN_PID && otp_fmt_parse_u64(value.data, value.len, &number)) {
            otp_emit_uint(out, ANY_INT, number);
        } else {
            otp_emit_bytes(out, ANY_STRING, value.data, value.len);
        }
        otp_emit_close(out, any);
        otp_emit_close(out, kv);
    }
}

void otp_pprof_put_scope(const struct otp_pprof *p, struct otp_emit *out)
{
    static const struct {
        enum otp_origin_field field;
        uint32_t number;
    } parts[] = {{OTP_ORIGIN_SCOPE_NAME, SCOPE_NAME}, {OTP_ORIGIN_SCOPE_VERSION, SCOPE_VERSION}};
    for (size_t i = 0; i < OTP_ARRAY_LEN(parts) && p->has_origin; i++) {
        struct otp_text value = p->origin.field[parts[i].field];
        if (value.len > 0) {
            otp_emit_bytes(out, parts[i].number, value.data, value.len);
        }
    }
}
