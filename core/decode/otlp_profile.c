/* SPDX-License-Identifier: Apache-2.0 */
/* Profile and Sample, by the numbers of each version that can be read. */
#include <string.h>

#include "core/decode/meter.h"
#include "core/decode/otlp_parts.h"

/* What a field of Sample means; numbered as in 1.10. */
enum sample_role { SAMPLE_STACK = 1, SAMPLE_ATTRS, SAMPLE_LINK, SAMPLE_VALUES, SAMPLE_TIMES };

/* Roles of the fields 1 to 5 of Sample before 1.10. */
static const uint8_t sample_roles_1_9[] = {0,           SAMPLE_STACK, SAMPLE_VALUES, SAMPLE_ATTRS,
                                           SAMPLE_LINK, SAMPLE_TIMES};

/* Numbers of Profile's fields from 1.9 on. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLES,
    PROFILE_TIME,
    PROFILE_DURATION,
    PROFILE_PERIOD_TYPE,
    PROFILE_PERIOD,
    PROFILE_ID,
    PROFILE_DROPPED,
    PROFILE_FORMAT,
    PROFILE_PAYLOAD,
    PROFILE_ATTRS,
    PROFILE_COMMENTS_1_8 /* of 1.8 only, not read */
};

static bool sample_field(struct otp_decoder *d, const struct otp_field *f, struct otp_sample *s)
{
    uint32_t role = f->number;

    if (d->m->version != OTP_PROTO_1_10 && role <= SAMPLE_TIMES) {
        role = sample_roles_1_9[role];
    }
    switch (role) {
    case SAMPLE_STACK:
    case SAMPLE_LINK:
        if (OTP_EXPECT(d, f, OTP_WIRE_VARINT)) {
            *(role == SAMPLE_STACK ? &s->stack : &s->link) = otp_field_i32(f);
        }
        return true;
    case SAMPLE_ATTRS:
        return otp_decoder_varints(d, f, &d->attrs);
    case SAMPLE_VALUES:
        return otp_decoder_varints(d, f, &d->values);
    case SAMPLE_TIMES:
        return otp_decoder_fixed64s(d, f, &d->timestamps);
    default:
        return otp_decoder_unknown(d, f);
    }
}

/* Moves the values and timestamps that were read into m->numbers. */
static bool store_numbers(struct otp_decoder *d, const struct otp_field *f, struct otp_sample *s)
{
    struct otp_vec *numbers = &d->m->numbers;
    int64_t counts[2] = {d->values.count, d->timestamps.count};

    if (counts[0] == 1 && counts[1] == 0) {
        uint64_t value = *(const uint64_t *)d->values.items;
        if (value < OTP_SAMPLE_LONG) {
            s->data = (uint32_t)value;
            d->values.count = 0;
            return true;
        }
    }
    s->data = numbers->count | OTP_SAMPLE_LONG;
    if (!otp_vec_append(numbers, counts, 2) ||
        !otp_vec_append(numbers, d->values.items, d->values.count) ||
        !otp_vec_append(numbers, d->timestamps.items, d->timestamps.count)) {
        return otp_decoder_no_room(d, f);
    }
    d->values.count = 0;
    d->timestamps.count = 0;
    return true;
}

static bool decode_sample(struct otp_decoder *d, struct otp_wire w, const struct otp_field *at)
{
    struct otp_sample *s = otp_vec_push(&d->m->samples);
    struct otp_field f;

    if (s == NULL) {
        return otp_decoder_no_room(d, at);
    }
    while (otp_wire_next(&w, &f)) {
        if (!sample_field(d, &f, s)) {
            return false;
        }
    }
    return otp_wire_ok(&w) && otp_decoder_take_list(d, at, &s->attrs) && store_numbers(d, at, s);
}

/* ---- samples as they usually are ---- */

#define QUICK_ATTRS 16U
/* Bytes of samples that are given back at once: a huge page. */
#define GIVE_BACK ((uintptr_t)2 << 20)

/* Tags of Sample's fields in 1.10. */
enum { TAG_STACK = 0x08, TAG_ATTRS = 0x12, TAG_LINK = 0x18, TAG_VALUES = 0x22 };

/* Bytes behind a sample that may be read, whatever they are: numbers are loaded as whole words. */
#define SPARE 8

/* Reads a number of at most four bytes; the position behind it. One of more leaves its first byte
 * with the continuation bit set in *out_over. */
OTP_INLINE const uint8_t *quick_number(const uint8_t *p, uint32_t *out_value, uint32_t *out_over)
{
    uint32_t word;

    memcpy(&word, p, sizeof(word));
    if (OTP_LIKELY((word & 0x80U) == 0)) {
        *out_value = word & 0x7fU;
        return p + 1;
    }
    uint32_t ends = ~word & 0x80808080U;
    uint32_t kept = word & (ends ^ (ends - 1)); /* the bytes up to the first that ends */
    *out_over |= ends == 0;
    uint32_t pairs = (kept & 0x007f007fU) | (kept >> 1 & 0x3f803f80U);
    *out_value = (pairs & 0x3fffU) | (pairs >> 2 & 0x0fffc000U);
    return p + ((unsigned)__builtin_ctz(ends | 0x80000000U) / 8 + 1);
}

