/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was read of a pprof profile, as OTLP. Numbers of strings, mappings, locations and functions
 * stay what they were (ids become places in the table), so that nothing has to be looked up.
 */
#include <string.h>

#include "core/decode/pprof_parts.h"

enum {
    DATA_RESOURCE_PROFILES = 1,
    DATA_DICTIONARY = 2,
    RESOURCE_PROFILES_RESOURCE = 1,
    RESOURCE_PROFILES_SCOPE_PROFILES = 2,
    SCOPE_PROFILES_SCOPE = 1,
    SCOPE_PROFILES_PROFILES = 2,
    SCOPE_ATTRIBUTES = 3,
    KEY_VALUE_KEY = 1,
    KEY_VALUE_VALUE = 2,
    ANY_STRING = 1,
    ANY_BOOL = 2,
    ANY_INT = 3,
    ANY_ARRAY = 5,
    ARRAY_VALUES = 1,
    ATTR_KEY = 1,
    ATTR_VALUE = 2,
    ATTR_UNIT = 3,
    OTLP_PROFILE_SAMPLE_TYPE = 1,
    OTLP_PROFILE_SAMPLES = 2,
    OTLP_PROFILE_TIME = 3,
    OTLP_PROFILE_DURATION = 4,
    OTLP_PROFILE_PERIOD_TYPE = 5,
    OTLP_PROFILE_PERIOD = 6,
    OTLP_PROFILE_ATTRS = 11,
    OTLP_SAMPLE_STACK = 1,
    OTLP_SAMPLE_ATTRS = 2,
    OTLP_SAMPLE_LINK = 3,
    OTLP_SAMPLE_VALUES = 4
};

struct emitter {
    struct otp_pprof *p;
    struct otp_emit *out;
    bool has_samples; /* they are in the message */
};

static const struct otp_field *field_at(const struct otp_vec *v, uint32_t i)
{
    return otp_vec_at(v, i);
}

static void put_string(struct emitter *e, uint32_t field, uint32_t string)
{
    const struct otp_field *f = field_at(&e->p->strings, string);
    if (string < e->p->strings.count) {
        otp_emit_bytes(e->out, field, f->data, f->len);
    } else {
        otp_emit_bytes(e->out, field, "", 0);
    }
}

/* The number in a field, 0 when it is of another wire type. */
static uint64_t number_in(const struct otp_field *f)
{
    return f->type == OTP_WIRE_VARINT ? f->value : 0;
}

/* ---- attributes ---- */

static bool add_attr(struct emitter *e, const struct otp_pprof_value *values, uint32_t count,
                     struct otp_vec *list)
{
    uint32_t attr;
    if (!otp_pprof_attribute(e->p, values, count, &attr)) {
        return false;
    }
    uint64_t wide = attr;
    return otp_vec_append(list, &wide, 1) || otp_pprof_no_room(e->p);
}

static bool add_flag(struct emitter *e, enum otp_pprof_word word)
{
    const struct otp_pprof_value v = {
        .key = otp_pprof_word(e->p, word), .kind = OTP_VALUE_BOOL, .number = 1};
    return add_attr(e, &v, 1, &e->p->numbers);
}

static bool add_text(struct emitter *e, enum otp_pprof_word word, uint32_t string)
{
    struct otp_pprof_value v = {.text = string, .kind = OTP_VALUE_STRING};
    if (string == 0) {
        return true;
    }
    v.key = otp_pprof_word(e->p, word);
    return add_attr(e, &v, 1, &e->p->numbers);
}

/* The attributes gathered in p->numbers, as a packed field. */
static void put_attrs(struct emitter *e, uint32_t field)
{
    const uint64_t *attrs = e->p->numbers.items;
    if (e->p->numbers.count == 0) {
        return;
    }
    size_t mark = otp_emit_open(e->out, field);
    for (uint32_t i = 0; i < e->p->numbers.count; i++) {
        otp_emit_varint(e->out, attrs[i]);
    }
    otp_emit_close(e->out, mark);
}

static void put_value(struct emitter *e, const struct otp_pprof_value *v)
{
    if (v->kind == OTP_VALUE_STRING) {
        put_string(e, ANY_STRING, v->text);
    } else {
        otp_emit_uint(e->out, v->kind == OTP_VALUE_BOOL ? ANY_BOOL : ANY_INT, (uint64_t)v->number);
    }
}

static bool is_list(const struct otp_pprof *p, const struct otp_pprof_value *values, uint32_t count)
{
    return count > 1 || values[0].key == p->word[OTP_WORD_COMMENT];
}

