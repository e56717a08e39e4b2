/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a container, behind those of the containers before it in the one dictionary. */
#include <string.h>

#include "core/base/profile_ids.h"
#include "core/decode/otep239_parts.h"

enum { ATTR_KEY = 1, ATTR_VALUE, ATTR_UNIT };
enum { ANY_STRING = 1, ANY_BOOL };
enum { KV_KEY = 1, KV_VALUE };

bool otp_otep_string(struct otp_otep *o, const uint8_t *at, uint64_t i, uint32_t *out)
{
    *out = 0;
    if (i != 0 && i >= otp_otep_count(o, OTP_OTEP_STRINGS)) {
        return otp_otep_fail(o, at, "a text is not in the string table");
    }
    *out = i == 0 ? 0 : o->string_base + (uint32_t)i - 1;
    return true;
}

uint32_t otp_otep_add_string(struct otp_otep *o, const void *text, size_t len)
{
    otp_emit_bytes(&o->dict, OTP_TABLE_STRING, text, len);
    return o->count[OTP_TABLE_STRING]++;
}

struct otp_otep_attr otp_otep_begin_attr(struct otp_otep *o, uint32_t key)
{
    struct otp_otep_attr a;
    a.entry = otp_emit_open(&o->dict, OTP_TABLE_ATTRIBUTE);
    otp_emit_uint(&o->dict, ATTR_KEY, key);
    a.value = otp_emit_open(&o->dict, ATTR_VALUE);
    return a;
}

bool otp_otep_end_attr(struct otp_otep *o, struct otp_otep_attr a, uint32_t unit)
{
    uint64_t attr = o->count[OTP_TABLE_ATTRIBUTE]++;
    otp_emit_close(&o->dict, a.value);
    otp_emit_number(&o->dict, ATTR_UNIT, unit);
    otp_emit_close(&o->dict, a.entry);
    return otp_vec_append(&o->attrs, &attr, 1) || otp_otep_no_room(o);
}

/* The container's string behind a number of the dictionary. */
static const struct otp_field *text_of(const struct otp_otep *o, uint32_t string)
{
    return otp_otep_entry(o, OTP_OTEP_STRINGS, string - o->string_base + 1);
}

bool otp_otep_add_text(struct otp_otep *o, const char *key, uint32_t string)
{
    if (string == 0) {
        return true;
    }
    const struct otp_field *text = text_of(o, string);
    uint32_t name = otp_otep_add_string(o, key, strlen(key));
    struct otp_otep_attr a = otp_otep_begin_attr(o, name);
    otp_emit_bytes(&o->dict, ANY_STRING, text->data, text->len);
    return otp_otep_end_attr(o, a, 0);
}

bool otp_otep_add_flag(struct otp_otep *o, const char *key)
{
    uint32_t name = otp_otep_add_string(o, key, strlen(key));
    struct otp_otep_attr a = otp_otep_begin_attr(o, name);
    otp_emit_uint(&o->dict, ANY_BOOL, 1);
    return otp_otep_end_attr(o, a, 0);
}

bool otp_otep_add_places(struct otp_otep *o, const struct otp_field *f)
{
    o->numbers.count = 0;
    if (!otp_otep_numbers(o, f, &o->numbers)) {
        return false;
    }
    const uint64_t *places = o->numbers.items;
    for (uint32_t i = 0; i < o->numbers.count; i++) {
        uint64_t attr = o->attr_base + places[i];
        if (places[i] >= otp_otep_count(o, OTP_OTEP_ATTRS)) {
            return otp_otep_fail(o, f->at, "an attribute is not in the table");
        }
        if (!otp_vec_append(&o->attrs, &attr, 1)) {
            return otp_otep_no_room(o);
        }
    }
    return true;
}

void otp_otep_put_attrs(struct otp_otep *o, struct otp_emit *to, uint32_t field)
{
    const uint64_t *attrs = o->attrs.items;
    if (o->attrs.count > 0) {
        size_t mark = otp_emit_open(to, field);
        for (uint32_t i = 0; i < o->attrs.count; i++) {
            otp_emit_varint(to, attrs[i]);
        }
        otp_emit_close(to, mark);
    }
    o->attrs.count = 0;
}