/* Reads the list of attributes whose length is at *at; false: it is not of the usual kind. */
OTP_INLINE bool quick_attrs(struct otp_decoder *d, const uint8_t **at, const uint8_t *end,
                            uint32_t *out_list)
{
    const int32_t *last = otp_vec_at(&d->m->lists, d->last_list);
    int32_t attrs[QUICK_ATTRS];
    uint32_t count = 0;
    uint32_t over = 0;
    const uint8_t *p = *at;
    const uint8_t *stop = p + 1 + *p;

    if (*p >= 0x80 || stop > end) {
        return false;
    }
    for (p++; p < stop; count++) {
        uint32_t value;
        if (count == QUICK_ATTRS) {
            return false;
        }
        p = quick_number(p, &value, &over);
        attrs[count] = (int32_t)value;
    }
    *at = p;
    if (over != 0 || p != stop) {
        return false;
    }
    if (count == 1 && last[0] == 1 && last[1] == attrs[0]) {
        *out_list = d->last_list;
        return true;
    }
    if (count == 1 && otp_decoder_known_list(d, attrs[0], out_list)) {
        return true;
    }
    return otp_decoder_list(d, attrs, count, out_list);
}

/*
 * Reads a sample of 1.10 that has each field at most once, in the order of their numbers, a single
 * value and no timestamps: what writers make. SPARE bytes behind its end may be read. False: it is
 * not of that kind, or there is something to complain about, and nothing has happened.
 */
OTP_INLINE bool quick_sample(struct otp_decoder *d, const uint8_t *p, const uint8_t *end,
                             struct otp_sample *s)
{
    uint32_t over = 0;
    uint32_t stack = 0;
    uint32_t link = 0;

    if (p[0] == TAG_STACK) {
        p = quick_number(p + 1, &stack, &over);
    }
    s->attrs = 0;
    if (p < end && p[0] == TAG_ATTRS) {
        p++;
        if (!quick_attrs(d, &p, end, &s->attrs)) {
            return false;
        }
    }
    if (p < end && p[0] == TAG_LINK) {
        p = quick_number(p + 1, &link, &over);
    }
    /* The value is a list of one number that fills the rest. */
    if (end - p < 3 || p[0] != TAG_VALUES || p[1] != end - p - 2) {
        return false;
    }
    p = quick_number(p + 2, &s->data, &over);
    s->stack = (int32_t)stack;
    s->link = (int32_t)link;
    return over == 0 && p == end;
}

/*
 * Room for as many samples as there are when all are like the first one, so that the array need not
 * move while it grows. It is only asked for: memory that is not written to costs nothing.
 */
static void reserve_samples(struct otp_decoder *d, const struct otp_wire *w)
{
    const uint8_t tag = PROFILE_SAMPLES << 3 | OTP_WIRE_LEN;
    if (w->end - w->pos >= 2 && w->pos[0] == tag && w->pos[1] < 0x80) {
        (void)otp_vec_reserve(&d->m->samples, d->m->size / (2U + w->pos[1])); /* it may grow too */
    }
}

/* Reads as many samples as are of the usual kind and not longer than a byte can say. */
static void quick_samples(struct otp_decoder *d, struct otp_wire *w, struct otp_profile *p)
{
    const uint8_t tag = PROFILE_SAMPLES << 3 | OTP_WIRE_LEN;
    struct otp_vec *samples = &d->m->samples;
    const uint8_t *begin = w->pos;

    if (samples->count == 0) {
        reserve_samples(d, w);
    }
    while (w->end - w->pos >= 2 + SPARE && w->pos[0] == tag && w->pos[1] < 0x80 &&
           w->pos[1] <= w->end - w->pos - 2 - SPARE) {
        const uint8_t *end = w->pos + 2 + w->pos[1];
        if (OTP_UNLIKELY(samples->count == samples->capacity) && !otp_vec_reserve(samples, 1)) {
            break;
        }
        struct otp_sample *s = (struct otp_sample *)samples->items + samples->count;
        if (!quick_sample(d, w->pos + 2, end, s)) {
            break;
        }
        samples->count++;
        w->pos = end;
        p->samples.count++;
        if (d->is_consumed && (uintptr_t)(end - begin) >= GIVE_BACK) {
            const uint8_t *whole = end - ((uintptr_t)end & (GIVE_BACK - 1));
            otp_give_back(begin, whole);
            begin = whole;
            otp_meter_at("reading", d->m->bytes, end, d->m->bytes + d->m->size, 0);
        }
    }
}

