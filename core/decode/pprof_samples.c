/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of pprof: stacks and attributes get numbers, equal ones the same. */
#include <string.h>

#include "core/decode/meter.h"
#include "core/decode/pprof_parts.h"

enum { PROFILE_SAMPLE = 2 };
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

static bool take_labels(struct otp_pprof *p, const struct otp_field *at, struct otp_row *s)
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

/* ---- samples as they usually are ---- */

#define LABEL_PLACES 1024U /* in pairs: a label is at one of two */
/* Bytes of samples that are given back at once: a huge page. */
#define GIVE_BACK ((uintptr_t)2 << 20)

enum { TAG_LOCATIONS = 0x0a, TAG_VALUES = 0x12, TAG_LABEL = 0x1a }; /* of Sample, lists packed */

/* A label as a number. */
OTP_INLINE uint64_t label_bytes(const uint8_t *at, uint64_t len)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < len; i++) {
        bytes |= (uint64_t)at[i] << (8 * i);
    }
    return bytes;
}

/* Both places of a label. */
OTP_INLINE struct otp_pprof_label *label_places(struct otp_pprof *p, uint64_t bytes)
{
    uint64_t hash = (bytes * 0x9e3779b97f4a7c15U) >> 32;
    return &p->recent.labels[hash % (LABEL_PLACES / 2) * 2];
}

/* The attribute that a label is, 0: it was not met lately. */
OTP_INLINE uint32_t known_label(struct otp_pprof *p, const uint8_t *at, uint64_t len)
{
    if (len > sizeof(uint64_t)) {
        return 0;
    }
    uint64_t bytes = label_bytes(at, len);
    const struct otp_pprof_label *l = label_places(p, bytes);
    for (unsigned i = 0; i < 2; i++) {
        if (l[i].bytes == bytes && l[i].len == len) {
            return l[i].attr;
        }
    }
    return 0;
}

/* Makes a label known, and forgets the older one of its places. */
static void keep_label(struct otp_pprof *p, const struct otp_field *label, uint32_t attr)
{
    const struct otp_pprof_label kept = {
        .bytes = label_bytes(label->data, label->len), .len = (uint32_t)label->len, .attr = attr};
    struct otp_pprof_label *l = label_places(p, kept.bytes);
    l[1] = l[0];
    l[0] = kept;
}

/* The content of a field of that tag, when such a one comes next. */
OTP_INLINE bool content_of(struct otp_wire *w, uint8_t tag, const uint8_t **out_at,
                           uint64_t *out_len)
{
    if (w->pos == w->end || *w->pos != tag) {
        return false;
    }
    w->pos++;
    if (!otp_wire_varint(w, out_len) || *out_len > (uint64_t)(w->end - w->pos)) {
        return false;
    }
    *out_at = w->pos;
    w->pos += *out_len;
    return true;
}

/* Puts one value for each type behind the others, where there is room for them, when there are so
 * many; they do not count yet. */
OTP_INLINE bool quick_values(struct otp_pprof *p, const uint8_t *at, uint64_t len,
                             bool *out_is_zero)
{
    struct otp_wire_fault ignored = {.reason = NULL};
    struct otp_wire w = {.pos = at, .end = at + len, .fault = &ignored};
    uint64_t *out = (uint64_t *)p->values.items + p->values.count;
    uint64_t any = 0;
    for (uint32_t i = 0; i < p->types.count; i++) {
        if (!otp_wire_varint(&w, &out[i])) {
            return false;
        }
        any |= out[i];
    }
    *out_is_zero = any == 0;
    return w.pos == w.end;
}

static bool has_room(struct otp_pprof *p)
{
    return OTP_LIKELY(p->values.capacity - p->values.count >= p->types.count &&
                      p->attrs.count < p->attrs.capacity &&
                      p->samples.count < p->samples.capacity) ||
           (otp_vec_reserve(&p->values, p->types.count) && otp_vec_reserve(&p->attrs, 1) &&
            otp_vec_reserve(&p->samples, 1));
}

/*
 * Reads a sample that has the stack of the one before, one list of values, and no label or one that
 * was met lately. False: it is not of that kind, or there is something to complain about, and
 * nothing has happened.
 */
