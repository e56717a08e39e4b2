/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source of the layout: the protobuf encoding guide (tags, varints, length-delimited records).
 * I1 pos <= end always; nothing at or behind end is read.
 */
#include "core/decode/wire.h"

#include <string.h>

#define VARINT_BYTES_MAX 10
#define FIELD_NUMBER_MAX ((1U << 29) - 1)

void otp_wire_init(struct otp_wire *w, const void *data, size_t len, struct otp_wire_fault *fault)
{
    w->pos = data;
    w->end = len == 0 ? w->pos : w->pos + len;
    w->fault = fault;
}

struct otp_wire otp_wire_nested(const struct otp_wire *w, const struct otp_field *f)
{
    struct otp_wire nested = {.pos = f->data, .end = f->data + f->len, .fault = w->fault};
    return nested;
}

struct otp_wire otp_wire_inside(const struct otp_field *f, struct otp_wire_fault *fault)
{
    struct otp_wire w = {.pos = f->at, .end = f->at, .fault = fault};

    if (f->type == OTP_WIRE_LEN) {
        otp_wire_init(&w, f->data, f->len, fault);
    }
    return w;
}

OTP_COLD bool otp_wire_fail(struct otp_wire *w, const uint8_t *at, const char *reason)
{
    if (w->fault->reason == NULL) {
        w->fault->reason = reason;
        w->fault->at = at;
    }
    w->pos = w->end;
    return false;
}

bool otp_wire_varint_slow(struct otp_wire *w, uint64_t *out_value)
{
    const uint8_t *p = w->pos;
    uint64_t value = 0;

    for (unsigned i = 0; i < VARINT_BYTES_MAX; i++) {
        if (p + i == w->end) {
            return otp_wire_fail(w, p, "a number is cut off");
        }
        value |= (uint64_t)(p[i] & 0x7fU) << (7 * i);
        if (p[i] < 0x80) {
            if (i == VARINT_BYTES_MAX - 1 && p[i] > 1) {
                break;
            }
            w->pos = p + i + 1;
            *out_value = value;
            return true;
        }
    }
    return otp_wire_fail(w, p, "a number has more than 64 bits");
}

static bool fixed(struct otp_wire *w, unsigned size, uint64_t *out_value)
{
    uint64_t value = 0;

    if ((size_t)(w->end - w->pos) < size) {
        return otp_wire_fail(w, w->pos, "a fixed-size number is cut off");
    }
    memcpy(&value, w->pos, size); /* this machine stores numbers as the wire does */
    w->pos += size;
    *out_value = value;
    return true;
}

bool otp_wire_fixed64(struct otp_wire *w, uint64_t *out_value)
{
    return fixed(w, 8, out_value);
}

OTP_INLINE bool read_tag(struct otp_wire *w, struct otp_field *f)
{
    uint64_t tag;

    f->at = w->pos;
    if (!otp_wire_varint(w, &tag)) {
        return false;
    }
    if (tag >> 3 == 0 || tag >> 3 > FIELD_NUMBER_MAX) {
        return otp_wire_fail(w, f->at, "a field number is not valid");
    }
    f->number = (uint32_t)(tag >> 3);
    if ((tag & 7U) > OTP_WIRE_I32) {
        return otp_wire_fail(w, f->at, "a wire type is not valid");
    }
    f->type = (enum otp_wire_type)(tag & 7U);
    return true;
}

OTP_INLINE bool read_payload(struct otp_wire *w, struct otp_field *f)
{
    switch (f->type) {
    case OTP_WIRE_VARINT:
        return otp_wire_varint(w, &f->value);
    case OTP_WIRE_I64:
        return fixed(w, 8, &f->value);
    case OTP_WIRE_I32:
        return fixed(w, 4, &f->value);
    case OTP_WIRE_LEN:
        if (!otp_wire_varint(w, &f->len)) {
            return false;
        }
        if (f->len > (uint64_t)(w->end - w->pos)) {
            return otp_wire_fail(w, f->at, "a field is longer than the message it is in");
        }
        f->data = w->pos;
        w->pos += f->len;
        return true;
    case OTP_WIRE_GROUP:
    case OTP_WIRE_GROUP_END:
    default:
        return true;
    }
}

/* Reads on to the end tag that belongs to the group whose start tag was just read. */
static bool skip_group(struct otp_wire *w, const struct otp_field *start)
{
    uint32_t open[OTP_WIRE_GROUP_DEPTH];
    unsigned depth = 0;
    struct otp_field f;

    open[depth++] = start->number;
    while (depth > 0) {
        if (w->pos == w->end) {
            return otp_wire_fail(w, start->at, "a group has no end");
        }
        if (!read_tag(w, &f) || !read_payload(w, &f)) {
            return false;
        }
        if (f.type == OTP_WIRE_GROUP) {
            if (depth == OTP_WIRE_GROUP_DEPTH) {
                return otp_wire_fail(w, f.at, "groups are nested too deep");
            }
            open[depth++] = f.number;
        } else if (f.type == OTP_WIRE_GROUP_END) {
            depth--;
            if (open[depth] != f.number) {
                return otp_wire_fail(w, f.at, "the end of a group does not match its start");
            }
        }
    }
    return true;
}

bool otp_wire_next(struct otp_wire *w, struct otp_field *out_field)
{
    if (w->pos == w->end) {
        return false;
    }
    if (!read_tag(w, out_field) || !read_payload(w, out_field)) {
        return false;
    }
    if (OTP_UNLIKELY(out_field->type == OTP_WIRE_GROUP)) {
        return skip_group(w, out_field);
    }
    if (OTP_UNLIKELY(out_field->type == OTP_WIRE_GROUP_END)) {
        return otp_wire_fail(w, out_field->at, "a group ends that was not begun");
    }
    return true;
}

uint64_t otp_wire_count_varints(const uint8_t *data, uint64_t len)
{
    uint64_t count = 0;
    uint64_t i = 0;

    for (; len - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, data + i, sizeof(word));
        /* The top bit of each byte, added up in the topmost byte. */
        count += ((~word >> 7) & 0x0101010101010101U) * 0x0101010101010101U >> 56;
    }
    for (; i < len; i++) {
        count += data[i] < 0x80;
    }
    return count;
}
