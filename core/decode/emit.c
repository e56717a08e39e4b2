/* SPDX-License-Identifier: Apache-2.0 */
/* Source of the layout: the protobuf encoding guide. */
#include "core/decode/emit.h"

#include <stdlib.h>
#include <string.h>

#include "core/decode/wire.h"

#define LENGTH_ROOM 1U /* bytes kept for the length of an opened field; most are short */

void otp_emit_init(struct otp_emit *e, size_t max)
{
    memset(e, 0, sizeof(*e));
    e->max = max;
}

void otp_emit_fini(struct otp_emit *e)
{
    free(e->data);
    otp_emit_init(e, e->max);
}

uint8_t *otp_emit_reserve(struct otp_emit *e, size_t len)
{
    if (e->failed || len > e->max || e->len > e->max - len) {
        e->failed = true;
        return NULL;
    }
    if (e->capacity - e->len < len || e->data == NULL) {
        size_t capacity = e->capacity + e->capacity / 2;
        capacity = capacity < e->len + len ? e->len + len : capacity;
        capacity = capacity < 256 ? 256 : capacity;
        uint8_t *data = realloc(e->data, capacity);
        if (data == NULL) {
            e->failed = true;
            return NULL;
        }
        otp_prefer_huge(data, capacity);
        e->data = data;
        e->capacity = capacity;
    }
    return e->data + e->len;
}

void otp_emit_raw(struct otp_emit *e, const void *data, size_t len)
{
    uint8_t *to = otp_emit_reserve(e, len);
    if (to != NULL && len > 0) {
        memcpy(to, data, len);
        e->len += len;
    }
}

void otp_emit_varint(struct otp_emit *e, uint64_t v)
{
    uint8_t *to = otp_emit_reserve(e, OTP_EMIT_VARINT_MAX);
    if (to != NULL) {
        e->len += (size_t)(otp_emit_put(to, v) - to);
    }
}

static void put_tag(struct otp_emit *e, uint32_t field, enum otp_wire_type type)
{
    otp_emit_varint(e, (uint64_t)field << 3 | (uint64_t)type);
}

void otp_emit_uint(struct otp_emit *e, uint32_t field, uint64_t v)
{
    put_tag(e, field, OTP_WIRE_VARINT);
    otp_emit_varint(e, v);
}

void otp_emit_number(struct otp_emit *e, uint32_t field, uint64_t v)
{
    if (v != 0) {
        otp_emit_uint(e, field, v);
    }
}

void otp_emit_fixed64(struct otp_emit *e, uint32_t field, uint64_t v)
{
    uint8_t le[8];
    for (unsigned i = 0; i < sizeof(le); i++) {
        le[i] = (uint8_t)(v >> (8 * i));
    }
    put_tag(e, field, OTP_WIRE_I64);
    otp_emit_raw(e, le, sizeof(le));
}

void otp_emit_bytes(struct otp_emit *e, uint32_t field, const void *data, size_t len)
{
    put_tag(e, field, OTP_WIRE_LEN);
    otp_emit_varint(e, len);
    otp_emit_raw(e, data, len);
}

void otp_emit_text(struct otp_emit *e, uint32_t field, const char *text)
{
    otp_emit_bytes(e, field, text, strlen(text));
}

size_t otp_emit_open(struct otp_emit *e, uint32_t field)
{
    put_tag(e, field, OTP_WIRE_LEN);
    if (otp_emit_reserve(e, LENGTH_ROOM) != NULL) {
        e->len += LENGTH_ROOM;
    }
    return e->len;
}

void otp_emit_close(struct otp_emit *e, size_t mark)
{
    uint8_t length[OTP_EMIT_VARINT_MAX];
    if (e->failed) {
        return;
    }
    size_t len = e->len - mark;
    size_t n = (size_t)(otp_emit_put(length, len) - length);
    if (otp_emit_reserve(e, n - LENGTH_ROOM) == NULL) {
        return;
    }
    if (n > LENGTH_ROOM) {
        memmove(e->data + mark + n - LENGTH_ROOM, e->data + mark, len);
        e->len += n - LENGTH_ROOM;
    }
    memcpy(e->data + mark - LENGTH_ROOM, length, n);
}
