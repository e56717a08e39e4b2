/* SPDX-License-Identifier: Apache-2.0 */
/* No entry of a table may be there that nothing refers to. */
#include <stdlib.h>
#include <string.h>

#include "core/decode/wire.h"
#include "tools/otelprof/check.h"

struct references {
    const struct otp_profiles *m;
    uint8_t *used[OTP_TABLES]; /* one byte per entry */
};

static void use(struct references *r, enum otp_table table, int32_t index)
{
    if (index >= 0 && (uint32_t)index < r->m->table[table].count) {
        r->used[table][index] = 1;
    }
}

static void use_list(struct references *r, uint32_t list)
{
    uint32_t count;
    const int32_t *items = otp_profiles_list(r->m, list, &count);

    for (uint32_t i = 0; i < count; i++) {
        use(r, OTP_TABLE_ATTRIBUTE, items[i]);
    }
}

static void use_types(struct references *r, const struct otp_types *t)
{
    use(r, OTP_TABLE_STRING, t->type);
    use(r, OTP_TABLE_STRING, t->unit);
}

/*
 * Strings that values inside an array or list refer to, by index. What looks like such a reference
 * in any message inside is taken for one: a string too many seems used, never one too few.
 */
static void use_nested(struct references *r, struct otp_piece piece)
{
    struct otp_wire_fault ignored = {.reason = NULL};
    struct otp_wire levels[64];
    unsigned depth = 1;
    struct otp_field f;

    otp_wire_init(&levels[0], r->m->bytes + piece.off, piece.len, &ignored);
    while (depth > 0) {
        if (!otp_wire_next(&levels[depth - 1], &f)) {
            ignored.reason = NULL;
            depth--;
        } else if (f.type == OTP_WIRE_VARINT && (f.number == 8 || f.number == 3)) {
            use(r, OTP_TABLE_STRING, (int32_t)(uint32_t)f.value);
        } else if (f.type == OTP_WIRE_LEN && depth < 64) {
            levels[depth] = otp_wire_nested(&levels[depth - 1], &f);
            depth++;
        }
    }
}

static void use_value(struct references *r, const struct otp_value *v)
{
    if (v->kind == OTP_VALUE_STRINDEX) {
        use(r, OTP_TABLE_STRING, (int32_t)v->of.number);
    } else if (v->kind == OTP_VALUE_ARRAY || v->kind == OTP_VALUE_KVLIST) {
        use_nested(r, v->of.piece);
    }
}

static void use_from_profiles(struct references *r)
{
    for (uint32_t i = 0; i < r->m->profiles.count; i++) {
        const struct otp_profile *p = otp_profiles_profile(r->m, i);
        use_types(r, &p->sample_type);
        use_types(r, &p->period_type);
        use_list(r, p->attrs);
    }
    uint32_t last = 0; /* the list without items uses nothing */
    for (uint32_t i = 0; i < r->m->samples.count; i++) {
        const struct otp_sample *s = otp_profiles_sample(r->m, i);
        use(r, OTP_TABLE_STACK, s->stack);
        use(r, OTP_TABLE_LINK, s->link);
        if (s->attrs != last) {
            use_list(r, s->attrs);
            last = s->attrs;
        }
    }
    for (uint32_t i = 0; i < r->m->keyvalues.count; i++) {
        const struct otp_keyvalue *kv = otp_profiles_keyvalue(r->m, i);
        use(r, OTP_TABLE_STRING, kv->key_strindex);
        use_value(r, &kv->value);
    }
}

static void use_from_code(struct references *r)
{
    const int32_t *frames = r->m->frames.items;

    for (uint32_t i = 0; i < r->m->frames.count; i++) {
        use(r, OTP_TABLE_LOCATION, frames[i]);
    }
    for (uint32_t i = 0; i < r->m->table[OTP_TABLE_LOCATION].count; i++) {
        const struct otp_location *l = otp_profiles_location(r->m, (int32_t)i);
        use(r, OTP_TABLE_MAPPING, l->mapping);
        use_list(r, l->attrs);
    }
    for (uint32_t i = 0; i < r->m->lines.count; i++) {
        use(r, OTP_TABLE_FUNCTION, otp_profiles_line(r->m, i)->function);
    }
}

static void use_from_tables(struct references *r)
{
    for (uint32_t i = 0; i < r->m->table[OTP_TABLE_MAPPING].count; i++) {
        const struct otp_mapping *m = otp_profiles_mapping(r->m, (int32_t)i);
        use(r, OTP_TABLE_STRING, m->filename);
        use_list(r, m->attrs);
    }
    for (uint32_t i = 0; i < r->m->table[OTP_TABLE_FUNCTION].count; i++) {
        const struct otp_function *f = otp_profiles_function(r->m, (int32_t)i);
        use(r, OTP_TABLE_STRING, f->name);
        use(r, OTP_TABLE_STRING, f->system_name);
        use(r, OTP_TABLE_STRING, f->filename);
    }
    for (uint32_t i = 0; i < r->m->table[OTP_TABLE_ATTRIBUTE].count; i++) {
        const struct otp_attribute *a = otp_profiles_attribute(r->m, (int32_t)i);
        use(r, OTP_TABLE_STRING, a->key);
        use(r, OTP_TABLE_STRING, a->unit);
        use_value(r, &a->value);
    }
}

static void report_unused(struct otp_check *c, const struct references *r)
{
    memset(&c->place, 0, sizeof(c->place));
    otp_place_enter(&c->place, "dictionary", OTP_PLACE_ONE);
    for (int t = OTP_TABLE_MAPPING; t < OTP_TABLES; t++) {
        for (uint32_t i = 1; i < c->m->table[t].count; i++) {
            if (r->used[t][i] == 0) {
                otp_place_enter(&c->place, otp_check_tables[t], i);
                otp_check_report(c, NULL, "nothing refers to it");
                otp_place_leave(&c->place);
            }
        }
    }
    otp_place_leave(&c->place);
}

void otp_check_references(struct otp_check *c)
{
    struct references r = {.m = c->m};
    bool ok = true;

    for (int t = 0; t < OTP_TABLES; t++) {
        r.used[t] = calloc((size_t)c->m->table[t].count + 1, 1);
        ok = ok && r.used[t] != NULL;
    }
    c->has_no_memory = c->has_no_memory || !ok;
    if (ok) {
        use_from_profiles(&r);
        use_from_code(&r);
        use_from_tables(&r);
        report_unused(c, &r);
    }
    for (int t = 0; t < OTP_TABLES; t++) {
        free(r.used[t]);
    }
}
