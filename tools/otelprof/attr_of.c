/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists and maps are kept encoded in the model. Their form was checked when they were read, so what
 * cannot be read here is passed over. Source of the numbers: proto/otlp_common.proto.
 */
#include "tools/otelprof/attr_of.h"

#include <string.h>

#include "core/decode/any_value.h"

struct reading {
    struct otp_arena *arena;
    const struct otp_profiles *m;
    bool *cut;
};

static bool read_any(const struct reading *r, struct otp_wire w, unsigned depth,
                     struct otp_attr *out);

static struct otp_text text_in(const struct otp_field *f)
{
    return otp_text_make((const char *)f->data, f->len);
}

/* One KeyValue of a map. The recursion is bounded by OTP_ATTR_MAX_DEPTH. */
static bool read_pair(const struct reading *r, struct otp_wire w, unsigned depth,
                      struct otp_attr *out)
{
    struct otp_field f;
    while (otp_wire_next(&w, &f)) {
        if (f.number == OTP_KEYVALUE_KEY && f.type == OTP_WIRE_LEN) {
            out->key = text_in(&f);
        } else if (f.number == OTP_KEYVALUE_KEY_STRINDEX && f.type == OTP_WIRE_VARINT) {
            out->key = otp_profiles_string(r->m, (int32_t)f.value);
        } else if (f.number == OTP_KEYVALUE_VALUE && f.type == OTP_WIRE_LEN) {
            if (!read_any(r, otp_wire_nested(&w, &f), depth, out)) {
                return false;
            }
        }
    }
    return true;
}

static size_t count_items(struct otp_wire w)
{
    struct otp_field f;
    size_t count = 0;
    while (otp_wire_next(&w, &f)) {
        count += f.number == 1 && f.type == OTP_WIRE_LEN;
    }
    return count;
}

static bool read_items(const struct reading *r, struct otp_wire w, unsigned depth,
                       struct otp_attr *out)
{
    size_t count = count_items(w);
    struct otp_attr *items = otp_arena_alloc(r->arena, count * sizeof(items[0]) + 1);
    struct otp_field f;
    size_t i = 0;
    if (items == NULL) {
        return false;
    }
    memset(items, 0, count * sizeof(items[0]));
    while (otp_wire_next(&w, &f)) {
        if (f.number != 1 || f.type != OTP_WIRE_LEN) {
            continue;
        }
        struct otp_attr *item = &items[i++];
        struct otp_wire inside = otp_wire_nested(&w, &f);
        item->kind = OTP_ATTR_EMPTY;
        if (!(out->kind == OTP_ATTR_LIST ? read_any(r, inside, depth, item)
                                         : read_pair(r, inside, depth, item))) {
            return false;
        }
    }
    out->items = items;
    out->item_count = count;
    return true;
}

static bool read_nested(const struct reading *r, struct otp_wire w, unsigned depth,
                        struct otp_attr *out)
{
    if (depth >= OTP_ATTR_MAX_DEPTH) {
        out->kind = OTP_ATTR_EMPTY;
        *r->cut = true;
        return true;
    }
    return read_items(r, w, depth + 1, out);
}

static bool read_any(const struct reading *r, struct otp_wire w, unsigned depth,
                     struct otp_attr *out)
{
    struct otp_field f;
    bool ok = true;
    while (ok && otp_wire_next(&w, &f)) {
        switch (f.number) {
        case OTP_VALUE_STRING:
        case OTP_VALUE_BYTES:
            out->kind = f.number == OTP_VALUE_STRING ? OTP_ATTR_STRING : OTP_ATTR_BYTES;
            out->string = f.type == OTP_WIRE_LEN ? text_in(&f) : otp_text_of(NULL);
            break;
        case OTP_VALUE_BOOL:
        case OTP_VALUE_INT:
            out->kind = f.number == OTP_VALUE_BOOL ? OTP_ATTR_BOOL : OTP_ATTR_INT;
            out->number = f.type == OTP_WIRE_VARINT ? (int64_t)f.value : 0;
            break;
        case OTP_VALUE_DOUBLE:
            out->kind = OTP_ATTR_DOUBLE;
            out->real = 0;
            if (f.type == OTP_WIRE_I64) {
                memcpy(&out->real, &f.value, sizeof(out->real));
            }
            break;
        case OTP_VALUE_STRINDEX:
            out->kind = OTP_ATTR_STRING;
            out->string = f.type == OTP_WIRE_VARINT ? otp_profiles_string(r->m, (int32_t)f.value)
                                                    : otp_text_of(NULL);
            break;
        case OTP_VALUE_ARRAY:
        case OTP_VALUE_KVLIST:
            out->kind = f.number == OTP_VALUE_ARRAY ? OTP_ATTR_LIST : OTP_ATTR_MAP;
            ok = f.type != OTP_WIRE_LEN || read_nested(r, otp_wire_nested(&w, &f), depth, out);
            break;
        default:
            break;
        }
    }
    return ok;
}

