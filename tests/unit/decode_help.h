/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of core/decode share: a small writer of the protobuf encoding and sample messages.
 */
#ifndef OTP_UNIT_DECODE_HELP_H
#define OTP_UNIT_DECODE_HELP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/decode/input.h"
#include "core/decode/model.h"

/* Bytes under construction; ends the test program when there is no memory. */
struct dec_bytes {
    uint8_t *data;
    size_t len;
    size_t capacity;
};

void dec_free(struct dec_bytes *b);
void dec_raw(struct dec_bytes *b, const void *data, size_t len);
void dec_varint(struct dec_bytes *b, uint64_t v);
/* Fields: a number, 8 bytes, bytes, text, a nested message (freed), a packed list. */
void dec_number(struct dec_bytes *b, uint32_t field, uint64_t v);
void dec_fixed64(struct dec_bytes *b, uint32_t field, uint64_t v);
void dec_field(struct dec_bytes *b, uint32_t field, const void *data, size_t len);
void dec_text(struct dec_bytes *b, uint32_t field, const char *text);
void dec_message(struct dec_bytes *b, uint32_t field, struct dec_bytes *nested);
void dec_packed(struct dec_bytes *b, uint32_t field, const uint64_t *v, size_t count);

/* How dec_profile writes its samples. */
struct dec_shape {
    enum otp_wire_version version;
    bool with_attrs;
    bool with_link;
    bool with_values;
    bool with_times;
    bool unpacked; /* lists as single numbers */
    bool dictionary_last;
};

#define DEC_SAMPLES 3U
#define DEC_TIME 1700000000000000000U
#define DEC_DURATION 1000000000U

/*
 * A ProfilesData of one resource, scope and profile with DEC_SAMPLES samples: sample i has stack i
 * + 1, value 100 + i, timestamp DEC_TIME + i, attribute 1 and link 1, as far as the shape has them.
 */
struct dec_bytes dec_profile(const struct dec_shape *shape);

/* Adds a copy of bytes to set. */
enum otp_status dec_add(struct otp_profile_set *set, const void *data, size_t len, bool with_notes,
                        struct otp_input_fault *out_fault);

#endif
