/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resources and scopes are taken over as they are; each container is read into tables of fields and
 * written when it is complete. Source of the field numbers: proto/otep239.proto.
 */
#include "core/decode/otep239.h"

#include <string.h>

#include "core/base/annot.h"
#include "core/decode/otep239_parts.h"

enum {
    DATA_RESOURCE_PROFILES = 1,
    OTLP_DATA_DICTIONARY = 2,
    SCOPE_PROFILES = 2, /* of ResourceProfiles */
    SCOPE = 1,
    CONTAINERS = 2, /* of ScopeProfiles */
    SCOPE_ATTRIBUTES = 3,
    CONTAINER_ID = 1,
    CONTAINER_START,
    CONTAINER_END,
    CONTAINER_ATTRS,
    CONTAINER_DROPPED,
    CONTAINER_FORMAT,
    CONTAINER_PAYLOAD,
    CONTAINER_PROFILE,
    PROFILE_DROP_FRAMES = 7,
    PROFILE_KEEP_FRAMES,
    PROFILE_TIME,
    PROFILE_DURATION,
    PROFILE_PERIOD_TYPE,
    PROFILE_PERIOD,
    PROFILE_COMMENT,
    PROFILE_DEFAULT_TYPE,
    PROFILE_LOCATION_INDICES,
    PROFILE_ATTRS,
    PROFILE_UNITS,
    PROFILE_LINKS
};

bool otp_otep_fail(struct otp_otep *o, const uint8_t *at, const char *reason)
{
    if (o->t->fault.reason == NULL) {
        o->t->fault.reason = reason;
        o->t->fault.at = at;
    }
    return false;
}

bool otp_otep_no_room(struct otp_otep *o)
{
    return otp_otep_fail(o, o->data, "there is more in it than the memory limit allows");
}

struct otp_wire otp_otep_inside(struct otp_otep *o, const struct otp_field *f)
{
    return otp_wire_inside(f, &o->t->fault);
}

uint64_t otp_otep_number(const struct otp_field *f)
{
    return f->type == OTP_WIRE_VARINT || f->type == OTP_WIRE_I64 ? f->value : 0;
}

bool otp_otep_numbers(struct otp_otep *o, const struct otp_field *f, struct otp_vec *to)
{
    uint64_t v = f->value;
    if (f->type == OTP_WIRE_VARINT) {
        return otp_vec_append(to, &v, 1) || otp_otep_no_room(o);
    }
    if (f->type != OTP_WIRE_LEN) {
        return otp_otep_fail(o, f->at, "a list of numbers has another wire type");
    }
    struct otp_wire w = otp_otep_inside(o, f);
    while (w.pos < w.end) {
        if (!otp_wire_varint(&w, &v) || !otp_vec_append(to, &v, 1)) {
            return otp_otep_no_room(o); /* keeps an earlier fault */
        }
    }
    return true;
}

uint32_t otp_otep_count(const struct otp_otep *o, enum otp_otep_table table)
{
    return o->table[table].count;
}

const struct otp_field *otp_otep_entry(const struct otp_otep *o, enum otp_otep_table table,
                                       uint32_t i)
{
    return otp_vec_at(&o->table[table], i);
}

/* ---- reading a container ---- */

static bool keep(struct otp_otep *o, const struct otp_field *f, enum otp_otep_table table)
{
    if (f->type != OTP_WIRE_LEN) {
        return otp_otep_fail(o, f->at, "an entry of a table is no message");
    }
    return otp_vec_append(&o->table[table], f, 1) || otp_otep_no_room(o);
}