static bool quick_sample(struct otp_pprof *p, const struct otp_field *sample)
{
    struct otp_wire_fault ignored = {.reason = NULL};
    struct otp_wire w = {.pos = sample->data, .end = sample->data + sample->len, .fault = &ignored};
    struct otp_row s = {.stack = p->recent.stack, .first_attr = p->attrs.count};
    const uint8_t *stack;
    const uint8_t *part;
    uint64_t len;
    bool is_zero;
    if (!has_room(p)) {
        return false;
    }
    if (!content_of(&w, TAG_LOCATIONS, &stack, &len) || len == 0 || len != p->recent.stack_len ||
        memcmp(stack, p->recent.stack_at, len) != 0) {
        return false;
    }
    if (!content_of(&w, TAG_VALUES, &part, &len) || !quick_values(p, part, len, &is_zero)) {
        return false;
    }
    if (w.pos < w.end) {
        uint32_t attr = content_of(&w, TAG_LABEL, &part, &len) ? known_label(p, part, len) : 0;
        if (attr == 0 || w.pos < w.end) {
            return false;
        }
        ((uint32_t *)p->attrs.items)[p->attrs.count++] = attr;
        s.attr_count = 1;
    }
    ((struct otp_row *)p->samples.items)[p->samples.count++] = s;
    p->values.count += p->types.count;
    p->lost.zero_samples += is_zero;
    p->recent.stack_at = stack;
    return true;
}

/* ---- samples ---- */

/* Fields of a sample that may come again in others: how many, and the last. */
struct parts {
    uint32_t stacks;
    uint32_t labels;
    struct otp_field stack;
    struct otp_field label;
};

/* Notes what was read of a sample, so that the next one may be found to be like it. */
static void remember(struct otp_pprof *p, const struct parts *parts, const struct otp_row *s)
{
    const struct otp_field *label = &parts->label;
    bool is_list = parts->stacks == 1 && parts->stack.type == OTP_WIRE_LEN;
    p->recent.stack_at = is_list ? parts->stack.data : NULL;
    p->recent.stack_len = is_list ? parts->stack.len : 0;
    p->recent.stack = s->stack;
    if (parts->labels == 1 && s->attr_count == 1 && label->len <= sizeof(uint64_t)) {
        keep_label(p, label, *(const uint32_t *)otp_vec_at(&p->attrs, s->first_attr));
    }
}

static bool sample_field(struct otp_pprof *p, const struct otp_field *f, struct parts *parts)
{
    switch (f->number) {
    case SAMPLE_LOCATION_ID:
        parts->stacks++;
        parts->stack = *f;
        p->numbers.count = 0;
        return add_numbers(p, f, &p->numbers) && add_frames(p, f);
    case SAMPLE_VALUE:
        return add_numbers(p, f, &p->values);
    case SAMPLE_LABEL:
        parts->labels++;
        parts->label = *f;
        return f->type == OTP_WIRE_LEN ? read_label(p, f)
                                       : otp_pprof_fail(p, f->at, "a label is no message");
    default:
        return true;
    }
}

static bool read_sample(struct otp_pprof *p, const struct otp_field *sample)
{
    struct otp_wire w = otp_pprof_inside(p, sample);
    struct otp_row s = {.first_attr = p->attrs.count};
    uint32_t first_frame = p->frames.count;
    uint32_t first_value = p->values.count;
    struct parts parts = {.stacks = 0};
    struct otp_field f;
    p->labels.count = 0;
    while (otp_wire_next(&w, &f)) {
        if (!sample_field(p, &f, &parts)) {
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
    remember(p, &parts, &s);
    return otp_vec_append(&p->samples, &s, 1) || otp_pprof_no_room(p);
}

/* Gives back what lies before the sample f, when it is enough; where the rest begins. */
static const uint8_t *give_back(const struct otp_pprof *p, const uint8_t *begin,
                                const struct otp_field *f)
{
    if (!p->is_consumed || (uintptr_t)(f->at - begin) < GIVE_BACK) {
        return begin;
    }
    const uint8_t *whole = f->at - ((uintptr_t)f->at & (GIVE_BACK - 1));
    otp_give_back(begin, whole);
    return whole;
}

bool otp_pprof_read_samples(struct otp_pprof *p)
{
    const uint8_t *begin = p->samples_begin; /* of samples that are side by side */
    struct otp_wire w = {.pos = begin, .end = p->samples_end, .fault = &p->fault};
    struct otp_field f;
    p->recent.labels = otp_heap_calloc(&p->heap, LABEL_PLACES, sizeof(p->recent.labels[0]));
    if (p->recent.labels == NULL || otp_vec_push(&p->stacks) == NULL) {
        return otp_pprof_no_room(p);
    }
    /* Room for all of them, so that the array need not move; if there is none, it may grow too. */
    (void)otp_vec_reserve(&p->samples, p->sample_count);
    for (uint64_t i = 0; otp_wire_next(&w, &f); i++) {
        if (f.number != PROFILE_SAMPLE || f.type != OTP_WIRE_LEN) {
            begin = w.pos;
            continue;
        }
        otp_meter_at("reading samples", p->data, f.at, p->data + p->len, i);
        if (!quick_sample(p, &f) && !read_sample(p, &f)) {
            return false;
        }
        begin = give_back(p, begin, &f);
    }
    return otp_wire_ok(&w);
}
