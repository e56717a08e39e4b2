/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the OTEP-0239 decoder share. For otep239*.c of this folder only. */
#ifndef OTP_DECODE_OTEP239_PARTS_H
#define OTP_DECODE_OTEP239_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/decode/emit.h"
#include "core/decode/model.h"
#include "core/decode/vec.h"
#include "core/decode/wire.h"

/* The tables of one profile, as fields. */
enum otp_otep_table {
    OTP_OTEP_TYPES,
    OTP_OTEP_SAMPLES,
    OTP_OTEP_MAPPINGS,
    OTP_OTEP_LOCATIONS,
    OTP_OTEP_FUNCTIONS,
    OTP_OTEP_STRINGS,
    OTP_OTEP_ATTRS,
    OTP_OTEP_UNITS,
    OTP_OTEP_LINKS,
    OTP_OTEP_CONTAINER_ATTRS,
    OTP_OTEP_TABLES
};

/* One message on its way to OTLP. All profiles share one dictionary there, written beside. */
struct otp_otep {
    struct otp_translation *t;
    struct otp_budget budget;
    const uint8_t *data;
    struct otp_emit dict;       /* content of the dictionary */
    uint32_t count[OTP_TABLES]; /* entries written of each table */

    /* The container that is being read. */
    struct otp_vec table[OTP_OTEP_TABLES]; /* struct otp_field */
    struct otp_vec location_indices;       /* uint64_t */
    struct otp_vec comments;               /* uint64_t */
    struct otp_field profile_id;           /* of the first type; len 0: none */
    struct otp_field other_ids;            /* ArrayValue: of the others; len 0: none */
    struct otp_field format;
    struct otp_field payload;
    struct otp_field period_type;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t time_ns;
    uint64_t duration_ns;
    uint64_t period;
    uint64_t dropped;
    uint64_t drop_frames;
    uint64_t keep_frames;
    uint64_t default_type;
    /* Where its tables begin in the dictionary. */
    uint32_t string_base;
    uint32_t mapping_base;
    uint32_t location_base;
    uint32_t function_base;
    uint32_t attr_base;
    uint32_t link_base;
    /* Working space. */
    struct otp_vec numbers; /* uint64_t */
    struct otp_vec values;  /* uint64_t */
    struct otp_vec times;   /* uint64_t */
    struct otp_vec attrs;   /* uint64_t: the list that is being made */
};

/* Keeps the first fault; always false. */
bool otp_otep_fail(struct otp_otep *o, const uint8_t *at, const char *reason);
bool otp_otep_no_room(struct otp_otep *o);
struct otp_wire otp_otep_inside(struct otp_otep *o, const struct otp_field *f);
/* The number in a field, 0 when it is of another wire type. */
uint64_t otp_otep_number(const struct otp_field *f);
/* Adds the numbers of a repeated field, packed or not. */
bool otp_otep_numbers(struct otp_otep *o, const struct otp_field *f, struct otp_vec *to);
/* Entries of one of the container's tables, and one of them. */
uint32_t otp_otep_count(const struct otp_otep *o, enum otp_otep_table table);
const struct otp_field *otp_otep_entry(const struct otp_otep *o, enum otp_otep_table table,
                                       uint32_t i);
/* The dictionary's number of the container's string i; false: it is not there. */
bool otp_otep_string(struct otp_otep *o, const uint8_t *at, uint64_t i, uint32_t *out);
/* A string of its own in the dictionary. */
uint32_t otp_otep_add_string(struct otp_otep *o, const void *text, size_t len);

/* A new attribute of the dictionary: what follows up to otp_otep_end_attr is its AnyValue. */
struct otp_otep_attr {
    size_t entry;
    size_t value;
};
struct otp_otep_attr otp_otep_begin_attr(struct otp_otep *o, uint32_t key);
/* Ends it, adds it to o->attrs. */
bool otp_otep_end_attr(struct otp_otep *o, struct otp_otep_attr a, uint32_t unit);
bool otp_otep_add_text(struct otp_otep *o, const char *key, uint32_t string);
bool otp_otep_add_flag(struct otp_otep *o, const char *key);
/* Adds the attributes of a list of places in the container's table to o->attrs. */
bool otp_otep_add_places(struct otp_otep *o, const struct otp_field *f);
/* Writes o->attrs as a packed field and empties it. */
void otp_otep_put_attrs(struct otp_otep *o, struct otp_emit *to, uint32_t field);

/* The id of a type of the container; len 0: it has none. */
struct otp_text otp_otep_id(struct otp_otep *o, uint32_t type);
/* Writes the container's tables to the dictionary. */
bool otp_otep_put_tables(struct otp_otep *o);
/* Writes one OTLP profile for each type of the container. */
bool otp_otep_put_profiles(struct otp_otep *o);

#endif
