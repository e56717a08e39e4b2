/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of pprof: stacks and attributes get numbers, equal ones the same. */
#include <string.h>

#include "core/decode/meter.h"
#include "core/decode/pprof_parts.h"

enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STR, LABEL_NUM, LABEL_NUM_UNIT };

_Static_assert(sizeof(struct otp_pprof_value) == 24, "no padding");

/* Adds the numbers of a repeated field, packed or not. */
static bool add_numbers(struct otp_pprof *p, const struct otp_field *f, struct otp_vec *to)
{
    uint64_t v = f->value;
    if (f->type == OTP_WIRE_VARINT) {
        return otp_vec_append(to, &v, 1) || otp_pprof_no_room(p);
    }
    if (f->type != OTP_WIRE_LEN) {
        return otp_pprof_fail(p, f->at, "a number of a sample has another wire type");
    }
    struct otp_wire w = otp_pprof_inside(p, f);
    if (!otp_vec_reserve(to, otp_wire_count_varints(f->data, f->len) + 1)) {
        return otp_pprof_no_room(p);
    }
    uint64_t *out = (uint64_t *)to->items + to->count;
    while (w.pos < w.end && otp_wire_varint(&w, out)) {
        out++;
        to->count++;
    }
    return otp_wire_ok(&w);
}

/* ---- stacks ---- */

struct stack_key {
    const uint32_t *frames;
    uint32_t count;
};

static bool same_stack(const void *ctx, uint32_t id, const void *key)
{
    const struct otp_pprof *p = ctx;
    const struct stack_key *k = key;
    const struct otp_slice *s = (const struct otp_slice *)p->stacks.items + id;
    const uint32_t *frames = otp_vec_at(&p->frames, s->first);
    return s->count == k->count && memcmp(frames, k->frames, k->count * sizeof(frames[0])) == 0;
}

/* The stack of the locations that were added to p->frames from `first` on. */
static bool take_stack(struct otp_pprof *p, uint32_t first, uint32_t *out_stack)
{
    const uint32_t *frames = otp_vec_at(&p->frames, first);
    const struct stack_key key = {.frames = frames, .count = p->frames.count - first};
    *out_stack = 0;
    if (key.count == 0) {
        return true;
    }
    uint64_t hash = otp_hash_bytes(frames, key.count * sizeof(frames[0]), 0);
    *out_stack = otp_map_find(&p->stack_map, hash, &key, same_stack, p);
    if (*out_stack != OTP_MAP_NONE) {
        p->frames.count = first;
        return true;
    }
    struct otp_slice *s = otp_vec_push(&p->stacks);
    if (s == NULL || !otp_map_add(&p->stack_map, hash, p->stacks.count - 1)) {
        return otp_pprof_no_room(p);
    }
    s->first = first;
    s->count = key.count;
    *out_stack = p->stacks.count - 1;
    return true;
}

static bool add_frames(struct otp_pprof *p, const struct otp_field *at)
{
    const uint64_t *ids = p->numbers.items;
    if (p->numbers.count == 0) {
        return true;
    }
    if (!otp_vec_reserve(&p->frames, p->numbers.count)) {
        return otp_pprof_no_room(p);
    }
    uint32_t *out = (uint32_t *)p->frames.items + p->frames.count;
    for (uint32_t i = 0; i < p->numbers.count; i++) {
        uint32_t location = otp_pprof_find(&p->locations, ids[i]);
        if (location == 0) {
            return otp_pprof_fail(p, at->at, "a sample is at a location that is not there");
        }
        out[i] = location;
    }
    p->frames.count += p->numbers.count;
    return true;
}

/* ---- attributes ---- */

struct attr_key {
    const struct otp_pprof_value *values;
    uint32_t count;
};

static bool same_attr(const void *ctx, uint32_t id, const void *key)
{
    const struct otp_pprof *p = ctx;
    const struct attr_key *k = key;
    const struct otp_slice *s = (const struct otp_slice *)p->attr_table.items + id;
    const struct otp_pprof_value *values = otp_vec_at(&p->attr_parts, s->first);
    return s->count == k->count && memcmp(values, k->values, k->count * sizeof(values[0])) == 0;
}

bool otp_pprof_attribute(struct otp_pprof *p, const struct otp_pprof_value *values, uint32_t count,
                         uint32_t *out_attr)
{
    const struct attr_key key = {.values = values, .count = count};
    uint64_t hash = otp_hash_bytes(values, count * sizeof(values[0]), 0);
    uint32_t found = otp_map_find(&p->attr_map, hash, &key, same_attr, p);
    if (found == OTP_MAP_NONE) {
        struct otp_slice *s = otp_vec_push(&p->attr_table);
        if (s == NULL) {
            return otp_pprof_no_room(p);
        }
        s->first = p->attr_parts.count;
        s->count = count;
        found = p->attr_table.count - 1;
        if (!otp_vec_append(&p->attr_parts, values, count) ||
            !otp_map_add(&p->attr_map, hash, found)) {
            return otp_pprof_no_room(p);
        }
    }
    *out_attr = found + 1;
    return true;
}

static bool label_field(struct otp_pprof *p, const struct otp_field *f, struct otp_pprof_value *v)
{
    switch (f->number) {
    case LABEL_KEY:
        return otp_pprof_string(p, f, &v->key);
    case LABEL_STR:
        return otp_pprof_string(p, f, &v->text);
    case LABEL_NUM_UNIT:
        return otp_pprof_string(p, f, &v->unit);
    case LABEL_NUM:
        v->number = (int64_t)f->value;
        return f->type == OTP_WIRE_VARINT ||
               otp_pprof_fail(p, f->at, "a number of a label has another wire type");
    default:
        return true;
    }
}

