/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of a container, once for each type. A list of times belongs to one value for each type:
 * with one time it is an observation; with several it is so many observations of 1 when that is the
 * value, or of equal parts when the value can be divided; else the times are left out.
 */
#include <string.h>

#include "core/decode/meter.h"
#include "core/decode/otep239_parts.h"

enum {
    OUT_PROFILES = 2, /* of ScopeProfiles */
    OUT_SAMPLE_TYPE = 1,
    OUT_SAMPLES = 2,
    OUT_TIME = 3,
    OUT_DURATION = 4,
    OUT_PERIOD_TYPE = 5,
    OUT_PERIOD = 6,
    OUT_ID = 7,
    OUT_DROPPED = 8,
    OUT_FORMAT = 9,
    OUT_PAYLOAD = 10,
    OUT_ATTRS = 11
};

enum {
    SAMPLE_LOCATION_INDEX = 1,
    SAMPLE_VALUE,
    SAMPLE_LABEL,
    SAMPLE_START = 7,
    SAMPLE_LENGTH,
    SAMPLE_ATTRS = 10,
    SAMPLE_LINK = 12,
    SAMPLE_TIMES
};

#define NS_PER_MS 1000000U

/* One sample, whose lists are in the working space. */
struct sample {
    uint64_t start;
    uint64_t length;
    uint64_t link;
    bool has_link;
    bool has_indices; /* the older list of places is in o->numbers */
};

static bool put_types(struct otp_otep *o, uint32_t field, const struct otp_field *type)
{
    struct otp_wire w = otp_otep_inside(o, type);
    size_t mark = otp_emit_open(&o->t->out, field);
    struct otp_field f;
    uint32_t string = 0;
    while (otp_wire_next(&w, &f)) {
        if (f.number > 2) {
            continue;
        }
        if (!otp_otep_string(o, f.at, otp_otep_number(&f), &string)) {
            return false;
        }
        otp_emit_number(&o->t->out, f.number, string);
    }
    otp_emit_close(&o->t->out, mark);
    return otp_wire_ok(&w);
}

/* ---- labels, the older form of attributes ---- */

static bool put_label(struct otp_otep *o, const struct otp_field *label)
{
    struct otp_wire w = otp_otep_inside(o, label);
    struct otp_field f;
    uint64_t number[5] = {0};
    uint32_t key = 0;
    uint32_t unit = 0;
    uint32_t text = 0;
    while (otp_wire_next(&w, &f)) {
        if (f.number < 5) {
            number[f.number] = otp_otep_number(&f);
        }
    }
    if (!otp_wire_ok(&w) || !otp_otep_string(o, label->at, number[1], &key) ||
        !otp_otep_string(o, label->at, number[2], &text) ||
        !otp_otep_string(o, label->at, number[4], &unit)) {
        return false;
    }
    if (key == 0) {
        o->t->lost.bare_labels++;
        return true;
    }
    struct otp_otep_attr a = otp_otep_begin_attr(o, key);
    if (text != 0) {
        const struct otp_field *s = otp_otep_entry(o, OTP_OTEP_STRINGS, (uint32_t)number[2]);
        otp_emit_bytes(&o->dict, 1, s->data, s->len);
        unit = 0;
    } else {
        otp_emit_uint(&o->dict, 3, number[3]);
    }
    return otp_otep_end_attr(o, a, unit);
}

/* ---- stacks ---- */