static bool profile_field(struct otp_otep *o, const struct otp_field *f)
{
    static const enum otp_otep_table tables[] = {
        OTP_OTEP_TYPES,     OTP_OTEP_TYPES,     OTP_OTEP_SAMPLES, OTP_OTEP_MAPPINGS,
        OTP_OTEP_LOCATIONS, OTP_OTEP_FUNCTIONS, OTP_OTEP_STRINGS};
    uint64_t *const numbers[PROFILE_LINKS + 1] = {[PROFILE_DROP_FRAMES] = &o->drop_frames,
                                                  [PROFILE_KEEP_FRAMES] = &o->keep_frames,
                                                  [PROFILE_TIME] = &o->time_ns,
                                                  [PROFILE_DURATION] = &o->duration_ns,
                                                  [PROFILE_PERIOD] = &o->period,
                                                  [PROFILE_DEFAULT_TYPE] = &o->default_type};
    switch (f->number) {
    case PROFILE_PERIOD_TYPE:
        o->period_type = *f;
        return f->type == OTP_WIRE_LEN || otp_otep_fail(o, f->at, "a type is no message");
    case PROFILE_COMMENT:
        return otp_otep_numbers(o, f, &o->comments);
    case PROFILE_LOCATION_INDICES:
        return otp_otep_numbers(o, f, &o->location_indices);
    case PROFILE_ATTRS:
        return keep(o, f, OTP_OTEP_ATTRS);
    case PROFILE_UNITS:
        return keep(o, f, OTP_OTEP_UNITS);
    case PROFILE_LINKS:
        return keep(o, f, OTP_OTEP_LINKS);
    default:
        if (f->number < OTP_ARRAY_LEN(tables)) {
            return keep(o, f, tables[f->number]);
        }
        if (f->number <= PROFILE_LINKS && numbers[f->number] != NULL) {
            *numbers[f->number] = otp_otep_number(f);
        }
        return true;
    }
}

static bool read_profile(struct otp_otep *o, const struct otp_field *profile)
{
    struct otp_wire w = otp_otep_inside(o, profile);
    struct otp_field f;
    while (otp_wire_next(&w, &f)) {
        if (!profile_field(o, &f)) {
            return false;
        }
    }
    return otp_wire_ok(&w);
}

static bool container_field(struct otp_otep *o, const struct otp_field *f)
{
    bool is_len = f->type == OTP_WIRE_LEN;
    switch (f->number) {
    case CONTAINER_START:
        o->start_ns = otp_otep_number(f);
        return true;
    case CONTAINER_END:
        o->end_ns = otp_otep_number(f);
        return true;
    case CONTAINER_DROPPED:
        o->dropped = otp_otep_number(f);
        return true;
    case CONTAINER_ATTRS:
        return keep(o, f, OTP_OTEP_CONTAINER_ATTRS);
    case CONTAINER_ID:
    case CONTAINER_FORMAT:
    case CONTAINER_PAYLOAD:
        *(f->number == CONTAINER_ID       ? &o->profile_id
          : f->number == CONTAINER_FORMAT ? &o->format
                                          : &o->payload) = *f;
        return is_len || otp_otep_fail(o, f->at, "bytes have another wire type");
    case CONTAINER_PROFILE:
        return is_len ? read_profile(o, f) : otp_otep_fail(o, f->at, "a profile is no message");
    default:
        return true;
    }
}

static void forget_container(struct otp_otep *o)
{
    static const struct otp_field none;
    for (size_t i = 0; i < OTP_OTEP_TABLES; i++) {
        o->table[i].count = 0;
    }
    o->location_indices.count = 0;
    o->comments.count = 0;
    o->profile_id = none;
    o->other_ids = none;
    o->format = none;
    o->payload = none;
    o->period_type = none;
    o->start_ns = o->end_ns = o->time_ns = o->duration_ns = 0;
    o->period = o->dropped = o->drop_frames = o->keep_frames = o->default_type = 0;
}

static bool read_container(struct otp_otep *o, const struct otp_field *container)
{
    struct otp_wire w = otp_otep_inside(o, container);
    struct otp_field f;
    forget_container(o);
    while (otp_wire_next(&w, &f)) {
        if (!container_field(o, &f)) {
            return false;
        }
    }
    if (!otp_wire_ok(&w)) {
        return false;
    }
    if (otp_otep_count(o, OTP_OTEP_STRINGS) > 0 &&
        otp_otep_entry(o, OTP_OTEP_STRINGS, 0)->len > 0) {
        return otp_otep_fail(o, container->at, "the first text of a string table is not empty");
    }
    return true;
}

