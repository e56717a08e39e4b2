/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes protobuf for decoders of other formats: what they read becomes the bytes of an OTLP
 * message, which the OTLP decoder then reads like any other. Errors are sticky; memory is libc's.
 */
#ifndef OTP_DECODE_EMIT_H
#define OTP_DECODE_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/decode/model.h"
#include "core/decode/rows.h"
#include "core/decode/wire.h"

struct otp_emit {
    uint8_t *data;
    size_t len;
    size_t capacity;
    size_t max;
    bool failed; /* no memory, or past max */
};

/* One message of another format on its way to OTLP. */
struct otp_translation {
    uint64_t budget_bytes;
    struct otp_rows *rows; /* NULL: all samples are in the message; or where they may be instead */
    bool is_consumed;      /* nobody wants the input again: what was read of it may be given back */
    struct otp_emit out;
    struct otp_lost lost;
    struct otp_wire_fault fault;
    size_t used; /* bytes of the input that the message took */
};

#define OTP_EMIT_VARINT_MAX 10U
/* Writes a varint at to, where there are OTP_EMIT_VARINT_MAX bytes; what follows it is returned. */
static inline uint8_t *otp_emit_put(uint8_t *to, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) {
        *to++ = (uint8_t)(v | 0x80);
    }
    *to++ = (uint8_t)v;
    return to;
}

/* An empty message of at most max bytes. Context: any. */
void otp_emit_init(struct otp_emit *e, size_t max);
/* Frees the bytes. */
void otp_emit_fini(struct otp_emit *e);
/* Room for len more bytes behind e->len, or NULL. */
uint8_t *otp_emit_reserve(struct otp_emit *e, size_t len);
/* Bytes as they are; a number as varint. */
void otp_emit_raw(struct otp_emit *e, const void *data, size_t len);
void otp_emit_varint(struct otp_emit *e, uint64_t v);
/* Fields; all are written even when they are zero or empty. */
void otp_emit_uint(struct otp_emit *e, uint32_t field, uint64_t v);
void otp_emit_fixed64(struct otp_emit *e, uint32_t field, uint64_t v);
void otp_emit_bytes(struct otp_emit *e, uint32_t field, const void *data, size_t len);
void otp_emit_text(struct otp_emit *e, uint32_t field, const char *text);
/* A number field, unless it is zero. */
void otp_emit_number(struct otp_emit *e, uint32_t field, uint64_t v);
/* Starts a field whose content is what is written up to otp_emit_close(); nested ones close first.
 */
size_t otp_emit_open(struct otp_emit *e, uint32_t field);
void otp_emit_close(struct otp_emit *e, size_t mark);

#endif
