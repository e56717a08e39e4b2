/* SPDX-License-Identifier: Apache-2.0 */
/* Values inside values, printed by walking their encoding. The decoder has checked form and depth.
 */
#include <inttypes.h>
#include <string.h>

#include "core/decode/any_value.h"
#include "tools/otelprof/show.h"

#define DEPTH 65 /* one more than the decoder lets pass */

enum inside { IN_VALUE, IN_ARRAY, IN_KVLIST, IN_KEYVALUE };

struct level {
    struct otp_wire w;
    enum inside inside;
    unsigned printed; /* items so far */
};

struct walk {
    FILE *to;
    const struct otp_profiles *m;
    struct otp_wire_fault fault;
    struct level levels[DEPTH];
    unsigned depth;
};

static void enter(struct walk *k, struct otp_wire w, enum inside inside)
{
    if (k->depth < DEPTH) {
        k->levels[k->depth++] = (struct level){.w = w, .inside = inside};
    }
    if (inside == IN_ARRAY || inside == IN_KVLIST) {
        (void)fputc(inside == IN_ARRAY ? '[' : '{', k->to);
    }
}

static void leave(struct walk *k)
{
    enum inside inside = k->levels[--k->depth].inside;

    if (inside == IN_ARRAY || inside == IN_KVLIST) {
        (void)fputc(inside == IN_ARRAY ? ']' : '}', k->to);
    }
}

/* The key of an entry may be encoded behind its value, so it is looked for first. */
static void print_key(struct walk *k, struct otp_wire w)
{
    struct otp_text key = otp_text_make("", 0);
    struct otp_field f;

    while (otp_wire_next(&w, &f)) {
        if (f.number == OTP_KEYVALUE_KEY && f.type == OTP_WIRE_LEN) {
            key = otp_text_make((const char *)f.data, f.len);
        } else if (f.number == OTP_KEYVALUE_KEY_STRINDEX && f.type == OTP_WIRE_VARINT) {
            key = otp_profiles_string(k->m, (int32_t)(uint32_t)f.value);
        }
    }
    otp_show_text(k->to, key);
    (void)fputs(": ", k->to);
}

static void print_scalar(struct walk *k, const struct otp_field *f)
{
    double real;

    if (f->number >= OTP_VALUE_KINDS || f->type != otp_value_wire_type(f->number)) {
        return;
    }
    switch (f->number) {
    case OTP_VALUE_STRING:
    case OTP_VALUE_BYTES:
        otp_show_text(k->to, otp_text_make((const char *)f->data, f->len));
        break;
    case OTP_VALUE_BOOL:
        (void)fputs(f->value != 0 ? "true" : "false", k->to);
        break;
    case OTP_VALUE_INT:
        (void)fprintf(k->to, "%" PRId64, (int64_t)f->value);
        break;
    case OTP_VALUE_DOUBLE:
        memcpy(&real, &f->value, sizeof(real));
        (void)fprintf(k->to, "%.17g", real);
        break;
    case OTP_VALUE_STRINDEX:
        otp_show_text(k->to, otp_profiles_string(k->m, (int32_t)(uint32_t)f->value));
        break;
    default:
        break;
    }
}

static void step(struct walk *k, struct level *top, const struct otp_field *f)
{
    bool is_list = f->type == OTP_WIRE_LEN;

    if (top->inside == IN_VALUE) {
        bool is_array = f->number == OTP_VALUE_ARRAY;
        if (is_list && (is_array || f->number == OTP_VALUE_KVLIST)) {
            enter(k, otp_wire_nested(&top->w, f), is_array ? IN_ARRAY : IN_KVLIST);
        } else {
            print_scalar(k, f);
        }
        return;
    }
    if (top->inside == IN_KEYVALUE) {
        if (is_list && f->number == OTP_KEYVALUE_VALUE) {
            enter(k, otp_wire_nested(&top->w, f), IN_VALUE);
        }
        return;
    }
    if (is_list && f->number == 1) {
        bool is_array = top->inside == IN_ARRAY;
        struct otp_wire nested = otp_wire_nested(&top->w, f);
        (void)fputs(top->printed++ > 0 ? ", " : "", k->to);
        enter(k, nested, is_array ? IN_VALUE : IN_KEYVALUE);
        if (!is_array) {
            print_key(k, nested);
        }
    }
}

void otp_show_nested(FILE *to, const struct otp_profiles *m, const struct otp_value *v)
{
    struct walk k = {.to = to, .m = m};
    struct otp_text bytes = otp_profiles_text(m, v->of.piece);
    struct otp_wire w;
    struct otp_field f;

    otp_wire_init(&w, bytes.data, bytes.len, &k.fault);
    enter(&k, w, v->kind == OTP_VALUE_ARRAY ? IN_ARRAY : IN_KVLIST);
    while (k.depth > 0) {
        struct level *top = &k.levels[k.depth - 1];
        if (otp_wire_next(&top->w, &f)) {
            step(&k, top, &f);
        } else {
            leave(&k);
        }
    }
}
