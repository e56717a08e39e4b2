/* SPDX-License-Identifier: Apache-2.0 */
/*
 * These wires are those of OTEP-0239 with other numbers, so each profile is written as a container
 * of that form, which its decoder then reads. Tables that all profiles share are written into each.
 * Sources: field numbers of opentelemetry-proto 1.4 to 1.7.
 *
 * A location's mapping may be unset there, which is not 0: an empty mapping comes first.
 */
#include "core/decode/old_otlp.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/decode/otep239.h"
#include "core/decode/vec.h"
#include "core/decode/wire.h"

/* Tables, by what they are. */
enum table { MAPPINGS, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRS, UNITS, TABLES };

/* Fields of a container and of the profile in it. */
enum { CONTAINER_ID = 1, CONTAINER_ATTRS = 4, CONTAINER_PROFILE = 8 };
enum { NEW_TYPES = 1, NEW_SAMPLES, NEW_MAPPINGS, NEW_INDICES = 15, NEW_DEFAULT_TYPE = 14 };

/* What a field of the old Profile becomes. */
enum part { PART_NONE, PART_PROFILE, PART_CONTAINER, PART_TABLE, PART_ATTRS, PART_TYPE_NUMBER };

struct becomes {
    enum part part;
    uint32_t number;
};

/* Profile of 1.4 and 1.5, with tables of its own. */
static const struct becomes own_tables[] = {
    [1] = {PART_PROFILE, NEW_TYPES},   [2] = {PART_PROFILE, NEW_SAMPLES},
    [3] = {PART_TABLE, MAPPINGS},      [4] = {PART_TABLE, LOCATIONS},
    [5] = {PART_PROFILE, NEW_INDICES}, [6] = {PART_TABLE, FUNCTIONS},
    [7] = {PART_TABLE, ATTRS},         [8] = {PART_TABLE, UNITS},
    [9] = {PART_TABLE, LINKS},         [10] = {PART_TABLE, STRINGS},
    [11] = {PART_PROFILE, 9},          [12] = {PART_PROFILE, 10},
    [13] = {PART_PROFILE, 11},         [14] = {PART_PROFILE, 12},
    [15] = {PART_PROFILE, 13},         [16] = {PART_PROFILE, 14},
    [17] = {PART_CONTAINER, 1},        [18] = {PART_CONTAINER, 4},
    [19] = {PART_CONTAINER, 5},        [20] = {PART_CONTAINER, 6},
    [21] = {PART_CONTAINER, 7},        [22] = {PART_ATTRS, 0}};

/* Profile of 1.6 and 1.7. */
static const struct becomes shared_tables[] = {
    [1] = {PART_PROFILE, NEW_TYPES},   [2] = {PART_PROFILE, NEW_SAMPLES},
    [3] = {PART_PROFILE, NEW_INDICES}, [4] = {PART_PROFILE, 9},
    [5] = {PART_PROFILE, 10},          [6] = {PART_PROFILE, 11},
    [7] = {PART_PROFILE, 12},          [8] = {PART_PROFILE, 13},
    [9] = {PART_TYPE_NUMBER, 0},       [10] = {PART_CONTAINER, 1},
    [11] = {PART_CONTAINER, 5},        [12] = {PART_CONTAINER, 6},
    [13] = {PART_CONTAINER, 7},        [14] = {PART_ATTRS, 0}};

/* Numbers of an entry's fields, old to new; 0: left out. */
static const uint8_t sample_numbers[] = {0, 7, 8, 2, 10, 12, 13};
static const uint8_t mapping_numbers[] = {0, 2, 3, 4, 5, 12, 7, 8, 9, 10};
static const uint8_t location_numbers[] = {0, 2, 3, 4, 5, 7};
static const uint8_t function_numbers[] = {0, 2, 3, 4, 5};

static const struct {
    uint32_t number;        /* of the table in the new profile */
    const uint8_t *numbers; /* of an entry's fields, NULL: they stay */
    size_t count;
} new_tables[TABLES] = {[MAPPINGS] = {3, mapping_numbers, OTP_ARRAY_LEN(mapping_numbers)},
                        [LOCATIONS] = {4, location_numbers, OTP_ARRAY_LEN(location_numbers)},
                        [FUNCTIONS] = {5, function_numbers, OTP_ARRAY_LEN(function_numbers)},
                        [LINKS] = {18, NULL, 0},
                        [STRINGS] = {6, NULL, 0},
                        [ATTRS] = {16, NULL, 0},
                        [UNITS] = {17, NULL, 0}};