/* Several values under one key are a list; so are comments, always. */
static void put_attribute(struct emitter *e, const struct otp_slice *s)
{
    const struct otp_pprof_value *values = otp_vec_at(&e->p->attr_parts, s->first);
    size_t entry = otp_emit_open(e->out, OTP_TABLE_ATTRIBUTE);
    otp_emit_uint(e->out, ATTR_KEY, values[0].key);
    size_t value = otp_emit_open(e->out, ATTR_VALUE);
    if (!is_list(e->p, values, s->count)) {
        put_value(e, values);
    } else {
        size_t array = otp_emit_open(e->out, ANY_ARRAY);
        for (uint32_t i = 0; i < s->count; i++) {
            size_t item = otp_emit_open(e->out, ARRAY_VALUES);
            put_value(e, &values[i]);
            otp_emit_close(e->out, item);
        }
        otp_emit_close(e->out, array);
    }
    otp_emit_close(e->out, value);
    otp_emit_number(e->out, ATTR_UNIT, otp_pprof_unit(values, s->count));
    otp_emit_close(e->out, entry);
}

/* ---- tables ---- */

enum {
    MAPPING_START = 2,
    MAPPING_LIMIT,
    MAPPING_OFFSET,
    MAPPING_FILENAME,
    MAPPING_BUILD_ID,
    MAPPING_HAS_FUNCTIONS
};

static bool mapping_field(struct emitter *e, const struct otp_field *f)
{
    uint32_t string;
    switch (f->number) {
    case MAPPING_START:
    case MAPPING_LIMIT:
    case MAPPING_OFFSET:
        otp_emit_number(e->out, f->number - 1, number_in(f));
        return true;
    case MAPPING_FILENAME:
        if (!otp_pprof_string(e->p, f, &string)) {
            return false;
        }
        otp_emit_number(e->out, 4, string);
        return true;
    case MAPPING_BUILD_ID:
        return otp_pprof_string(e->p, f, &string) && add_text(e, OTP_WORD_BUILD_ID, string);
    default:
        if (f->number >= MAPPING_HAS_FUNCTIONS && f->number < MAPPING_HAS_FUNCTIONS + 4) {
            uint32_t flag = OTP_WORD_HAS_FUNCTIONS + (f->number - MAPPING_HAS_FUNCTIONS);
            return number_in(f) == 0 || add_flag(e, (enum otp_pprof_word)flag);
        }
        return true;
    }
}

/* Calls put for each field of each entry, inside an entry of the OTLP table. */
static bool put_table(struct emitter *e, const struct otp_pprof_table *t, uint32_t table,
                      bool (*put)(struct emitter *e, const struct otp_field *f))
{
    const struct otp_pprof_entry *entries = t->entries.items;
    otp_emit_bytes(e->out, table, "", 0);
    for (uint32_t i = 0; i < t->entries.count; i++) {
        struct otp_wire w = otp_pprof_inside(e->p, &entries[i].field);
        size_t mark = otp_emit_open(e->out, table);
        struct otp_field f;
        e->p->numbers.count = 0;
        while (otp_wire_next(&w, &f)) {
            if (!put(e, &f)) {
                return false;
            }
        }
        put_attrs(e, table == OTP_TABLE_MAPPING ? 5 : 4);
        otp_emit_close(e->out, mark);
    }
    return e->p->fault.reason == NULL;
}

enum { LOCATION_MAPPING = 2, LOCATION_ADDRESS, LOCATION_LINE, LOCATION_IS_FOLDED };

static bool put_line(struct emitter *e, const struct otp_field *line)
{
    struct otp_wire w = otp_pprof_inside(e->p, line);
    size_t mark = otp_emit_open(e->out, 3);
    struct otp_field f;
    while (otp_wire_next(&w, &f)) {
        uint64_t v = number_in(&f);
        if (f.number == 1 && v != 0) {
            v = otp_pprof_find(&e->p->functions, v);
            if (v == 0) {
                return otp_pprof_fail(e->p, f.at, "a line is of a function that is not there");
            }
        }
        if (f.number <= 3) {
            otp_emit_number(e->out, f.number, v);
        }
    }
    otp_emit_close(e->out, mark);
    return otp_wire_ok(&w);
}