static bool decode_types(struct otp_decoder *d, struct otp_wire w, struct otp_types *out_types)
{
    struct otp_field f;

    while (otp_wire_next(&w, &f)) {
        if (f.number == 3 && d->m->version == OTP_PROTO_1_8) {
            continue; /* the aggregation temporality of 1.8 */
        }
        if (f.number > 2) {
            (void)otp_decoder_unknown(d, &f);
        } else if (OTP_EXPECT(d, &f, OTP_WIRE_VARINT)) {
            *(f.number == 1 ? &out_types->type : &out_types->unit) = otp_field_i32(&f);
        }
    }
    return otp_wire_ok(&w);
}

static bool profile_message(struct otp_decoder *d, struct otp_wire *w, const struct otp_field *f,
                            struct otp_profile *p)
{
    bool ok;

    if (!OTP_EXPECT(d, f, OTP_WIRE_LEN)) {
        return true;
    }
    if (f->number == PROFILE_SAMPLES) {
        otp_place_enter(&d->place, "samples", p->samples.count++);
        ok = decode_sample(d, otp_wire_nested(w, f), f);
    } else {
        bool is_sample_type = f->number == PROFILE_SAMPLE_TYPE;
        otp_place_enter(&d->place, is_sample_type ? "sample_type" : "period_type", OTP_PLACE_ONE);
        ok = decode_types(d, otp_wire_nested(w, f),
                          is_sample_type ? &p->sample_type : &p->period_type);
    }
    otp_place_leave(&d->place);
    return ok;
}

static void profile_number(struct otp_decoder *d, const struct otp_field *f, uint32_t role,
                           struct otp_profile *p)
{
    if (!OTP_EXPECT(d, f, role == PROFILE_TIME ? OTP_WIRE_I64 : OTP_WIRE_VARINT)) {
        return;
    }
    switch (role) {
    case PROFILE_TIME:
        p->time_ns = f->value;
        break;
    case PROFILE_DURATION:
        p->duration_ns = f->value;
        break;
    case PROFILE_PERIOD:
        p->period = (int64_t)f->value;
        break;
    default:
        p->dropped_attributes = (uint32_t)f->value;
        break;
    }
}

/* What a field of Profile is in terms of the numbers from 1.9 on. */
static uint32_t profile_role(const struct otp_decoder *d, uint32_t number)
{
    if (d->m->version != OTP_PROTO_1_8 || number < PROFILE_ID) {
        return number;
    }
    return number == PROFILE_ID ? (uint32_t)PROFILE_COMMENTS_1_8 : number - 1;
}

static bool profile_field(struct otp_decoder *d, struct otp_wire *w, const struct otp_field *f,
                          struct otp_profile *p)
{
    uint32_t role = profile_role(d, f->number);

    switch (role) {
    case PROFILE_SAMPLE_TYPE:
    case PROFILE_SAMPLES:
    case PROFILE_PERIOD_TYPE:
        return profile_message(d, w, f, p);
    case PROFILE_TIME:
    case PROFILE_DURATION:
    case PROFILE_PERIOD:
    case PROFILE_DROPPED:
        profile_number(d, f, role, p);
        return true;
    case PROFILE_ID:
    case PROFILE_PAYLOAD:
        if (OTP_EXPECT(d, f, OTP_WIRE_LEN)) {
            *(role == PROFILE_ID ? &p->profile_id : &p->payload) = otp_decoder_piece(d, f);
        }
        return true;
    case PROFILE_FORMAT:
        otp_decoder_string_field(d, f, &p->payload_format);
        return true;
    case PROFILE_ATTRS:
        return otp_decoder_varints(d, f, &d->profile_attrs);
    default:
        return role == PROFILE_COMMENTS_1_8 && d->m->version == OTP_PROTO_1_8
                   ? true
                   : otp_decoder_unknown(d, f);
    }
}

bool otp_decode_profile(struct otp_decoder *d, struct otp_wire w, const struct otp_field *at)
{
    struct otp_profile *p = otp_vec_push(&d->m->profiles);
    struct otp_field f;

    if (p == NULL) {
        return otp_decoder_no_room(d, at);
    }
    p->scope = d->m->scopes.count - 1;
    p->samples.first = d->m->samples.count;
    for (;;) {
        if (d->m->version == OTP_PROTO_1_10) {
            quick_samples(d, &w, p);
        }
        if (!otp_wire_next(&w, &f)) {
            break;
        }
        otp_meter_at("reading", d->m->bytes, f.at, d->m->bytes + d->m->size, p->samples.count);
        if (!profile_field(d, &w, &f, p)) {
            return false;
        }
    }
    if (!otp_wire_ok(&w)) {
        return false;
    }
    /* The list waits in an array of its own, since samples come between its parts. */
    if (!otp_vec_append(&d->attrs, d->profile_attrs.items, d->profile_attrs.count)) {
        return otp_decoder_no_room(d, at);
    }
    d->profile_attrs.count = 0;
    return otp_decoder_take_list(d, at, &p->attrs);
}