/* ---- strings, attributes, links, functions ---- */

static void put_strings(struct otp_otep *o)
{
    o->string_base = o->count[OTP_TABLE_STRING];
    for (uint32_t i = 1; i < otp_otep_count(o, OTP_OTEP_STRINGS); i++) {
        const struct otp_field *f = otp_otep_entry(o, OTP_OTEP_STRINGS, i);
        (void)otp_otep_add_string(o, f->data, f->len);
    }
}

/* The unit of attributes of that key. */
static bool unit_of(struct otp_otep *o, const struct otp_field *key, uint32_t *out_unit)
{
    *out_unit = 0;
    for (uint32_t i = 0; i < otp_otep_count(o, OTP_OTEP_UNITS); i++) {
        struct otp_wire w = otp_otep_inside(o, otp_otep_entry(o, OTP_OTEP_UNITS, i));
        struct otp_field f;
        uint64_t names[3] = {0};
        while (otp_wire_next(&w, &f)) {
            if (f.number < 3) {
                names[f.number] = otp_otep_number(&f);
            }
        }
        if (names[1] == 0 || names[1] >= otp_otep_count(o, OTP_OTEP_STRINGS)) {
            continue;
        }
        const struct otp_field *name = otp_otep_entry(o, OTP_OTEP_STRINGS, (uint32_t)names[1]);
        if (name->len == key->len && memcmp(name->data, key->data, key->len) == 0) {
            return otp_otep_string(o, key->at, names[2], out_unit);
        }
    }
    return true;
}

/* The first field of a value, 0 when it is empty. */
static uint32_t kind_of(const uint8_t *value, uint64_t len)
{
    return len > 0 ? value[0] >> 3 : 0;
}

/* Numbers (3, 4) have units, and lists (5) with a whole number in them. */
static bool may_have_unit(struct otp_otep *o, const struct otp_field *value)
{
    uint32_t kind = kind_of(value->data, value->len);
    struct otp_field f;
    struct otp_field list;
    if (kind != 5) {
        return kind == 3 || kind == 4;
    }
    struct otp_wire w = otp_otep_inside(o, value);
    if (!otp_wire_next(&w, &list) || list.type != OTP_WIRE_LEN) {
        return false;
    }
    w = otp_otep_inside(o, &list);
    while (otp_wire_next(&w, &f)) {
        if (f.number == 1 && f.type == OTP_WIRE_LEN && kind_of(f.data, f.len) == 3) {
            return true;
        }
    }
    return false;
}

/* A KeyValue as an attribute of the dictionary, added to o->attrs. */
static bool put_key_value(struct otp_otep *o, const struct otp_field *kv)
{
    struct otp_wire w = otp_otep_inside(o, kv);
    struct otp_field f;
    struct otp_field key = {.data = (const uint8_t *)"", .len = 0, .at = kv->at};
    struct otp_field value = key;
    uint32_t unit;
    while (otp_wire_next(&w, &f)) {
        if (f.type == OTP_WIRE_LEN && (f.number == KV_KEY || f.number == KV_VALUE)) {
            *(f.number == KV_KEY ? &key : &value) = f;
        }
    }
    if (!otp_wire_ok(&w) || !unit_of(o, &key, &unit)) {
        return false;
    }
    uint32_t name = otp_otep_add_string(o, key.data, key.len);
    struct otp_otep_attr a = otp_otep_begin_attr(o, name);
    otp_emit_raw(&o->dict, value.data, value.len);
    return otp_otep_end_attr(o, a, may_have_unit(o, &value) ? unit : 0);
}

static bool put_attributes(struct otp_otep *o)
{
    o->attr_base = o->count[OTP_TABLE_ATTRIBUTE];
    for (uint32_t i = 0; i < otp_otep_count(o, OTP_OTEP_ATTRS); i++) {
        if (!put_key_value(o, otp_otep_entry(o, OTP_OTEP_ATTRS, i))) {
            return false;
        }
    }
    o->attrs.count = 0;
    return true;
}

