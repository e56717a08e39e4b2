/* SPDX-License-Identifier: Apache-2.0 */
/* What all parts of the OTLP decoder do with fields: notes of odd ones, texts, lists of numbers. */
#include <string.h>

#include "core/base/utf8.h"
#include "core/decode/otlp_parts.h"

bool otp_decoder_unknown(struct otp_decoder *d, const struct otp_field *f)
{
    struct otp_note *note;

    d->m->note_count++;
    if (d->with_notes && d->m->notes.count < OTP_NOTES_MAX &&
        (note = otp_vec_push(&d->m->notes)) != NULL) {
        note->kind = OTP_NOTE_UNKNOWN_FIELD;
        note->number = f->number;
        note->off = (uint64_t)(f->at - d->m->bytes);
        note->place = d->place;
    }
    return true;
}

static void note_as(struct otp_decoder *d, const struct otp_field *f, enum otp_note_kind kind)
{
    uint32_t before = d->m->notes.count;

    (void)otp_decoder_unknown(d, f);
    if (d->m->notes.count > before) {
        ((struct otp_note *)d->m->notes.items)[before].kind = kind;
    }
}

bool otp_decoder_other_type(struct otp_decoder *d, const struct otp_field *f)
{
    note_as(d, f, OTP_NOTE_WIRE_TYPE);
    return false;
}

bool otp_decoder_no_room(struct otp_decoder *d, const struct otp_field *f)
{
    if (d->fault.reason == NULL) {
        d->fault.reason = "there is more in it than the memory limit allows";
        d->fault.at = f->at;
    }
    return false;
}

struct otp_piece otp_decoder_piece(const struct otp_decoder *d, const struct otp_field *f)
{
    struct otp_piece p = {.off = (uint32_t)(f->data - d->m->bytes), .len = (uint32_t)f->len};
    return p;
}

struct otp_piece otp_decoder_string(struct otp_decoder *d, const struct otp_field *f)
{
    struct otp_piece p = otp_decoder_piece(d, f);

    if (d->with_notes && !otp_utf8_is_valid(otp_profiles_text(d->m, p))) {
        note_as(d, f, OTP_NOTE_UTF8);
    }
    return p;
}

void otp_decoder_string_field(struct otp_decoder *d, const struct otp_field *f,
                              struct otp_piece *to)
{
    if (OTP_EXPECT(d, f, OTP_WIRE_LEN)) {
        *to = otp_decoder_string(d, f);
    }
}

/* A packed list: as many numbers as there are final bytes, hence one look for room. */
static bool packed_varints(struct otp_decoder *d, const struct otp_field *f, struct otp_vec *v)
{
    struct otp_wire w;
    uint64_t value;

    if (f->len == 0) {
        return true;
    }
    /* One more than needed: there is an array then, even if no number ends in it. */
    if (!otp_vec_reserve(v, otp_wire_count_varints(f->data, f->len) + 1)) {
        return otp_decoder_no_room(d, f);
    }
    otp_wire_init(&w, f->data, f->len, &d->fault);
    if (v->item_size == sizeof(int32_t)) {
        int32_t *out = (int32_t *)v->items + v->count;
        while (w.pos < w.end && otp_wire_varint(&w, &value)) {
            *out++ = (int32_t)(uint32_t)value;
            v->count++;
        }
    } else {
        int64_t *out = (int64_t *)v->items + v->count;
        while (w.pos < w.end && otp_wire_varint(&w, &value)) {
            *out++ = (int64_t)value;
            v->count++;
        }
    }
    return otp_wire_ok(&w);
}

static bool one_number(struct otp_decoder *d, const struct otp_field *f, struct otp_vec *v)
{
    int32_t narrow = otp_field_i32(f);
    bool ok = v->item_size == sizeof(narrow) ? otp_vec_append(v, &narrow, 1)
                                             : otp_vec_append(v, &f->value, 1);
    return ok || otp_decoder_no_room(d, f);
}

bool otp_decoder_varints(struct otp_decoder *d, const struct otp_field *f, struct otp_vec *v)
{
    if (f->type == OTP_WIRE_LEN) {
        return packed_varints(d, f, v);
    }
    if (f->type == OTP_WIRE_VARINT) {
        return one_number(d, f, v);
    }
    (void)otp_decoder_other_type(d, f);
    return true;
}

bool otp_decoder_fixed64s(struct otp_decoder *d, const struct otp_field *f, struct otp_vec *v)
{
    if (f->type == OTP_WIRE_I64) {
        return one_number(d, f, v);
    }
    if (f->type != OTP_WIRE_LEN) {
        (void)otp_decoder_other_type(d, f);
        return true;
    }
    if (f->len % sizeof(uint64_t) != 0) {
        struct otp_wire w = {.fault = &d->fault};
        return otp_wire_fail(&w, f->at, "a list of 8-byte numbers is cut off");
    }
    /* The bytes lie as this machine stores numbers: little-endian. */
    return f->len / sizeof(uint64_t) <= OTP_VEC_MAX
               ? otp_vec_append(v, f->data, (uint32_t)(f->len / sizeof(uint64_t))) ||
                     otp_decoder_no_room(d, f)
               : otp_decoder_no_room(d, f);
}

static bool is_list(const struct otp_decoder *d, uint32_t list, const int32_t *items,
                    uint32_t count)
{
    const int32_t *its = otp_vec_at(&d->m->lists, list);
    return list != 0 && its[0] == (int32_t)count &&
           memcmp(its + 1, items, count * sizeof(items[0])) == 0;
}

bool otp_decoder_list(struct otp_decoder *d, const int32_t *items, uint32_t count,
                      uint32_t *out_list)
{
    struct otp_vec *lists = &d->m->lists;
    int32_t head = (int32_t)count;
    uint32_t hash = count;

    if (count == 0 || is_list(d, d->last_list, items, count)) {
        *out_list = count == 0 ? 0 : d->last_list;
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        hash = otp_decoder_hash(hash, items[i]);
    }
    uint32_t *known = otp_decoder_place(d, hash);
    if (!is_list(d, *known, items, count)) {
        uint32_t at = lists->count;
        if (!otp_vec_append(lists, &head, 1) || !otp_vec_append(lists, items, count)) {
            lists->count = at; /* no list without its items */
            return false;
        }
        *known = at;
    }
    d->last_list = *known;
    *out_list = *known;
    return true;
}

bool otp_decoder_take_list(struct otp_decoder *d, const struct otp_field *f, uint32_t *out_list)
{
    uint32_t count = d->attrs.count;

    d->attrs.count = 0;
    return otp_decoder_list(d, d->attrs.items, count, out_list) || otp_decoder_no_room(d, f);
}