struct old {
    struct otp_translation *t;
    struct otp_budget budget;
    struct otp_emit out;
    struct otp_vec shared[TABLES]; /* struct otp_field */
    struct otp_vec own[TABLES];
    bool is_shared;
};

static bool fail(struct old *o, const char *reason)
{
    if (o->t->fault.reason == NULL) {
        o->t->fault.reason = reason;
    }
    return false;
}

static bool no_room(struct old *o)
{
    return fail(o, "there is more in it than the memory limit allows");
}

static struct otp_wire inside(struct old *o, const struct otp_field *f)
{
    return otp_wire_inside(f, &o->t->fault);
}

static const struct otp_vec *table_of(const struct old *o, enum table table)
{
    return o->is_shared ? &o->shared[table] : &o->own[table];
}

/* ---- writing ---- */

/* A field under another number. */
static void copy_field(struct otp_emit *out, const struct otp_field *f, uint32_t number)
{
    if (f->type == OTP_WIRE_LEN) {
        otp_emit_bytes(out, number, f->data, f->len);
    } else if (f->type == OTP_WIRE_I64) {
        otp_emit_fixed64(out, number, f->value);
    } else if (f->type == OTP_WIRE_VARINT) {
        otp_emit_uint(out, number, f->value);
    }
}

/* A message whose fields have other numbers; a location's mapping is one further than it was. */
static bool copy_entry(struct old *o, const struct otp_field *entry, uint32_t number,
                       const uint8_t *numbers, size_t count)
{
    struct otp_wire w = inside(o, entry);
    struct otp_field f;
    size_t mark = otp_emit_open(&o->out, number);

    while (otp_wire_next(&w, &f)) {
        if (f.number >= count || numbers[f.number] == 0) {
            continue;
        }
        if (numbers == location_numbers && f.number == 1 && f.type == OTP_WIRE_VARINT) {
            f.value++;
        }
        copy_field(&o->out, &f, numbers[f.number]);
    }
    otp_emit_close(&o->out, mark);
    return otp_wire_ok(&w);
}

static bool put_table_entry(struct old *o, enum table t, const struct otp_field *entry)
{
    if (new_tables[t].numbers == NULL) {
        copy_field(&o->out, entry, new_tables[t].number);
        return true;
    }
    return copy_entry(o, entry, new_tables[t].number, new_tables[t].numbers, new_tables[t].count);
}

static bool put_tables(struct old *o)
{
    bool ok = true;

    otp_emit_bytes(&o->out, NEW_MAPPINGS, "", 0);
    for (int t = 0; t < TABLES; t++) {
        const struct otp_vec *table = table_of(o, (enum table)t);
        const struct otp_field *entries = table->items;
        for (uint32_t i = 0; i < table->count && ok; i++) {
            ok = put_table_entry(o, (enum table)t, &entries[i]);
        }
    }
    return ok;
}

static bool put_type_name(struct old *o, const struct otp_field *type)
{
    struct otp_wire w = inside(o, type);
    struct otp_field f;

    while (otp_wire_next(&w, &f)) {
        if (f.number == 1) {
            copy_field(&o->out, &f, NEW_DEFAULT_TYPE);
        }
    }
    return otp_wire_ok(&w);
}

/* The name of a sample type by its place, for the default type of 1.6 and 1.7. */
static bool put_default_type(struct old *o, const struct otp_field *profile, uint64_t place)
{
    struct otp_wire w = inside(o, profile);
    struct otp_field f;

    while (otp_wire_next(&w, &f)) {
        if (f.number == 1 && f.type == OTP_WIRE_LEN && place-- == 0) {
            return put_type_name(o, &f);
        }
    }
    return otp_wire_ok(&w);
}