/* A stack of its own in the dictionary; equal ones are found when the message is written again. */
static bool put_stack(struct otp_otep *o, const struct otp_field *at, const struct sample *s,
                      uint32_t *out_stack)
{
    const uint64_t *places = o->numbers.items;
    uint64_t count = o->numbers.count;
    *out_stack = 0;
    if (!s->has_indices) {
        if (s->length > o->location_indices.count ||
            s->start > o->location_indices.count - s->length) {
            return otp_otep_fail(o, at->at, "a slice is not inside the list of locations");
        }
        places = otp_vec_at(&o->location_indices, s->start);
        count = s->length;
    }
    if (count == 0) {
        return true;
    }
    size_t entry = otp_emit_open(&o->dict, OTP_TABLE_STACK);
    size_t list = otp_emit_open(&o->dict, 1);
    for (uint64_t i = 0; i < count; i++) {
        if (places[i] >= otp_otep_count(o, OTP_OTEP_LOCATIONS)) {
            return otp_otep_fail(o, at->at, "a sample is at a location that is not there");
        }
        otp_emit_varint(&o->dict, o->location_base + places[i]);
    }
    otp_emit_close(&o->dict, list);
    otp_emit_close(&o->dict, entry);
    *out_stack = o->count[OTP_TABLE_STACK]++;
    return true;
}

/* ---- values and times ---- */

/* Times are in the unit of the container's range, or in milliseconds, as the proposal's text says.
 */
static uint64_t time_in_ns(const struct otp_otep *o, uint64_t time)
{
    uint64_t ns;
    bool fits = time >= o->start_ns && time <= o->end_ns;
    bool is_ms = !fits && !__builtin_mul_overflow(time, NS_PER_MS, &ns) && ns >= o->start_ns &&
                 ns <= o->end_ns;
    return is_ms ? ns : time;
}

/* The values of a sample for one type, beside its times. */
static void put_values(struct otp_otep *o, int64_t value)
{
    struct otp_emit *out = &o->t->out;
    const uint64_t *times = o->times.items;
    int64_t count = o->times.count;
    bool is_timed = count > 0 && value % (count == 0 ? 1 : count) == 0;
    size_t list = otp_emit_open(out, 4);
    for (int64_t i = 0; i < (is_timed ? count : 1); i++) {
        otp_emit_varint(out, (uint64_t)(is_timed ? value / count : value));
    }
    otp_emit_close(out, list);
    o->t->lost.odd_times += count > 0 && !is_timed;
    if (is_timed) {
        list = otp_emit_open(out, 5);
        for (int64_t i = 0; i < count; i++) {
            uint64_t ns = time_in_ns(o, times[i]);
            otp_emit_raw(out, &ns, sizeof(ns)); /* this machine stores numbers as the wire does */
        }
        otp_emit_close(out, list);
    }
}

static bool check_values(struct otp_otep *o, const struct otp_field *sample)
{
    uint64_t times = o->times.count;
    const uint64_t *values = o->values.items;
    bool is_zero = true;
    if (o->values.count == 0 && otp_otep_count(o, OTP_OTEP_TYPES) == 1 && times > 0) {
        return otp_vec_append(&o->values, &times, 1) || otp_otep_no_room(o); /* 1 for each */
    }
    if (o->values.count != otp_otep_count(o, OTP_OTEP_TYPES)) {
        return otp_otep_fail(o, sample->at, "a sample has not one value for each sample type");
    }
    for (uint32_t i = 0; i < o->values.count; i++) {
        is_zero = is_zero && values[i] == 0;
    }
    o->t->lost.zero_samples += is_zero;
    return true;
}

/* ---- samples ---- */

static bool sample_field(struct otp_otep *o, const struct otp_field *f, struct sample *s)
{
    switch (f->number) {
    case SAMPLE_VALUE:
        return otp_otep_numbers(o, f, &o->values);
    case SAMPLE_TIMES:
        return otp_otep_numbers(o, f, &o->times);
    case SAMPLE_ATTRS:
        return otp_otep_add_places(o, f);
    case SAMPLE_LABEL:
        return f->type == OTP_WIRE_LEN ? put_label(o, f)
                                       : otp_otep_fail(o, f->at, "a label is no message");
    case SAMPLE_START:
        s->start = otp_otep_number(f);
        return true;
    case SAMPLE_LENGTH:
        s->length = otp_otep_number(f);
        return true;
    case SAMPLE_LINK:
        s->link = otp_otep_number(f);
        s->has_link = true;
        return s->link < otp_otep_count(o, OTP_OTEP_LINKS) || s->link == 0 ||
               otp_otep_fail(o, f->at, "a link is not in the table");
    default:
        return true;
    }
}

