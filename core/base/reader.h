/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded reader over bytes that somebody else wrote. The first read past the end sets a sticky
 * error; reads after that give zero, so that a parser runs into its own end harmlessly and checks
 * once.
 */
#ifndef OTP_BASE_READER_H
#define OTP_BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct otp_reader {
    const unsigned char *data;
    uint64_t len;
    uint64_t pos;
    bool failed;
};

/* A reader over len bytes at data (borrowed). Context: any. */
void otp_reader_init(struct otp_reader *r, const void *data, uint64_t len);
/* A reader over the part [off, off + len) of r's data; failed at once when that is not inside. */
struct otp_reader otp_reader_part(const struct otp_reader *r, uint64_t off, uint64_t len);
/* Moves to an absolute offset. */
void otp_reader_seek(struct otp_reader *r, uint64_t off);
/* Bytes left. */
uint64_t otp_reader_left(const struct otp_reader *r);
/* len bytes at the position, borrowed, and moves behind them; NULL when not all are there. */
const void *otp_reader_bytes(struct otp_reader *r, uint64_t len);
/* Little-endian numbers; 0 past the end. */
uint8_t otp_reader_u8(struct otp_reader *r);
uint16_t otp_reader_u16_le(struct otp_reader *r);
uint32_t otp_reader_u32_le(struct otp_reader *r);
uint64_t otp_reader_u64_le(struct otp_reader *r);
uint32_t otp_reader_u32_be(struct otp_reader *r);
/* A NUL-terminated string at offset off of the whole data, NULL when off or its NUL is outside. */
const char *otp_reader_string_at(const struct otp_reader *r, uint64_t off, size_t *out_len);

#endif
