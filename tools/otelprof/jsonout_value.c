/* SPDX-License-Identifier: Apache-2.0 */
/* Values inside values as JSON, by walking their encoding. The decoder has checked form and depth.
 */
#include <string.h>

#include "core/decode/any_value.h"
#include "tools/otelprof/jsonout.h"

#define DEPTH 65 /* one more than the decoder lets pass */

/* A list or map that is being written. */
struct level {
    struct otp_wire w;
    bool is_array;
};

struct walk {
    struct otp_jsonout *j;
    const struct otp_profiles *m;
    struct otp_wire_fault fault;
    struct level levels[DEPTH];
    unsigned depth;
};

static struct otp_text text_of(const struct otp_field *f)
{
    return otp_text_make((const char *)f->data, f->len);
}

static struct otp_text string_of(const struct otp_profiles *m, const struct otp_field *f)
{
    return otp_profiles_string(m, (int32_t)(uint32_t)f->value);
}

static void enter(struct walk *k, struct otp_wire w, bool is_array)
{
    if (k->depth == DEPTH) {
        otp_jsonout_null(k->j, NULL);
        return;
    }
    (is_array ? otp_jsonout_list : otp_jsonout_row)(k->j, NULL);
    k->levels[k->depth++] = (struct level){.w = w, .is_array = is_array};
}

static void put_field(struct walk *k, struct otp_wire *w, const struct otp_field *f)
{
    struct otp_value v = {.kind = OTP_VALUE_NONE};

    switch (f->number) {
    case OTP_VALUE_ARRAY:
    case OTP_VALUE_KVLIST:
        enter(k, otp_wire_nested(w, f), f->number == OTP_VALUE_ARRAY);
        return;
    case OTP_VALUE_STRING:
        otp_jsonout_text(k->j, NULL, text_of(f));
        return;
    case OTP_VALUE_STRINDEX:
        otp_jsonout_text(k->j, NULL, string_of(k->m, f));
        return;
    case OTP_VALUE_BYTES:
        otp_jsonout_hex(k->j, NULL, text_of(f));
        return;
    case OTP_VALUE_DOUBLE:
        v.kind = OTP_VALUE_DOUBLE;
        memcpy(&v.of.real, &f->value, sizeof(v.of.real));
        break;
    default:
        v.kind = f->number == OTP_VALUE_BOOL ? OTP_VALUE_BOOL : OTP_VALUE_INT;
        v.of.number = (int64_t)f->value;
        break;
    }
    otp_jsonout_value(k->j, NULL, k->m, &v);
}

/* An AnyValue: of several fields the last one counts; without one there is no value. */
static void put_any(struct walk *k, struct otp_wire w)
{
    struct otp_field f;
    struct otp_field last = {.number = 0};

    while (otp_wire_next(&w, &f)) {
        if (f.number >= OTP_VALUE_STRING && f.number < OTP_VALUE_KINDS &&
            f.type == otp_value_wire_type(f.number)) {
            last = f;
        }
    }
    if (last.number == 0) {
        otp_jsonout_null(k->j, NULL);
    } else {
        put_field(k, &w, &last);
    }
}

static void put_entry(struct walk *k, struct otp_wire w)
{
    struct otp_text key = otp_text_make("", 0);
    struct otp_field f;
    struct otp_field value = {.number = 0};

    while (otp_wire_next(&w, &f)) {
        if (f.number == OTP_KEYVALUE_KEY && f.type == OTP_WIRE_LEN) {
            key = text_of(&f);
        } else if (f.number == OTP_KEYVALUE_KEY_STRINDEX && f.type == OTP_WIRE_VARINT) {
            key = string_of(k->m, &f);
        } else if (f.number == OTP_KEYVALUE_VALUE && f.type == OTP_WIRE_LEN) {
            value = f;
        }
    }
    otp_jsonout_key(k->j, key);
    if (value.number == 0) {
        otp_jsonout_null(k->j, NULL);
    } else {
        put_any(k, otp_wire_nested(&w, &value));
    }
}

void otp_jsonout_nested(struct otp_jsonout *j, const struct otp_profiles *m,
                        const struct otp_value *v)
{
    struct walk k = {.j = j, .m = m};
    struct otp_text bytes = otp_profiles_text(m, v->of.piece);
    struct otp_wire w;
    struct otp_field f;

    otp_wire_init(&w, bytes.data, bytes.len, &k.fault);
    enter(&k, w, v->kind == OTP_VALUE_ARRAY);
    while (k.depth > 0) {
        struct level *top = &k.levels[k.depth - 1];
        if (!otp_wire_next(&top->w, &f)) {
            otp_jsonout_close(j);
            k.depth--;
        } else if (f.number == 1 && f.type == OTP_WIRE_LEN) {
            (top->is_array ? put_any : put_entry)(&k, otp_wire_nested(&top->w, &f));
        }
    }
}