/* The older list of places, which o->numbers then holds: read last, since attributes use it too. */
static bool read_indices(struct otp_otep *o, const struct otp_field *sample, struct sample *s)
{
    struct otp_wire w = otp_otep_inside(o, sample);
    struct otp_field f;
    o->numbers.count = 0;
    while (s->length == 0 && otp_wire_next(&w, &f)) {
        if (f.number == SAMPLE_LOCATION_INDEX && !otp_otep_numbers(o, &f, &o->numbers)) {
            return false;
        }
    }
    s->has_indices = o->numbers.count > 0;
    return true;
}

/* What a sample is written with, once read: the same for each type. */
struct written {
    uint32_t stack;
    uint32_t link;
};

static bool read_sample(struct otp_otep *o, const struct otp_field *sample, struct written *out)
{
    struct otp_wire w = otp_otep_inside(o, sample);
    struct sample s = {.start = 0};
    struct otp_field f;
    o->values.count = 0;
    o->times.count = 0;
    o->attrs.count = 0;
    while (otp_wire_next(&w, &f)) {
        if (!sample_field(o, &f, &s)) {
            return false;
        }
    }
    if (!otp_wire_ok(&w) || !read_indices(o, sample, &s) || !check_values(o, sample) ||
        !put_stack(o, sample, &s, &out->stack)) {
        return false;
    }
    out->link = s.has_link ? o->link_base + (uint32_t)s.link : 0;
    return true;
}

static void put_sample(struct otp_otep *o, const struct written *s, uint32_t type)
{
    const uint64_t *values = o->values.items;
    const uint64_t *attrs = o->attrs.items;
    struct otp_emit *out = &o->t->out;
    size_t mark = otp_emit_open(out, OUT_SAMPLES);
    otp_emit_number(out, 1, s->stack);
    if (o->attrs.count > 0) {
        size_t list = otp_emit_open(out, 2);
        for (uint32_t i = 0; i < o->attrs.count; i++) {
            otp_emit_varint(out, attrs[i]);
        }
        otp_emit_close(out, list);
    }
    otp_emit_number(out, 3, s->link);
    put_values(o, (int64_t)values[type]);
    otp_emit_close(out, mark);
}

/* Samples are read again for each type: their stacks and labels come anew, which costs room only.
 */
static bool put_samples(struct otp_otep *o, uint32_t type)
{
    struct otp_lost before = o->t->lost;
    uint32_t count = otp_otep_count(o, OTP_OTEP_SAMPLES);
    const struct otp_field *samples = otp_otep_entry(o, OTP_OTEP_SAMPLES, 0);
    for (uint32_t i = 0; i < count; i++) {
        struct written s = {.stack = 0};
        otp_meter_at("reading", samples[0].at, samples[i].at, samples[count - 1].at, i);
        if (!read_sample(o, &samples[i], &s)) {
            return false;
        }
        if (((const uint64_t *)o->values.items)[type] != 0) {
            put_sample(o, &s, type);
        }
    }
    if (type > 0) {
        uint64_t odd = o->t->lost.odd_times;
        o->t->lost = before; /* counted with the first type */
        o->t->lost.odd_times = odd;
    }
    return true;
}

/* ---- profiles ---- */