static bool location_field(struct emitter *e, const struct otp_field *f)
{
    uint32_t mapping;
    switch (f->number) {
    case LOCATION_MAPPING:
        mapping = number_in(f) == 0 ? 0 : otp_pprof_find(&e->p->mappings, number_in(f));
        if (mapping == 0 && number_in(f) != 0) {
            return otp_pprof_fail(e->p, f->at, "a location is in a mapping that is not there");
        }
        otp_emit_number(e->out, 1, mapping);
        return true;
    case LOCATION_ADDRESS:
        otp_emit_number(e->out, 2, number_in(f));
        return true;
    case LOCATION_LINE:
        return f->type == OTP_WIRE_LEN ? put_line(e, f)
                                       : otp_pprof_fail(e->p, f->at, "a line is no message");
    case LOCATION_IS_FOLDED:
        return number_in(f) == 0 || add_flag(e, OTP_WORD_IS_FOLDED);
    default:
        return true;
    }
}

/* Fields 2 to 4 are texts and come one place earlier in OTLP; so does 5, the start line. */
static bool function_field(struct emitter *e, const struct otp_field *f)
{
    uint32_t string;
    if (f->number >= 2 && f->number <= 4) {
        if (!otp_pprof_string(e->p, f, &string)) {
            return false;
        }
        otp_emit_number(e->out, f->number - 1, string);
    } else if (f->number == 5) {
        otp_emit_number(e->out, 4, number_in(f));
    }
    return true;
}

static void put_stacks(struct emitter *e)
{
    const struct otp_slice *stacks = e->p->stacks.items;
    for (uint32_t i = 0; i < e->p->stacks.count; i++) {
        size_t entry = otp_emit_open(e->out, OTP_TABLE_STACK);
        if (stacks[i].count > 0) {
            const uint32_t *frames = otp_vec_at(&e->p->frames, stacks[i].first);
            size_t list = otp_emit_open(e->out, 1);
            for (uint32_t k = 0; k < stacks[i].count; k++) {
                otp_emit_varint(e->out, frames[k]);
            }
            otp_emit_close(e->out, list);
        }
        otp_emit_close(e->out, entry);
    }
}

static void put_strings(struct emitter *e)
{
    if (e->p->strings.count == 0) {
        otp_emit_bytes(e->out, OTP_TABLE_STRING, "", 0);
    }
    for (uint32_t i = 0; i < e->p->strings.count; i++) {
        put_string(e, OTP_TABLE_STRING, i);
    }
    for (uint32_t i = 0; i < e->p->word_count; i++) {
        otp_emit_text(e->out, OTP_TABLE_STRING, otp_pprof_words[e->p->word_order[i]]);
    }
}

static void put_links(struct emitter *e)
{
    const struct otp_pprof_link *links = e->p->links.items;
    otp_emit_bytes(e->out, OTP_TABLE_LINK, "", 0);
    for (uint32_t i = 0; i < e->p->links.count; i++) {
        size_t entry = otp_emit_open(e->out, OTP_TABLE_LINK);
        otp_emit_bytes(e->out, 1, links[i].trace_id, sizeof(links[i].trace_id));
        otp_emit_bytes(e->out, 2, links[i].span_id, sizeof(links[i].span_id));
        otp_emit_close(e->out, entry);
    }
}

static bool put_dictionary(struct emitter *e)
{
    size_t mark = otp_emit_open(e->out, DATA_DICTIONARY);
    if (!put_table(e, &e->p->mappings, OTP_TABLE_MAPPING, mapping_field) ||
        !put_table(e, &e->p->locations, OTP_TABLE_LOCATION, location_field)) {
        return false;
    }
    if (!put_table(e, &e->p->functions, OTP_TABLE_FUNCTION, function_field)) {
        return false;
    }
    put_links(e);
    put_strings(e);
    otp_emit_bytes(e->out, OTP_TABLE_ATTRIBUTE, "", 0);
    for (uint32_t i = 0; i < e->p->attr_table.count; i++) {
        put_attribute(e, (const struct otp_slice *)e->p->attr_table.items + i);
    }
    put_stacks(e);
    otp_emit_close(e->out, mark);
    return true;
}

/* ---- profiles ---- */

static bool put_types(struct emitter *e, uint32_t field, const struct otp_field *type)
{
    struct otp_wire w = otp_pprof_inside(e->p, type);
    size_t mark = otp_emit_open(e->out, field);
    struct otp_field f;
    uint32_t string;
    while (otp_wire_next(&w, &f)) {
        if (f.number > 2) {
            continue;
        }
        if (!otp_pprof_string(e->p, &f, &string)) {
            return false;
        }
        otp_emit_number(e->out, f.number, string);
    }
    otp_emit_close(e->out, mark);
    return otp_wire_ok(&w);
}

/* A sample of that many attributes is shorter than 128 bytes, whatever the numbers. */
#define SHORT_ATTRS 16U
#define SHORT_BYTES 128U