/* Links are the same messages in both. */
static void put_links(struct otp_otep *o)
{
    o->link_base = o->count[OTP_TABLE_LINK];
    for (uint32_t i = 0; i < otp_otep_count(o, OTP_OTEP_LINKS); i++) {
        const struct otp_field *f = otp_otep_entry(o, OTP_OTEP_LINKS, i);
        otp_emit_bytes(&o->dict, OTP_TABLE_LINK, f->data, f->len);
        o->count[OTP_TABLE_LINK]++;
    }
}

static bool function_field(struct otp_otep *o, const struct otp_field *f)
{
    uint32_t string = 0;
    if (f->number >= 2 && f->number <= 4) {
        if (!otp_otep_string(o, f->at, otp_otep_number(f), &string)) {
            return false;
        }
        otp_emit_number(&o->dict, f->number - 1, string);
    } else if (f->number == 5) {
        otp_emit_number(&o->dict, 4, otp_otep_number(f));
    }
    return true;
}

static bool put_function(struct otp_otep *o, const struct otp_field *function)
{
    struct otp_wire w = otp_otep_inside(o, function);
    struct otp_field f;
    size_t mark = otp_emit_open(&o->dict, OTP_TABLE_FUNCTION);
    while (otp_wire_next(&w, &f)) {
        if (!function_field(o, &f)) {
            return false;
        }
    }
    otp_emit_close(&o->dict, mark);
    o->count[OTP_TABLE_FUNCTION]++;
    return otp_wire_ok(&w);
}

static bool put_functions(struct otp_otep *o)
{
    o->function_base = o->count[OTP_TABLE_FUNCTION];
    for (uint32_t i = 0; i < otp_otep_count(o, OTP_OTEP_FUNCTIONS); i++) {
        if (!put_function(o, otp_otep_entry(o, OTP_OTEP_FUNCTIONS, i))) {
            return false;
        }
    }
    return true;
}

/* ---- mappings, locations: their attributes are written before them, so in two rounds ---- */

enum {
    MAPPING_START = 2,
    MAPPING_LIMIT,
    MAPPING_OFFSET,
    MAPPING_FILENAME,
    MAPPING_BUILD_ID,
    MAPPING_FLAGS,
    MAPPING_BUILD_ID_KIND = 11,
    MAPPING_ATTRS
};

struct entry {
    uint64_t number[16]; /* of fields */
};

/* Reads the numbers of an entry; lists of attributes go to o->attrs. */
static bool read_entry(struct otp_otep *o, const struct otp_field *entry, uint32_t attrs_field,
                       struct entry *out)
{
    struct otp_wire w = otp_otep_inside(o, entry);
    struct otp_field f;
    memset(out, 0, sizeof(*out));
    while (otp_wire_next(&w, &f)) {
        if (f.number == attrs_field) {
            if (!otp_otep_add_places(o, &f)) {
                return false;
            }
        } else if (f.number < 16) {
            out->number[f.number] = otp_otep_number(&f);
        }
    }
    return otp_wire_ok(&w);
}

static bool put_mapping(struct otp_otep *o, const struct otp_field *field)
{
    static const char *const flags[] = {
        "pprof.mapping.has_functions", "pprof.mapping.has_filenames",
        "pprof.mapping.has_line_numbers", "pprof.mapping.has_inline_frames"};
    struct entry e;
    uint32_t filename = 0;
    uint32_t build_id = 0;
    if (!read_entry(o, field, MAPPING_ATTRS, &e) ||
        !otp_otep_string(o, field->at, e.number[MAPPING_FILENAME], &filename) ||
        !otp_otep_string(o, field->at, e.number[MAPPING_BUILD_ID], &build_id)) {
        return false;
    }
    /* A hash of the contents is one of its producer's own kind. */
    bool is_hash = e.number[MAPPING_BUILD_ID_KIND] != 0;
    if (!otp_otep_add_text(o,
                           is_hash ? "process.executable.build_id.profiling"
                                   : "process.executable.build_id.gnu",
                           build_id)) {
        return false;
    }
    for (uint32_t i = 0; i < 4; i++) {
        if (e.number[MAPPING_FLAGS + i] != 0 && !otp_otep_add_flag(o, flags[i])) {
            return false;
        }
    }
    size_t mark = otp_emit_open(&o->dict, OTP_TABLE_MAPPING);
    otp_emit_number(&o->dict, 1, e.number[MAPPING_START]);
    otp_emit_number(&o->dict, 2, e.number[MAPPING_LIMIT]);
    otp_emit_number(&o->dict, 3, e.number[MAPPING_OFFSET]);
    otp_emit_number(&o->dict, 4, filename);
    otp_otep_put_attrs(o, &o->dict, 5);
    otp_emit_close(&o->dict, mark);
    o->count[OTP_TABLE_MAPPING]++;
    return true;
}

