/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the OTLP decoder share. For otlp*.c of this folder only. */
#ifndef OTP_DECODE_OTLP_PARTS_H
#define OTP_DECODE_OTLP_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/decode/model.h"
#include "core/decode/rows.h"
#include "core/decode/wire.h"

/* Values inside values (arrays, key-value lists) that are followed. */
#define OTP_VALUE_DEPTH 64

/* Lists that are remembered, so that equal ones need not be stored again. A power of two. */
#define OTP_DECODER_LISTS 4096U

struct otp_decoder {
    struct otp_profiles *m;
    struct otp_wire_fault fault;
    struct otp_place place; /* where the decoder is, for notes */
    bool with_notes;
    bool is_consumed;             /* bytes of samples are given back */
    struct otp_vec attrs;         /* int32_t: the list that is being read */
    struct otp_vec profile_attrs; /* int32_t: that of the profile around it */
    struct otp_vec values;        /* int64_t */
    struct otp_vec timestamps;    /* int64_t */
    uint32_t last_list;           /* the newest one in m->lists */
    uint32_t *lists;              /* OTP_DECODER_LISTS of m->lists by hash, met last; 0: none */
};

/* Names for the check of a field's wire type; all others are the numbers of the encoding. */
#define OTP_EXPECT(d, f, wire_type) ((f)->type == (wire_type) || otp_decoder_other_type((d), (f)))

/* Notes that a known field came with another wire type and is ignored, as protobuf asks; false. */
bool otp_decoder_other_type(struct otp_decoder *d, const struct otp_field *f);
/* Notes a field that no version knows; true, so that decoding goes on. */
bool otp_decoder_unknown(struct otp_decoder *d, const struct otp_field *f);
/* Gives up because memory or a limit has run out; false. */
bool otp_decoder_no_room(struct otp_decoder *d, const struct otp_field *f);
/* The content of a field as a piece of the message. */
struct otp_piece otp_decoder_piece(const struct otp_decoder *d, const struct otp_field *f);
/* The same for text, which has to be UTF-8 (else a note). */
struct otp_piece otp_decoder_string(struct otp_decoder *d, const struct otp_field *f);
/* Stores the text of field f, unless f has another wire type. */
void otp_decoder_string_field(struct otp_decoder *d, const struct otp_field *f,
                              struct otp_piece *to);
/* Adds the numbers of a repeated field, packed or not, to v of 4-byte or 8-byte items; false:
 * fault. */
bool otp_decoder_varints(struct otp_decoder *d, const struct otp_field *f, struct otp_vec *v);
/* The same for numbers of fixed size, 8 bytes each. */
bool otp_decoder_fixed64s(struct otp_decoder *d, const struct otp_field *f, struct otp_vec *v);
/* Stores d->attrs as a list of m->lists and empties it; false when there is no room. */
bool otp_decoder_take_list(struct otp_decoder *d, const struct otp_field *f, uint32_t *out_list);
/* The list of these items, stored unless an equal one was stored lately; false: no room. */
bool otp_decoder_list(struct otp_decoder *d, const int32_t *items, uint32_t count,
                      uint32_t *out_list);

/* Where a list is remembered: the hash begins as the count, and takes in one item after the other.
 */
static inline uint32_t otp_decoder_hash(uint32_t hash, int32_t item)
{
    return (hash ^ (uint32_t)item) * 0x9e3779b1U;
}
static inline uint32_t *otp_decoder_place(const struct otp_decoder *d, uint32_t hash)
{
    return &d->lists[hash >> 15 & (OTP_DECODER_LISTS - 1)];
}
/* The list of one item, when it was stored lately. */
static inline bool otp_decoder_known_list(struct otp_decoder *d, int32_t item, uint32_t *out_list)
{
    uint32_t known = *otp_decoder_place(d, otp_decoder_hash(1, item));
    const int32_t *its = (const int32_t *)d->m->lists.items + known;
    if (known == 0 || its[0] != 1 || its[1] != item) {
        return false;
    }
    d->last_list = known;
    *out_list = known;
    return true;
}

/* One entry of an array: the repeated message in field f. False at a fault. */
bool otp_decode_dictionary(struct otp_decoder *d, struct otp_wire w);
bool otp_decode_value(struct otp_decoder *d, struct otp_wire w, struct otp_value *out_value);
bool otp_decode_keyvalue(struct otp_decoder *d, struct otp_wire w);
/* The samples of all profiles, from beside the message. */
bool otp_decode_rows(struct otp_decoder *d, struct otp_rows *rows);
bool otp_decode_profile(struct otp_decoder *d, struct otp_wire w, const struct otp_field *at);

/* The number of a field that holds an int32, cut to 32 bits as protobuf asks. */
static inline int32_t otp_field_i32(const struct otp_field *f)
{
    return (int32_t)(uint32_t)f->value;
}

#endif