bool otp_attr_of_value(struct otp_arena *arena, const struct otp_profiles *m,
                       const struct otp_value *v, struct otp_attr *out, bool *out_cut)
{
    const struct reading r = {.arena = arena, .m = m, .cut = out_cut};
    struct otp_wire_fault fault = {.reason = NULL};
    struct otp_wire w;
    switch (v->kind) {
    case OTP_VALUE_STRING:
    case OTP_VALUE_STRINDEX:
        out->kind = OTP_ATTR_STRING;
        out->string = otp_profiles_value_text(m, v);
        return true;
    case OTP_VALUE_BYTES:
        out->kind = OTP_ATTR_BYTES;
        out->string = otp_profiles_text(m, v->of.piece);
        return true;
    case OTP_VALUE_BOOL:
    case OTP_VALUE_INT:
        out->kind = v->kind == OTP_VALUE_BOOL ? OTP_ATTR_BOOL : OTP_ATTR_INT;
        out->number = v->of.number;
        return true;
    case OTP_VALUE_DOUBLE:
        out->kind = OTP_ATTR_DOUBLE;
        out->real = v->of.real;
        return true;
    case OTP_VALUE_ARRAY:
    case OTP_VALUE_KVLIST:
        out->kind = v->kind == OTP_VALUE_ARRAY ? OTP_ATTR_LIST : OTP_ATTR_MAP;
        otp_wire_init(&w, m->bytes + v->of.piece.off, v->of.piece.len, &fault);
        return read_items(&r, w, 1, out);
    case OTP_VALUE_NONE:
    case OTP_VALUE_KINDS:
    default:
        out->kind = OTP_ATTR_EMPTY;
        return true;
    }
}

struct otp_attr *otp_attrs_of_keyvalues(struct otp_arena *arena, const struct otp_profiles *m,
                                        struct otp_slice keyvalues, bool *out_cut)
{
    struct otp_attr *attrs = otp_arena_alloc(arena, keyvalues.count * sizeof(attrs[0]) + 1);
    if (attrs == NULL) {
        return NULL;
    }
    memset(attrs, 0, keyvalues.count * sizeof(attrs[0]));
    for (uint32_t i = 0; i < keyvalues.count; i++) {
        const struct otp_keyvalue *kv = otp_profiles_keyvalue(m, keyvalues.first + i);
        attrs[i].key = otp_profiles_key(m, kv);
        if (!otp_attr_of_value(arena, m, &kv->value, &attrs[i], out_cut)) {
            return NULL;
        }
    }
    return attrs;
}

bool otp_attr_of_entry(struct otp_arena *arena, const struct otp_profiles *m, int32_t index,
                       struct otp_attr *out, bool *out_cut)
{
    const struct otp_attribute *a = otp_profiles_attribute(m, index);
    memset(out, 0, sizeof(*out));
    out->key = otp_profiles_string(m, a->key);
    out->unit = otp_profiles_string(m, a->unit);
    return otp_attr_of_value(arena, m, &a->value, out, out_cut);
}

static bool text_equal(struct otp_text a, struct otp_text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* The recursion is bounded by OTP_ATTR_MAX_DEPTH. */
bool otp_attr_equal(const struct otp_attr *a, const struct otp_attr *b)
{
    bool same = a->kind == b->kind && text_equal(a->key, b->key) && text_equal(a->unit, b->unit) &&
                text_equal(a->string, b->string) && a->number == b->number &&
                memcmp(&a->real, &b->real, sizeof(a->real)) == 0 && a->item_count == b->item_count;
    for (size_t i = 0; i < a->item_count && same; i++) {
        same = otp_attr_equal(&a->items[i], &b->items[i]);
    }
    return same;
}
