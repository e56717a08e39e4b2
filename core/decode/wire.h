/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict, bounded reading of the protobuf wire format. A cursor walks the fields of one message;
 * nested messages get a cursor of their own over the same bytes. The first fault is kept with its
 * place; the cursor that met it stands still, and its caller passes the failure up.
 */
#ifndef OTP_DECODE_WIRE_H
#define OTP_DECODE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/annot.h"

/* Wire types, as numbered by the protobuf encoding. */
enum otp_wire_type {
    OTP_WIRE_VARINT = 0,
    OTP_WIRE_I64 = 1,
    OTP_WIRE_LEN = 2,
    OTP_WIRE_GROUP = 3, /* skipped as a whole; carries no value */
    OTP_WIRE_GROUP_END = 4,
    OTP_WIRE_I32 = 5
};

/* Groups inside groups that are skipped; protobuf has none of them since version 3. */
#define OTP_WIRE_GROUP_DEPTH 16

/* What went wrong first, and where. */
struct otp_wire_fault {
    const char *reason; /* NULL: nothing */
    const uint8_t *at;
};

struct otp_wire {
    const uint8_t *pos;
    const uint8_t *end;
    struct otp_wire_fault *fault;
};

struct otp_field {
    uint32_t number;
    enum otp_wire_type type;
    const uint8_t *at;   /* its tag */
    const uint8_t *data; /* OTP_WIRE_LEN: the content, borrowed */
    uint64_t len;        /* OTP_WIRE_LEN: bytes of it */
    uint64_t value;      /* the number otherwise */
};

/* A cursor over len bytes (borrowed) that reports to fault. Context: any. */
void otp_wire_init(struct otp_wire *w, const void *data, size_t len, struct otp_wire_fault *fault);
/* A cursor over the content of a field of type OTP_WIRE_LEN. */
struct otp_wire otp_wire_nested(const struct otp_wire *w, const struct otp_field *f);
/* A cursor over the content of a field, empty when that is none of type OTP_WIRE_LEN. */
struct otp_wire otp_wire_inside(const struct otp_field *f, struct otp_wire_fault *fault);
/* Keeps the first fault; always false. */
bool otp_wire_fail(struct otp_wire *w, const uint8_t *at, const char *reason);
/* Reads one field; false at the end of the message or at a fault. */
bool otp_wire_next(struct otp_wire *w, struct otp_field *out_field);
/* The general case of otp_wire_varint. */
bool otp_wire_varint_slow(struct otp_wire *w, uint64_t *out_value);
/* Reads 8 bytes, little-endian; false when they are not all there. */
bool otp_wire_fixed64(struct otp_wire *w, uint64_t *out_value);
/* Number of varints in len bytes at data: of bytes without the continuation bit. */
uint64_t otp_wire_count_varints(const uint8_t *data, uint64_t len);
/* True while nothing has gone wrong. */
static inline bool otp_wire_ok(const struct otp_wire *w)
{
    return w->fault->reason == NULL;
}

/* Reads one varint of at most 10 bytes; false at the end or at a fault. */
OTP_INLINE bool otp_wire_varint(struct otp_wire *w, uint64_t *out_value)
{
    const uint8_t *p = w->pos;

    if (OTP_LIKELY(w->end - p >= 3)) {
        if (p[0] < 0x80) {
            *out_value = p[0];
            w->pos = p + 1;
            return true;
        }
        if (p[1] < 0x80) {
            *out_value = (p[0] & 0x7fU) | (uint32_t)p[1] << 7;
            w->pos = p + 2;
            return true;
        }
        if (p[2] < 0x80) {
            *out_value = (p[0] & 0x7fU) | (p[1] & 0x7fU) << 7 | (uint32_t)p[2] << 14;
            w->pos = p + 3;
            return true;
        }
    }
    return otp_wire_varint_slow(w, out_value);
}

#endif