/* A sample of few attributes, which nearly all are. */
static void put_short_sample(struct emitter *e, const struct otp_row *s, int64_t value)
{
    const uint32_t *attrs = otp_vec_at(&e->p->attrs, s->first_attr);
    uint8_t *begin = otp_emit_reserve(e->out, SHORT_BYTES);
    if (begin == NULL) {
        return;
    }
    uint8_t *to = begin + 2;
    if (s->stack != 0) {
        *to++ = OTLP_SAMPLE_STACK << 3;
        to = otp_emit_put(to, s->stack);
    }
    if (s->attr_count > 0) {
        uint8_t *head = to;
        to += 2;
        for (uint32_t i = 0; i < s->attr_count; i++) {
            to = otp_emit_put(to, attrs[i]);
        }
        head[0] = OTLP_SAMPLE_ATTRS << 3 | OTP_WIRE_LEN;
        head[1] = (uint8_t)(to - head - 2);
    }
    if (s->link != 0) {
        *to++ = OTLP_SAMPLE_LINK << 3;
        to = otp_emit_put(to, s->link);
    }
    uint8_t *head = to;
    to = otp_emit_put(head + 2, (uint64_t)value);
    head[0] = OTLP_SAMPLE_VALUES << 3 | OTP_WIRE_LEN;
    head[1] = (uint8_t)(to - head - 2);
    begin[0] = OTLP_PROFILE_SAMPLES << 3 | OTP_WIRE_LEN;
    begin[1] = (uint8_t)(to - begin - 2);
    e->out->len += (size_t)(to - begin);
}

static void put_sample(struct emitter *e, const struct otp_row *s, int64_t value)
{
    if (s->attr_count <= SHORT_ATTRS) {
        put_short_sample(e, s, value);
        return;
    }
    const uint32_t *attrs = otp_vec_at(&e->p->attrs, s->first_attr);
    size_t mark = otp_emit_open(e->out, OTLP_PROFILE_SAMPLES);
    otp_emit_number(e->out, OTLP_SAMPLE_STACK, s->stack);
    size_t list = otp_emit_open(e->out, OTLP_SAMPLE_ATTRS);
    for (uint32_t i = 0; i < s->attr_count; i++) {
        otp_emit_varint(e->out, attrs[i]);
    }
    otp_emit_close(e->out, list);
    otp_emit_number(e->out, OTLP_SAMPLE_LINK, s->link);
    list = otp_emit_open(e->out, OTLP_SAMPLE_VALUES);
    otp_emit_varint(e->out, (uint64_t)value);
    otp_emit_close(e->out, list);
    otp_emit_close(e->out, mark);
}

/* Comments, and the texts that frames are dropped and kept by. */
static bool gather_profile_attrs(struct emitter *e)
{
    struct otp_pprof *p = e->p;
    const int64_t *comments = p->comments.items;
    p->numbers.count = 0;
    p->labels.count = 0;
    for (uint32_t i = 0; i < p->comments.count; i++) {
        if (otp_pprof_is_origin(p, comments[i])) {
            continue;
        }
        const struct otp_pprof_value v = {.key = otp_pprof_word(p, OTP_WORD_COMMENT),
                                          .text = (uint32_t)comments[i],
                                          .kind = OTP_VALUE_STRING};
        if (!otp_vec_append(&p->labels, &v, 1)) {
            return otp_pprof_no_room(p);
        }
    }
    return (p->labels.count == 0 || add_attr(e, p->labels.items, p->labels.count, &p->numbers)) &&
           add_text(e, OTP_WORD_DOC_URL, (uint32_t)p->doc_url) &&
           add_text(e, OTP_WORD_DROP_FRAMES, (uint32_t)p->drop_frames) &&
           add_text(e, OTP_WORD_KEEP_FRAMES, (uint32_t)p->keep_frames);
}

static void put_samples(struct emitter *e, uint32_t type)
{
    const struct otp_pprof *p = e->p;
    const struct otp_row *samples = p->samples.items;
    const int64_t *values = p->values.items;
    for (uint32_t i = 0; i < p->samples.count; i++) {
        int64_t value = values[(size_t)i * p->types.count + type];
        if (value != 0) {
            put_sample(e, &samples[i], value);
        }
    }
}

