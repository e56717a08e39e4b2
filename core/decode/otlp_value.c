/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute values. Arrays and lists are kept encoded; only their form is checked. */
#include <string.h>

#include "core/decode/otlp_parts.h"

/* Numbers of AnyValue's fields. */
enum {
    VALUE_STRING = 1,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_DOUBLE,
    VALUE_ARRAY,
    VALUE_KVLIST,
    VALUE_BYTES,
    VALUE_STRINDEX
};

/* What the content of a message inside a value is. */
enum inside { IN_VALUE, IN_ARRAY, IN_KVLIST, IN_KEYVALUE };

struct level {
    struct otp_wire w;
    enum inside inside;
};

/* The message type of field f of a message of type `inside`, or -1: not a message. */
static int nested_type(enum inside inside, const struct otp_field *f)
{
    if (f->type != OTP_WIRE_LEN) {
        return -1;
    }
    switch (inside) {
    case IN_VALUE:
        return f->number == VALUE_ARRAY ? IN_ARRAY : f->number == VALUE_KVLIST ? IN_KVLIST : -1;
    case IN_ARRAY:
        return f->number == 1 ? IN_VALUE : -1;
    case IN_KVLIST:
        return f->number == 1 ? IN_KEYVALUE : -1;
    case IN_KEYVALUE:
        return f->number == 2 ? IN_VALUE : -1;
    default:
        return -1;
    }
}

static bool is_text(enum inside inside, const struct otp_field *f)
{
    return f->type == OTP_WIRE_LEN && f->number == 1 &&
           (inside == IN_VALUE || inside == IN_KEYVALUE);
}

/* Walks an array or list to its end, level by level, so that a later reader finds it well-formed.
 */
static bool check_form(struct otp_decoder *d, struct otp_wire w, enum inside inside)
{
    struct level levels[OTP_VALUE_DEPTH];
    unsigned depth = 0;
    struct otp_field f;

    levels[depth++] = (struct level){.w = w, .inside = inside};
    while (depth > 0) {
        struct level *top = &levels[depth - 1];
        if (!otp_wire_next(&top->w, &f)) {
            if (!otp_wire_ok(&top->w)) {
                return false;
            }
            depth--;
            continue;
        }
        int nested = nested_type(top->inside, &f);
        if (nested < 0) {
            if (is_text(top->inside, &f)) {
                (void)otp_decoder_string(d, &f); /* for its note */
            }
            continue;
        }
        if (depth == OTP_VALUE_DEPTH) {
            return otp_wire_fail(&top->w, f.at, "an attribute value is nested too deep");
        }
        levels[depth++] =
            (struct level){.w = otp_wire_nested(&top->w, &f), .inside = (enum inside)nested};
    }
    return true;
}

static enum otp_wire_type type_of(uint32_t number)
{
    if (number == VALUE_DOUBLE) {
        return OTP_WIRE_I64;
    }
    return number == VALUE_BOOL || number == VALUE_INT || number == VALUE_STRINDEX ? OTP_WIRE_VARINT
                                                                                   : OTP_WIRE_LEN;
}

static bool store(struct otp_decoder *d, const struct otp_wire *w, const struct otp_field *f,
                  struct otp_value *out_value)
{
    static const enum otp_value_kind kinds[] = {
        OTP_VALUE_NONE,  OTP_VALUE_STRING, OTP_VALUE_BOOL,  OTP_VALUE_INT,     OTP_VALUE_DOUBLE,
        OTP_VALUE_ARRAY, OTP_VALUE_KVLIST, OTP_VALUE_BYTES, OTP_VALUE_STRINDEX};

    out_value->kind = kinds[f->number];
    switch (f->number) {
    case VALUE_STRING:
        out_value->of.piece = otp_decoder_string(d, f);
        return true;
    case VALUE_BOOL:
        out_value->of.number = f->value != 0;
        return true;
    case VALUE_INT:
        out_value->of.number = (int64_t)f->value;
        return true;
    case VALUE_STRINDEX:
        out_value->of.number = otp_field_i32(f);
        return true;
    case VALUE_DOUBLE:
        memcpy(&out_value->of.real, &f->value, sizeof(out_value->of.real));
        return true;
    case VALUE_ARRAY:
    case VALUE_KVLIST:
        out_value->of.piece = otp_decoder_piece(d, f);
        return check_form(d, otp_wire_nested(w, f),
                          f->number == VALUE_ARRAY ? IN_ARRAY : IN_KVLIST);
    default:
        out_value->of.piece = otp_decoder_piece(d, f);
        return true;
    }
}

bool otp_decode_value(struct otp_decoder *d, struct otp_wire w, struct otp_value *out_value)
{
    struct otp_field f;

    while (otp_wire_next(&w, &f)) {
        if (f.number > VALUE_STRINDEX) {
            (void)otp_decoder_unknown(d, &f);
        } else if (OTP_EXPECT(d, &f, type_of(f.number)) && !store(d, &w, &f, out_value)) {
            return false;
        }
    }
    return otp_wire_ok(&w);
}

bool otp_decode_keyvalue(struct otp_decoder *d, struct otp_wire w)
{
    struct otp_field f = {.at = w.pos};
    struct otp_keyvalue *kv = otp_vec_push(&d->m->keyvalues);

    if (kv == NULL) {
        return otp_decoder_no_room(d, &f);
    }
    while (otp_wire_next(&w, &f)) {
        if (f.number == 1 && OTP_EXPECT(d, &f, OTP_WIRE_LEN)) {
            kv->key = otp_decoder_string(d, &f);
        } else if (f.number == 2 && OTP_EXPECT(d, &f, OTP_WIRE_LEN)) {
            if (!otp_decode_value(d, otp_wire_nested(&w, &f), &kv->value)) {
                return false;
            }
        } else if (f.number == 3 && OTP_EXPECT(d, &f, OTP_WIRE_VARINT)) {
            kv->key_strindex = otp_field_i32(&f);
        } else if (f.number > 3) {
            (void)otp_decoder_unknown(d, &f);
        }
    }
    return otp_wire_ok(&w);
}