static bool put_mappings(struct otp_otep *o)
{
    o->mapping_base = o->count[OTP_TABLE_MAPPING];
    for (uint32_t i = 0; i < otp_otep_count(o, OTP_OTEP_MAPPINGS); i++) {
        if (!put_mapping(o, otp_otep_entry(o, OTP_OTEP_MAPPINGS, i))) {
            return false;
        }
    }
    return true;
}

static bool put_line(struct otp_otep *o, const struct otp_field *line)
{
    struct entry e;
    if (!read_entry(o, line, 0, &e)) {
        return false;
    }
    if (e.number[1] >= otp_otep_count(o, OTP_OTEP_FUNCTIONS)) {
        return otp_otep_fail(o, line->at, "a line is of a function that is not there");
    }
    size_t mark = otp_emit_open(&o->dict, 3);
    otp_emit_number(&o->dict, 1, o->function_base + e.number[1]);
    otp_emit_number(&o->dict, 2, e.number[2]);
    otp_emit_number(&o->dict, 3, e.number[3]);
    otp_emit_close(&o->dict, mark);
    return true;
}

/* The mapping of a location; an empty one, or none at all in the table, is none. */
static bool mapping_of(struct otp_otep *o, const struct otp_field *at, uint64_t i, uint32_t *out)
{
    uint32_t count = otp_otep_count(o, OTP_OTEP_MAPPINGS);
    *out = 0;
    if (i >= count) {
        return (i == 0 && count == 0) ||
               otp_otep_fail(o, at->at, "a location is in a mapping that is not there");
    }
    if (otp_otep_entry(o, OTP_OTEP_MAPPINGS, (uint32_t)i)->len > 0) {
        *out = o->mapping_base + (uint32_t)i;
    }
    return true;
}

enum {
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS,
    LOCATION_LINE,
    LOCATION_IS_FOLDED,
    LOCATION_TYPE,
    LOCATION_ATTRS
};

static bool put_location(struct otp_otep *o, const struct otp_field *field)
{
    struct entry e;
    struct otp_field f;
    uint32_t type = 0;
    uint32_t mapping = 0;
    if (!read_entry(o, field, LOCATION_ATTRS, &e) ||
        !otp_otep_string(o, field->at, e.number[LOCATION_TYPE], &type) ||
        !mapping_of(o, field, e.number[LOCATION_MAPPING], &mapping) ||
        !otp_otep_add_text(o, "profile.frame.type", type)) {
        return false;
    }
    if (e.number[LOCATION_IS_FOLDED] != 0 && !otp_otep_add_flag(o, "pprof.location.is_folded")) {
        return false;
    }
    size_t mark = otp_emit_open(&o->dict, OTP_TABLE_LOCATION);
    otp_emit_number(&o->dict, 1, mapping);
    otp_emit_number(&o->dict, 2, e.number[LOCATION_ADDRESS]);
    struct otp_wire w = otp_otep_inside(o, field);
    while (otp_wire_next(&w, &f)) {
        if (f.number == LOCATION_LINE && f.type == OTP_WIRE_LEN && !put_line(o, &f)) {
            return false;
        }
    }
    otp_otep_put_attrs(o, &o->dict, 4);
    otp_emit_close(&o->dict, mark);
    o->count[OTP_TABLE_LOCATION]++;
    return true;
}