/* The attributes behind a list of places, whole, as a container has them. */
static bool put_attrs(struct old *o, const struct otp_field *list)
{
    const struct otp_vec *attrs = table_of(o, ATTRS);
    struct otp_wire w = inside(o, list);
    uint64_t place = list->value;

    if (list->type != OTP_WIRE_LEN && list->type != OTP_WIRE_VARINT) {
        return fail(o, "a list of attributes has another wire type");
    }
    bool is_one = list->type == OTP_WIRE_VARINT;
    while (is_one || (w.pos < w.end && otp_wire_varint(&w, &place))) {
        if (place >= attrs->count) {
            return fail(o, "an attribute is not in the table");
        }
        copy_field(&o->out, otp_vec_at(attrs, place), CONTAINER_ATTRS);
        if (is_one) {
            return true;
        }
    }
    return otp_wire_ok(&w);
}

/* ---- profiles ---- */

static struct becomes becomes_of(const struct old *o, const struct otp_field *f)
{
    static const struct becomes nothing = {PART_NONE, 0};
    size_t count = o->is_shared ? OTP_ARRAY_LEN(shared_tables) : OTP_ARRAY_LEN(own_tables);
    return f->number >= count ? nothing
           : o->is_shared     ? shared_tables[f->number]
                              : own_tables[f->number];
}

/* Collects a profile's own tables and looks whether it has a sample type. */
static bool read_own(struct old *o, const struct otp_field *profile)
{
    struct otp_wire w = inside(o, profile);
    struct otp_field f;
    bool has_types = false;

    for (int t = 0; t < TABLES; t++) {
        o->own[t].count = 0;
    }
    while (otp_wire_next(&w, &f)) {
        struct becomes b = becomes_of(o, &f);
        has_types = has_types || (b.part == PART_PROFILE && b.number == NEW_TYPES);
        if (b.part == PART_TABLE && f.type == OTP_WIRE_LEN &&
            !otp_vec_append(&o->own[b.number], &f, 1)) {
            return no_room(o);
        }
    }
    return otp_wire_ok(&w) && (has_types || fail(o, "a profile has no sample type"));
}

static bool put_profile_fields(struct old *o, const struct otp_field *profile)
{
    struct otp_wire w = inside(o, profile);
    struct otp_field f;
    uint64_t type = 0; /* the last one that is said counts */
    bool ok = true;

    while (ok && otp_wire_next(&w, &f)) {
        struct becomes b = becomes_of(o, &f);
        if (b.part == PART_PROFILE && b.number == NEW_SAMPLES && f.type == OTP_WIRE_LEN) {
            ok = copy_entry(o, &f, NEW_SAMPLES, sample_numbers, OTP_ARRAY_LEN(sample_numbers));
        } else if (b.part == PART_PROFILE) {
            copy_field(&o->out, &f, b.number);
        } else if (b.part == PART_TYPE_NUMBER && f.type == OTP_WIRE_VARINT) {
            type = f.value;
        }
    }
    return ok && otp_wire_ok(&w) && (type == 0 || put_default_type(o, profile, type));
}

static bool put_container_fields(struct old *o, const struct otp_field *profile)
{
    struct otp_wire w = inside(o, profile);
    struct otp_field f;
    bool ok = true;

    while (ok && otp_wire_next(&w, &f)) {
        struct becomes b = becomes_of(o, &f);
        if (b.part == PART_CONTAINER) {
            copy_field(&o->out, &f, b.number);
        } else if (b.part == PART_ATTRS) {
            ok = put_attrs(o, &f);
        }
    }
    return ok && otp_wire_ok(&w);
}

static bool put_container(struct old *o, const struct otp_field *profile)
{
    if (!read_own(o, profile)) {
        return false;
    }
    size_t container = otp_emit_open(&o->out, 2);
    bool ok = put_container_fields(o, profile);
    size_t inner = otp_emit_open(&o->out, CONTAINER_PROFILE);
    ok = ok && put_tables(o) && put_profile_fields(o, profile);
    otp_emit_close(&o->out, inner);
    otp_emit_close(&o->out, container);
    return ok && !(o->out.failed && !no_room(o));
}

/* ---- around the profiles ---- */

/* Copies a message whose field 2 holds what put is for. */
static bool put_around(struct old *o, const struct otp_field *message, uint32_t number,
                       bool (*put)(struct old *o, const struct otp_field *f))
{
    struct otp_wire w = inside(o, message);
    struct otp_field f;
    size_t mark = otp_emit_open(&o->out, number);
    bool ok = true;

    while (ok && otp_wire_next(&w, &f)) {
        if (f.number == 2 && f.type == OTP_WIRE_LEN) {
            ok = put(o, &f);
        } else {
            copy_field(&o->out, &f, f.number);
        }
    }
    otp_emit_close(&o->out, mark);
    return ok && otp_wire_ok(&w);
}

