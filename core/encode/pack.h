/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few pieces of the protobuf wire that are written by hand: messages too large to be put
 * together before they are packed (their parts are packed one by one, behind an opened field), and
 * attribute values, whose bytes are also what makes two of them equal. All the rest goes through
 * the generated code with otp_pack_message().
 *
 * Errors are the buffer's sticky one. Source of the layout: the encoding page of Protocol Buffers.
 */
#ifndef OTP_ENCODE_PACK_H
#define OTP_ENCODE_PACK_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "core/base/buf.h"

#define OTP_PACK_VARINT_MAX 10

/* Writes v as a varint, at most OTP_PACK_VARINT_MAX bytes; the place behind it. Context: any. */
static inline unsigned char *otp_pack_put(unsigned char *to, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) {
        *to++ = (unsigned char)(v | 0x80);
    }
    *to++ = (unsigned char)v;
    return to;
}
/* Appends v as a varint. Context: worker. */
void otp_pack_varint(struct otp_buf *b, uint64_t v);
/* A varint field; written even when v is 0. */
void otp_pack_uint(struct otp_buf *b, uint32_t field, uint64_t v);
/* A fixed64 or double field (its bits); written even when v is 0. */
void otp_pack_fixed64(struct otp_buf *b, uint32_t field, uint64_t v);
/* A string, bytes or packed message field; written even when len is 0. */
void otp_pack_bytes(struct otp_buf *b, uint32_t field, const void *data, size_t len);
/* A message field, packed by the generated code; written even when it is empty. */
void otp_pack_message(struct otp_buf *b, uint32_t field, const ProtobufCMessage *m);
/* The fields of m without anything around them. */
void otp_pack_fields(struct otp_buf *b, const ProtobufCMessage *m);
/* Starts a field of unknown length; what is appended up to otp_pack_close() is its content. */
size_t otp_pack_open(struct otp_buf *b, uint32_t field);
/* Ends the field that otp_pack_open() gave mark for; nested ones first. */
void otp_pack_close(struct otp_buf *b, size_t mark);

#endif