/* ---- ids ---- */

/* The bytes value in an item of an array; false: it is something else. */
static bool is_id(struct otp_otep *o, const struct otp_field *item, struct otp_text *out)
{
    struct otp_wire w = otp_otep_inside(o, item);
    struct otp_field f;
    *out = otp_text_make(NULL, 0);
    bool is_bytes = item->type == OTP_WIRE_LEN && otp_wire_next(&w, &f) &&
                    f.number == OTP_VALUE_BYTES && f.type == OTP_WIRE_LEN;
    if (is_bytes) {
        *out = otp_text_make((const char *)f.data, f.len);
    }
    bool has_length = out->len == 0 || out->len == OTP_PROFILE_ID_BYTES;
    return is_bytes && has_length && !otp_wire_next(&w, &f);
}

/* How many ids an array holds, *out: that of the number; 0: something else is among them. */
static uint32_t walk_ids(struct otp_otep *o, const struct otp_field *array, uint32_t number,
                         struct otp_text *out)
{
    struct otp_wire w = otp_otep_inside(o, array);
    struct otp_field f;
    uint32_t count = 0;
    while (otp_wire_next(&w, &f)) {
        struct otp_text id;
        if (!is_id(o, &f, &id)) {
            return 0;
        }
        *out = count <= number ? id : *out;
        count++;
    }
    return count;
}

struct otp_text otp_otep_id(struct otp_otep *o, uint32_t type)
{
    struct otp_text id = otp_text_make((const char *)o->profile_id.data, o->profile_id.len);
    if (type > 0) {
        id = otp_text_make(NULL, 0);
        (void)walk_ids(o, &o->other_ids, type - 1, &id);
    }
    return id;
}

/* Is it the attribute that holds the ids of all types but the first, as our own writer has it? */
static bool take_ids(struct otp_otep *o, const struct otp_field *kv)
{
    static const char key[] = OTP_PROFILE_IDS_KEY;
    struct otp_wire w = otp_otep_inside(o, kv);
    struct otp_field f;
    struct otp_field value = {.len = 0};
    bool is_key = false;
    while (otp_wire_next(&w, &f)) {
        if (f.number == KV_KEY && f.type == OTP_WIRE_LEN) {
            is_key = f.len == sizeof(key) - 1 && memcmp(f.data, key, f.len) == 0;
        } else if (f.number == KV_VALUE && f.type == OTP_WIRE_LEN) {
            value = f;
        }
    }
    if (!is_key || value.len == 0) {
        return false;
    }
    struct otp_text none;
    struct otp_wire inside = otp_otep_inside(o, &value);
    bool is_taken = otp_wire_next(&inside, &f) && f.number == OTP_VALUE_ARRAY &&
                    f.type == OTP_WIRE_LEN &&
                    walk_ids(o, &f, 0, &none) + 1 == otp_otep_count(o, OTP_OTEP_TYPES);
    if (is_taken) {
        o->other_ids = f;
    }
    return is_taken;
}

bool otp_otep_put_tables(struct otp_otep *o)
{
    o->attrs.count = 0;
    put_strings(o);
    put_links(o);
    if (!put_attributes(o) || !put_functions(o) || !put_mappings(o)) {
        return false;
    }
    o->location_base = o->count[OTP_TABLE_LOCATION];
    for (uint32_t i = 0; i < otp_otep_count(o, OTP_OTEP_LOCATIONS); i++) {
        if (!put_location(o, otp_otep_entry(o, OTP_OTEP_LOCATIONS, i))) {
            return false;
        }
    }
    /* Attributes of the container, for all its profiles, wait in o->attrs. */
    for (uint32_t i = 0; i < otp_otep_count(o, OTP_OTEP_CONTAINER_ATTRS); i++) {
        const struct otp_field *kv = otp_otep_entry(o, OTP_OTEP_CONTAINER_ATTRS, i);
        if (!take_ids(o, kv) && !put_key_value(o, kv)) {
            return false;
        }
    }
    return true;
}