/* ---- around the containers ---- */

/* The default type of a scope is in its profiles; OTLP has it as an attribute of the scope. */
static bool find_default_type(struct otp_otep *o, const struct otp_field *scope_profiles,
                              struct otp_field *out_text)
{
    struct otp_wire w = otp_otep_inside(o, scope_profiles);
    struct otp_field f;
    memset(out_text, 0, sizeof(*out_text));
    while (out_text->len == 0 && otp_wire_next(&w, &f)) {
        if (f.number != CONTAINERS || f.type != OTP_WIRE_LEN) {
            continue;
        }
        if (!read_container(o, &f)) {
            return false;
        }
        if (o->default_type != 0 && o->default_type < otp_otep_count(o, OTP_OTEP_STRINGS)) {
            *out_text = *otp_otep_entry(o, OTP_OTEP_STRINGS, (uint32_t)o->default_type);
        }
    }
    return otp_wire_ok(&w);
}

static void put_default_type(struct otp_otep *o, const struct otp_field *text)
{
    struct otp_emit *out = &o->t->out;
    size_t kv = otp_emit_open(out, SCOPE_ATTRIBUTES);
    otp_emit_text(out, 1, "pprof.scope.default_sample_type");
    size_t value = otp_emit_open(out, 2);
    otp_emit_bytes(out, 1, text->data, text->len);
    otp_emit_close(out, value);
    otp_emit_close(out, kv);
}

static bool put_scope(struct otp_otep *o, const struct otp_field *scope_profiles)
{
    struct otp_wire w = otp_otep_inside(o, scope_profiles);
    struct otp_field f;
    struct otp_field default_type;
    if (!find_default_type(o, scope_profiles, &default_type)) {
        return false;
    }
    size_t scope = otp_emit_open(&o->t->out, SCOPE);
    while (otp_wire_next(&w, &f)) {
        if (f.number == SCOPE && f.type == OTP_WIRE_LEN) {
            otp_emit_raw(&o->t->out, f.data, f.len);
        }
    }
    if (default_type.len > 0) {
        put_default_type(o, &default_type);
    }
    otp_emit_close(&o->t->out, scope);
    return otp_wire_ok(&w);
}

static bool put_scope_profiles(struct otp_otep *o, const struct otp_field *scope_profiles)
{
    struct otp_wire w = otp_otep_inside(o, scope_profiles);
    struct otp_field f;
    size_t mark = otp_emit_open(&o->t->out, SCOPE_PROFILES);
    if (!put_scope(o, scope_profiles)) {
        return false;
    }
    while (otp_wire_next(&w, &f)) {
        if (f.number == 3 && f.type == OTP_WIRE_LEN) {
            otp_emit_bytes(&o->t->out, 3, f.data, f.len);
        }
        if (f.number == CONTAINERS && f.type == OTP_WIRE_LEN &&
            (!read_container(o, &f) || !otp_otep_put_tables(o) || !otp_otep_put_profiles(o))) {
            return false;
        }
    }
    otp_emit_close(&o->t->out, mark);
    return otp_wire_ok(&w);
}

static bool put_resource_profiles(struct otp_otep *o, const struct otp_field *resource)
{
    struct otp_wire w = otp_otep_inside(o, resource);
    struct otp_field f;
    size_t mark = otp_emit_open(&o->t->out, DATA_RESOURCE_PROFILES);
    while (otp_wire_next(&w, &f)) {
        if (f.type != OTP_WIRE_LEN) {
            continue;
        }
        if (f.number == 1 || f.number == 3) {
            otp_emit_bytes(&o->t->out, f.number, f.data, f.len);
        } else if (f.number == SCOPE_PROFILES && !put_scope_profiles(o, &f)) {
            return false;
        }
    }
    otp_emit_close(&o->t->out, mark);
    return otp_wire_ok(&w);
}