static bool put_profile(struct emitter *e, uint32_t type)
{
    struct otp_pprof *p = e->p;
    size_t mark = otp_emit_open(e->out, SCOPE_PROFILES_PROFILES);
    if (!put_types(e, OTLP_PROFILE_SAMPLE_TYPE, field_at(&p->types, type))) {
        return false;
    }
    if (e->has_samples) {
        put_samples(e, type);
    }
    if (p->time_nanos > 0) {
        otp_emit_fixed64(e->out, OTLP_PROFILE_TIME, (uint64_t)p->time_nanos);
    }
    otp_emit_number(e->out, OTLP_PROFILE_DURATION,
                    p->duration_nanos > 0 ? (uint64_t)p->duration_nanos : 0);
    if (p->has_period_type && !put_types(e, OTLP_PROFILE_PERIOD_TYPE, &p->period_type)) {
        return false;
    }
    otp_emit_number(e->out, OTLP_PROFILE_PERIOD, (uint64_t)p->period);
    if (!gather_profile_attrs(e)) {
        return false;
    }
    put_attrs(e, OTLP_PROFILE_ATTRS);
    otp_emit_close(e->out, mark);
    return true;
}

/* The number of the string that names a type. */
static uint32_t name_of_type(struct emitter *e, uint32_t type)
{
    struct otp_wire w = otp_pprof_inside(e->p, field_at(&e->p->types, type));
    struct otp_field f;
    uint32_t name = 0;
    while (otp_wire_next(&w, &f)) {
        if (f.number == 1) {
            (void)otp_pprof_string(e->p, &f, &name);
        }
    }
    return name;
}

static bool same_string(const struct otp_pprof *p, uint32_t a, uint32_t b)
{
    const struct otp_field *x = field_at(&p->strings, a);
    const struct otp_field *y = field_at(&p->strings, b);
    return a == b || (x->len == y->len && memcmp(x->data, y->data, x->len) == 0);
}

/* The type that readers of pprof show: the named one, else the last; OTLP has it first. */
static uint32_t default_type(struct emitter *e)
{
    uint32_t last = e->p->types.count - 1;
    for (uint32_t i = 0; i <= last && e->p->default_type != 0; i++) {
        uint32_t name = name_of_type(e, i);
        if (name != 0 && same_string(e->p, name, (uint32_t)e->p->default_type)) {
            return i;
        }
    }
    return last;
}

static void put_scope_attrs(struct emitter *e, uint32_t first)
{
    size_t kv = otp_emit_open(e->out, SCOPE_ATTRIBUTES);
    otp_emit_text(e->out, KEY_VALUE_KEY, "pprof.scope.sample_type_order");
    size_t value = otp_emit_open(e->out, KEY_VALUE_VALUE);
    size_t array = otp_emit_open(e->out, ANY_ARRAY);
    for (uint32_t i = 0; i < e->p->types.count; i++) {
        size_t item = otp_emit_open(e->out, ARRAY_VALUES);
        otp_emit_uint(e->out, ANY_INT, otp_rows_column(i, first));
        otp_emit_close(e->out, item);
    }
    otp_emit_close(e->out, array);
    otp_emit_close(e->out, value);
    otp_emit_close(e->out, kv);
    if (e->p->default_type != 0) {
        kv = otp_emit_open(e->out, SCOPE_ATTRIBUTES);
        otp_emit_text(e->out, KEY_VALUE_KEY, "pprof.scope.default_sample_type");
        value = otp_emit_open(e->out, KEY_VALUE_VALUE);
        put_string(e, ANY_STRING, (uint32_t)e->p->default_type);
        otp_emit_close(e->out, value);
        otp_emit_close(e->out, kv);
    }
}

bool otp_pprof_emit(struct otp_pprof *p, struct otp_emit *out, struct otp_rows *rows)
{
    struct emitter e = {.p = p, .out = out, .has_samples = rows == NULL};
    uint32_t first = default_type(&e);
    if (rows != NULL) {
        rows->first = first;
    }
    size_t resource = otp_emit_open(out, DATA_RESOURCE_PROFILES);
    if (p->has_origin) {
        size_t attrs = otp_emit_open(out, RESOURCE_PROFILES_RESOURCE);
        otp_pprof_put_resource(p, out);
        otp_emit_close(out, attrs);
    }
    size_t scopes = otp_emit_open(out, RESOURCE_PROFILES_SCOPE_PROFILES);
    size_t scope = otp_emit_open(out, SCOPE_PROFILES_SCOPE);
    otp_pprof_put_scope(p, out);
    put_scope_attrs(&e, first);
    otp_emit_close(out, scope);
    for (uint32_t i = 0; i < p->types.count; i++) {
        if (!put_profile(&e, otp_rows_column(i, first))) {
            return false;
        }
    }
    otp_emit_close(out, scopes);
    otp_emit_close(out, resource);
    bool ok = put_dictionary(&e);
    return (ok && !out->failed) || otp_pprof_no_room(p);
}
