/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/pack.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static size_t put_varint(unsigned char *out, uint64_t v)
{
    return (size_t)(otp_pack_put(out, v) - out);
}

void otp_pack_varint(struct otp_buf *b, uint64_t v)
{
    unsigned char *to = otp_buf_reserve(b, OTP_PACK_VARINT_MAX);
    if (to != NULL) {
        b->len += put_varint(to, v);
    }
}

static void put_tag(struct otp_buf *b, uint32_t field, uint32_t type)
{
    otp_pack_varint(b, (uint64_t)field << 3 | type);
}

void otp_pack_uint(struct otp_buf *b, uint32_t field, uint64_t v)
{
    put_tag(b, field, WIRE_VARINT);
    otp_pack_varint(b, v);
}

void otp_pack_fixed64(struct otp_buf *b, uint32_t field, uint64_t v)
{
    unsigned char le[8];
    for (unsigned i = 0; i < 8; i++) {
        le[i] = (unsigned char)(v >> (8 * i));
    }
    put_tag(b, field, WIRE_FIXED64);
    otp_buf_add(b, le, sizeof(le));
}

void otp_pack_bytes(struct otp_buf *b, uint32_t field, const void *data, size_t len)
{
    put_tag(b, field, WIRE_BYTES);
    otp_pack_varint(b, len);
    otp_buf_add(b, data, len);
}

static void pack(struct otp_buf *b, const ProtobufCMessage *m, size_t len)
{
    unsigned char *to = otp_buf_reserve(b, len);
    if (to != NULL) {
        b->len += protobuf_c_message_pack(m, to);
    }
}

void otp_pack_message(struct otp_buf *b, uint32_t field, const ProtobufCMessage *m)
{
    size_t len = protobuf_c_message_get_packed_size(m);
    put_tag(b, field, WIRE_BYTES);
    otp_pack_varint(b, len);
    pack(b, m, len);
}

void otp_pack_fields(struct otp_buf *b, const ProtobufCMessage *m)
{
    pack(b, m, protobuf_c_message_get_packed_size(m));
}

size_t otp_pack_open(struct otp_buf *b, uint32_t field)
{
    put_tag(b, field, WIRE_BYTES);
    otp_buf_add_byte(b, 0);
    return b->len;
}

void otp_pack_close(struct otp_buf *b, size_t mark)
{
    unsigned char prefix[OTP_PACK_VARINT_MAX];
    size_t len = b->len - mark;
    size_t n = put_varint(prefix, len);
    if (b->failed || otp_buf_reserve(b, n - 1) == NULL) {
        return;
    }
    if (n > 1) {
        memmove(b->data + mark + n - 1, b->data + mark, len);
        b->len += n - 1;
    }
    memcpy(b->data + mark - 1, prefix, n);
}