/* Entry 0 of each table. */
static void begin_dictionary(struct otp_otep *o)
{
    for (uint32_t t = OTP_TABLE_MAPPING; t < OTP_TABLES; t++) {
        otp_emit_bytes(&o->dict, t, "", 0);
        o->count[t] = 1;
    }
}

static void init(struct otp_otep *o, const uint8_t *data, struct otp_translation *t)
{
    struct otp_vec *const numbers[] = {&o->location_indices, &o->comments, &o->numbers,
                                       &o->values,           &o->times,    &o->attrs};
    memset(o, 0, sizeof(*o));
    o->t = t;
    o->data = data;
    o->budget.left_bytes = t->budget_bytes;
    otp_emit_init(&o->dict, t->out.max);
    for (size_t i = 0; i < OTP_OTEP_TABLES; i++) {
        otp_vec_init(&o->table[i], &o->budget, sizeof(struct otp_field));
    }
    for (size_t i = 0; i < OTP_ARRAY_LEN(numbers); i++) {
        otp_vec_init(numbers[i], &o->budget, sizeof(uint64_t));
    }
}

static void fini(struct otp_otep *o)
{
    struct otp_vec *const numbers[] = {&o->location_indices, &o->comments, &o->numbers,
                                       &o->values,           &o->times,    &o->attrs};
    for (size_t i = 0; i < OTP_OTEP_TABLES; i++) {
        otp_vec_fini(&o->table[i]);
    }
    for (size_t i = 0; i < OTP_ARRAY_LEN(numbers); i++) {
        otp_vec_fini(numbers[i]);
    }
    otp_emit_fini(&o->dict);
}

enum otp_status otp_otep239_decode(const uint8_t *data, size_t len, struct otp_translation *t)
{
    struct otp_otep o;
    struct otp_wire w;
    struct otp_field f;
    bool ok = true;
    init(&o, data, t);
    begin_dictionary(&o);
    otp_wire_init(&w, data, len, &t->fault);
    while (ok && otp_wire_next(&w, &f)) {
        if (f.number == DATA_RESOURCE_PROFILES && f.type == OTP_WIRE_LEN) {
            ok = put_resource_profiles(&o, &f);
        }
    }
    ok = ok && otp_wire_ok(&w);
    otp_emit_bytes(&t->out, OTLP_DATA_DICTIONARY, o.dict.data, o.dict.len);
    if (ok && (t->out.failed || o.dict.failed)) {
        ok = otp_otep_no_room(&o);
    }
    t->used = len;
    fini(&o);
    return ok ? OTP_OK : OTP_MALFORMED;
}

/* ---- is it one? ---- */

/* The first field of that number in the message of a field; false: there is none. */
static bool first_field(const struct otp_field *message, uint32_t number, struct otp_field *out)
{
    struct otp_wire_fault ignored = {.reason = NULL};
    struct otp_wire w;
    otp_wire_init(&w, message->data, message->len, &ignored);
    while (otp_wire_next(&w, out)) {
        if (out->number == number && out->type == OTP_WIRE_LEN) {
            return true;
        }
    }
    return false;
}

bool otp_otep239_is(const uint8_t *data, size_t len)
{
    const struct otp_field all = {.data = data, .len = len};
    struct otp_field f;
    struct otp_field strings;
    if (first_field(&all, OTLP_DATA_DICTIONARY, &f)) {
        return false;
    }
    /* Where OTLP has a Profile with at most an id at that number, there is a message with texts. */
    return first_field(&all, DATA_RESOURCE_PROFILES, &f) && first_field(&f, SCOPE_PROFILES, &f) &&
           first_field(&f, CONTAINERS, &f) && first_field(&f, CONTAINER_PROFILE, &f) &&
           first_field(&f, 6, &strings) && strings.len == 0;
}