static bool put_scope(struct old *o, const struct otp_field *scope)
{
    return put_around(o, scope, 2, put_container);
}

/* Tables beside the resources have numbers that are one higher than those in a dictionary. */
static bool read_shared(struct old *o, struct otp_wire w, uint32_t first)
{
    static const enum table order[] = {MAPPINGS, LOCATIONS, FUNCTIONS, LINKS,
                                       STRINGS,  ATTRS,     UNITS};
    struct otp_field f;

    while (otp_wire_next(&w, &f)) {
        if (f.type == OTP_WIRE_LEN && f.number >= first &&
            f.number < first + OTP_ARRAY_LEN(order) &&
            !otp_vec_append(&o->shared[order[f.number - first]], &f, 1)) {
            return no_room(o);
        }
    }
    return otp_wire_ok(&w);
}

enum layout { LAYOUT_OWN, LAYOUT_BESIDE, LAYOUT_DICTIONARY };

static enum layout layout_of(const uint8_t *data, size_t len, struct otp_field *out_dictionary)
{
    struct otp_wire_fault ignored = {.reason = NULL};
    struct otp_wire w;
    struct otp_field f;
    enum layout found = LAYOUT_OWN;

    otp_wire_init(&w, data, len, &ignored);
    while (otp_wire_next(&w, &f)) {
        if (f.type == OTP_WIRE_LEN && f.number > 2) {
            return LAYOUT_BESIDE;
        }
        if (f.type == OTP_WIRE_LEN && f.number == 2) {
            *out_dictionary = f;
            found = LAYOUT_DICTIONARY;
        }
    }
    return found;
}

const char *otp_old_otlp_name(const uint8_t *data, size_t len)
{
    static const char *const names[] = {[LAYOUT_OWN] = "OTLP of proto 1.4 or 1.5",
                                        [LAYOUT_BESIDE] = "OTLP of proto 1.6",
                                        [LAYOUT_DICTIONARY] = "OTLP of proto 1.7"};
    struct otp_field unused;
    return names[layout_of(data, len, &unused)];
}

static bool put_all(struct old *o, const uint8_t *data, size_t len)
{
    struct otp_wire w;
    struct otp_field f;
    struct otp_field dictionary;
    enum layout layout = layout_of(data, len, &dictionary);
    bool ok = true;

    otp_wire_init(&w, data, len, &o->t->fault);
    o->is_shared = layout != LAYOUT_OWN;
    if (layout == LAYOUT_BESIDE) {
        ok = read_shared(o, w, 2);
    } else if (layout == LAYOUT_DICTIONARY) {
        ok = read_shared(o, inside(o, &dictionary), 1);
    }
    while (ok && otp_wire_next(&w, &f)) {
        if (f.number == 1 && f.type == OTP_WIRE_LEN) {
            ok = put_around(o, &f, 1, put_scope);
        }
    }
    return ok && otp_wire_ok(&w);
}

enum otp_status otp_old_otlp_decode(const uint8_t *data, size_t len, struct otp_translation *t)
{
    struct old o;

    memset(&o, 0, sizeof(o));
    o.t = t;
    o.budget.left_bytes = t->budget_bytes;
    otp_emit_init(&o.out, t->out.max);
    for (int i = 0; i < TABLES; i++) {
        otp_vec_init(&o.shared[i], &o.budget, sizeof(struct otp_field));
        otp_vec_init(&o.own[i], &o.budget, sizeof(struct otp_field));
    }
    enum otp_status status = put_all(&o, data, len) ? OTP_OK : OTP_MALFORMED;
    if (status == OTP_OK && o.out.failed) {
        status = no_room(&o) ? OTP_OK : OTP_MALFORMED;
    }
    if (status == OTP_OK) {
        status = otp_otep239_decode(o.out.data, o.out.len, t);
    }
    if (status != OTP_OK) {
        t->fault.at = data; /* where it is was lost on the way */
    }
    t->used = len;
    for (int i = 0; i < TABLES; i++) {
        otp_vec_fini(&o.shared[i]);
        otp_vec_fini(&o.own[i]);
    }
    otp_emit_fini(&o.out);
    return status;
}
