/* SPDX-License-Identifier: Apache-2.0 */
/* Values inside values, printed by walking their encoding. The decoder has checked form and depth.
 */
#include <inttypes.h>
#include <string.h>

#include "core/decode/wire.h"
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
        if (f.number == 1 && f.type == OTP_WIRE_LEN) {
            key = otp_text_make((const char *)f.data, f.len);
        } else if (f.number == 3 && f.type == OTP_WIRE_VARINT) {
            key = otp_profiles_string(k->m, (int32_t)(uint32_t)f.value);
        }
    }
    otp_show_text(k->to, key);
    (void)fputs(": ", k->to);
}

static void print_scalar(struct walk *k, const struct otp_field *f)
{
    double real;

    if ((f->number == 1 || f->number == 7) && f->type == OTP_WIRE_LEN) {
        otp_show_text(k->to, otp_text_make((const char *)f->data, f->len));
    } else if (f->number == 2 && f->type == OTP_WIRE_VARINT) {
        (void)fputs(f->value != 0 ? "true" : "false", k->to);
    } else if (f->number == 3 && f->type == OTP_WIRE_VARINT) {
        (void)fprintf(k->to, "%" PRId64, (int64_t)f->value);
    } else if (f->number == 4 && f->type == OTP_WIRE_I64) {
        memcpy(&real, &f->value, sizeof(real));
        (void)fprintf(k->to, "%.17g", real);
    } else if (f->number == 8 && f->type == OTP_WIRE_VARINT) {
        otp_show_text(k->to, otp_profiles_string(k->m, (int32_t)(uint32_t)f->value));
    }
}

static void step(struct walk *k, struct level *top, const struct otp_field *f)
{
    bool is_list = f->type == OTP_WIRE_LEN;

    if (top->inside == IN_VALUE) {
        if (is_list && (f->number == 5 || f->number == 6)) {
            enter(k, otp_wire_nested(&top->w, f), f->number == 5 ? IN_ARRAY : IN_KVLIST);
        } else {
            print_scalar(k, f);
        }
        return;
    }
    if (top->inside == IN_KEYVALUE) {
        if (is_list && f->number == 2) {
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