static bool add_comments(struct otp_otep *o)
{
    static const char key[] = "pprof.profile.comment";
    const uint64_t *comments = o->comments.items;
    if (o->comments.count == 0) {
        return true;
    }
    uint32_t name = otp_otep_add_string(o, key, sizeof(key) - 1);
    struct otp_otep_attr a = otp_otep_begin_attr(o, name);
    size_t array = otp_emit_open(&o->dict, 5);
    for (uint32_t i = 0; i < o->comments.count; i++) {
        if (comments[i] >= otp_otep_count(o, OTP_OTEP_STRINGS)) {
            return otp_otep_fail(o, o->data, "a comment is not in the string table");
        }
        const struct otp_field *s = otp_otep_entry(o, OTP_OTEP_STRINGS, (uint32_t)comments[i]);
        size_t item = otp_emit_open(&o->dict, 1);
        otp_emit_bytes(&o->dict, 1, s->data, s->len);
        otp_emit_close(&o->dict, item);
    }
    otp_emit_close(&o->dict, array);
    return otp_otep_end_attr(o, a, 0);
}

/* The attributes of all profiles of the container, as the content of their field. */
static bool gather_attrs(struct otp_otep *o, struct otp_emit *list)
{
    uint32_t drop = 0;
    uint32_t keep = 0;
    if (!otp_otep_string(o, o->data, o->drop_frames, &drop) ||
        !otp_otep_string(o, o->data, o->keep_frames, &keep) ||
        !otp_otep_add_text(o, "pprof.profile.drop_frames", drop) ||
        !otp_otep_add_text(o, "pprof.profile.keep_frames", keep) || !add_comments(o)) {
        return false;
    }
    otp_otep_put_attrs(o, list, OUT_ATTRS);
    return true;
}

static void put_range(struct otp_otep *o)
{
    bool has_range = o->start_ns != 0 || o->end_ns != 0;
    uint64_t start = has_range ? o->start_ns : o->time_ns;
    uint64_t length =
        has_range ? (o->end_ns > o->start_ns ? o->end_ns - o->start_ns : 0) : o->duration_ns;
    if (start != 0) {
        otp_emit_fixed64(&o->t->out, OUT_TIME, start);
    }
    otp_emit_number(&o->t->out, OUT_DURATION, length);
}

static void put_id(struct otp_otep *o, uint32_t type)
{
    struct otp_text id = otp_otep_id(o, type);
    if (id.len > 0) {
        otp_emit_bytes(&o->t->out, OUT_ID, id.data, id.len);
    }
}

/* The payload is large: it stays with the first. */
static void put_payload(struct otp_otep *o)
{
    struct otp_emit *out = &o->t->out;
    if (o->format.len > 0 && o->payload.len > 0) {
        otp_emit_bytes(out, OUT_FORMAT, o->format.data, o->format.len);
        otp_emit_bytes(out, OUT_PAYLOAD, o->payload.data, o->payload.len);
    }
}

static bool put_profile(struct otp_otep *o, uint32_t type, const struct otp_emit *attrs)
{
    struct otp_emit *out = &o->t->out;
    size_t mark = otp_emit_open(out, OUT_PROFILES);
    if (!put_types(o, OUT_SAMPLE_TYPE, otp_otep_entry(o, OTP_OTEP_TYPES, type)) ||
        !put_samples(o, type)) {
        return false;
    }
    put_range(o);
    if (o->period_type.len > 0 && !put_types(o, OUT_PERIOD_TYPE, &o->period_type)) {
        return false;
    }
    otp_emit_number(out, OUT_PERIOD, o->period);
    otp_emit_number(out, OUT_DROPPED, o->dropped);
    put_id(o, type);
    if (type == 0) {
        put_payload(o);
    }
    otp_emit_raw(out, attrs->data, attrs->len);
    otp_emit_close(out, mark);
    return true;
}

bool otp_otep_put_profiles(struct otp_otep *o)
{
    struct otp_emit attrs;
    otp_emit_init(&attrs, o->t->out.max);
    bool ok = gather_attrs(o, &attrs);
    for (uint32_t i = 0; i < otp_otep_count(o, OTP_OTEP_TYPES) && ok; i++) {
        ok = put_profile(o, i, &attrs);
    }
    ok = ok && !attrs.failed;
    otp_emit_fini(&attrs);
    return ok || otp_otep_no_room(o);
}