/* A label says a text when it has one; a text of no bytes is one when nothing else is there. */
static bool read_label(struct otp_pprof *p, const struct otp_field *label)
{
    struct otp_wire w = otp_pprof_inside(p, label);
    struct otp_pprof_value v = {.kind = OTP_VALUE_INT};
    struct otp_field f;
    bool has_text = false;
    bool has_number = false;
    while (otp_wire_next(&w, &f)) {
        if (!label_field(p, &f, &v)) {
            return false;
        }
        has_text = has_text || f.number == LABEL_STR;
        has_number = has_number || f.number == LABEL_NUM || f.number == LABEL_NUM_UNIT;
    }
    if (v.text != 0 || (has_text && !has_number)) {
        v.kind = OTP_VALUE_STRING;
        v.number = 0;
        v.unit = 0;
    }
    if (v.key == 0) {
        p->lost.bare_labels++;
        return otp_wire_ok(&w); /* nothing can be said of a label without a key */
    }
    return otp_wire_ok(&w) && (otp_vec_append(&p->labels, &v, 1) || otp_pprof_no_room(p));
}

/* Puts equal keys side by side, otherwise as they came; lists are short. */
static void gather_labels(struct otp_pprof_value *labels, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        struct otp_pprof_value v = labels[i];
        uint32_t to = i;
        for (uint32_t k = i; k-- > 0;) {
            if (labels[k].key == v.key) {
                to = k + 1;
                break;
            }
        }
        memmove(&labels[to + 1], &labels[to], (i - to) * sizeof(v));
        labels[to] = v;
    }
}

uint32_t otp_pprof_unit(const struct otp_pprof_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (values[i].unit != 0) {
            return values[i].unit;
        }
    }
    return 0;
}

/* An attribute has one unit. */
static void count_units(struct otp_pprof *p, const struct otp_pprof_value *values, uint32_t count)
{
    uint32_t unit = otp_pprof_unit(values, count);
    for (uint32_t i = 0; i < count; i++) {
        p->lost.label_units += values[i].kind == OTP_VALUE_INT && values[i].unit != unit;
    }
}

#define LABELS_MAX 4096U /* of one sample */

static bool take_labels(struct otp_pprof *p, const struct otp_field *at, struct otp_pprof_sample *s)
{
    if (p->labels.count > LABELS_MAX) {
        return otp_pprof_fail(p, at->at, "a sample has more than 4096 labels");
    }
    if (!otp_pprof_take_link(p, &s->link)) {
        return false;
    }
    struct otp_pprof_value *labels = p->labels.items;
    uint32_t count = p->labels.count;
    gather_labels(labels, count);
    for (uint32_t i = 0, next; i < count; i = next) {
        uint32_t attr;
        next = i + 1;
        while (next < count && labels[next].key == labels[i].key) {
            next++;
        }
        count_units(p, &labels[i], next - i);
        if (!otp_pprof_attribute(p, &labels[i], next - i, &attr)) {
            return false;
        }
        if (!otp_vec_append(&p->attrs, &attr, 1)) {
            return otp_pprof_no_room(p);
        }
        s->attr_count++;
    }
    return true;
}

/* ---- samples ---- */

static bool sample_field(struct otp_pprof *p, const struct otp_field *f)
{
    switch (f->number) {
    case SAMPLE_LOCATION_ID:
        p->numbers.count = 0;
        return add_numbers(p, f, &p->numbers) && add_frames(p, f);
    case SAMPLE_VALUE:
        return add_numbers(p, f, &p->values);
    case SAMPLE_LABEL:
        return f->type == OTP_WIRE_LEN ? read_label(p, f)
                                       : otp_pprof_fail(p, f->at, "a label is no message");
    default:
        return true;
    }
}

static bool read_sample(struct otp_pprof *p, const struct otp_field *sample)
{
    struct otp_wire w = otp_pprof_inside(p, sample);
    struct otp_pprof_sample s = {.first_attr = p->attrs.count};
    uint32_t first_frame = p->frames.count;
    uint32_t first_value = p->values.count;
    struct otp_field f;
    p->labels.count = 0;
    while (otp_wire_next(&w, &f)) {
        if (!sample_field(p, &f)) {
            return false;
        }
    }
    if (!otp_wire_ok(&w) || !take_stack(p, first_frame, &s.stack) || !take_labels(p, sample, &s)) {
        return false;
    }
    bool is_zero = true;
    for (uint32_t i = first_value; i < p->values.count; i++) {
        is_zero = is_zero && ((const int64_t *)p->values.items)[i] == 0;
    }
    p->lost.zero_samples += is_zero;
    if (p->values.count - first_value != p->types.count) {
        return otp_pprof_fail(p, sample->at, "a sample has not one value for each sample type");
    }
    return otp_vec_append(&p->samples, &s, 1) || otp_pprof_no_room(p);
}

bool otp_pprof_read_samples(struct otp_pprof *p)
{
    const struct otp_field *fields = p->sample_fields.items;
    if (otp_vec_push(&p->stacks) == NULL) {
        return otp_pprof_no_room(p);
    }
    for (uint32_t i = 0; i < p->sample_fields.count; i++) {
        otp_meter_at("reading samples", p->data, fields[i].at, p->data + p->len, i);
        if (!read_sample(p, &fields[i])) {
            return false;
        }
    }
    otp_vec_fini(&p->sample_fields); /* all of them are read */
    return true;
}
