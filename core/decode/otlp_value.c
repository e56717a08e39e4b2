/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute values. Arrays and lists are kept encoded; only their form is checked. */
#include <string.h>

#include "core/decode/any_value.h"
#include "core/decode/otlp_parts.h"

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
        return f->number == OTP_VALUE_ARRAY    ? IN_ARRAY
               : f->number == OTP_VALUE_KVLIST ? IN_KVLIST
                                               : -1;
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

static bool store(struct otp_decoder *d, const struct otp_wire *w, const struct otp_field *f,
                  struct otp_value *out_value)
{
    out_value->kind = (enum otp_value_kind)f->number;
    switch (f->number) {
    case OTP_VALUE_STRING:
        out_value->of.piece = otp_decoder_string(d, f);
        return true;
    case OTP_VALUE_BOOL:
        out_value->of.number = f->value != 0;
        return true;
    case OTP_VALUE_INT:
        out_value->of.number = (int64_t)f->value;
        return true;
    case OTP_VALUE_STRINDEX:
        out_value->of.number = otp_field_i32(f);
        return true;
    case OTP_VALUE_DOUBLE:
        memcpy(&out_value->of.real, &f->value, sizeof(out_value->of.real));
        return true;
    case OTP_VALUE_ARRAY:
    case OTP_VALUE_KVLIST:
        out_value->of.piece = otp_decoder_piece(d, f);
        return check_form(d, otp_wire_nested(w, f),
                          f->number == OTP_VALUE_ARRAY ? IN_ARRAY : IN_KVLIST);
    default:
        out_value->of.piece = otp_decoder_piece(d, f);
        return true;
    }
}

bool otp_decode_value(struct otp_decoder *d, struct otp_wire w, struct otp_value *out_value)
{
    struct otp_field f;

    while (otp_wire_next(&w, &f)) {
        if (f.number > OTP_VALUE_STRINDEX) {
            (void)otp_decoder_unknown(d, &f);
        } else if (OTP_EXPECT(d, &f, otp_value_wire_type(f.number)) &&
                   !store(d, &w, &f, out_value)) {
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
