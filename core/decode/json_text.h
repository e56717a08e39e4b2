/* SPDX-License-Identifier: Apache-2.0 */
/* The words of JSON: white space, strings, numbers. For json*.c of this folder only. */
#ifndef OTP_DECODE_JSON_TEXT_H
#define OTP_DECODE_JSON_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/text.h"
#include "core/decode/emit.h"

struct otp_json {
    const uint8_t *pos;
    const uint8_t *end;
    struct otp_wire_fault fault;
    struct otp_emit text; /* the last string, unescaped */
};

/* Keeps the first fault; always false. */
bool otp_json_fail(struct otp_json *j, const uint8_t *at, const char *reason);
/* Passes white space over; the next byte, 0 at the end. */
uint8_t otp_json_peek(struct otp_json *j);
/* Passes one byte over, which must be c. */
bool otp_json_expect(struct otp_json *j, char c, const char *reason);
/* Reads a string into j->text. */
bool otp_json_string(struct otp_json *j);
/* Reads true, false or null; which one in *out ('t', 'f', 'n'). */
bool otp_json_word(struct otp_json *j, char *out);
/* Finds the end of a number; its characters in *out. */
bool otp_json_number(struct otp_json *j, struct otp_text *out);
/*
 * Reads a whole number, written as a number or as a string; "1e3" and "2.0" are whole. False also
 * when it does not fit into 64 bits, signed or not.
 */
bool otp_json_integer(struct otp_json *j, bool is_signed, uint64_t *out);
/* Reads a number, or one as a string, or "NaN", "Infinity", "-Infinity". */
bool otp_json_double(struct otp_json *j, double *out);
/* Reads a string of base64, either alphabet, padded or not, and writes its bytes as a field. */
bool otp_json_base64(struct otp_json *j, uint32_t field, struct otp_emit *out);
/* The same for hex digits; a string of another kind is read as base64. */
bool otp_json_id(struct otp_json *j, uint32_t field, struct otp_emit *out);

#endif
