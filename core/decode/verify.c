/* SPDX-License-Identifier: Apache-2.0 */
/* Are all indices of a message inside their tables? What readers need to know before they follow
 * one. */
#include <string.h>

#include "core/base/annot.h"
#include "core/decode/model.h"

struct verify {
    const struct otp_profiles *m;
    struct otp_place place;
    struct otp_bad_index *out;
    bool ok;
};

static bool index_ok(struct verify *v, enum otp_table table, int32_t index, const char *field)
{
    uint32_t count = v->m->table[table].count;

    if (index >= 0 && (uint32_t)index < count) {
        return true;
    }
    if (v->ok) {
        otp_place_enter(&v->place, field, OTP_PLACE_ONE);
        v->out->place = v->place;
        v->out->index = index;
        v->out->count = count;
        otp_place_leave(&v->place);
    }
    v->ok = false;
    return false;
}

static void check_list(struct verify *v, uint32_t list)
{
    uint32_t count;
    const int32_t *items = otp_profiles_list(v->m, list, &count);

    for (uint32_t i = 0; i < count; i++) {
        if (!index_ok(v, OTP_TABLE_ATTRIBUTE, items[i], "attribute_indices")) {
            return;
        }
    }
}

static void check_mapping(struct verify *v, int32_t i)
{
    const struct otp_mapping *m = otp_profiles_mapping(v->m, i);
    index_ok(v, OTP_TABLE_STRING, m->filename, "filename_strindex");
    check_list(v, m->attrs);
}

static void check_location(struct verify *v, int32_t i)
{
    const struct otp_location *l = otp_profiles_location(v->m, i);

    index_ok(v, OTP_TABLE_MAPPING, l->mapping, "mapping_index");
    check_list(v, l->attrs);
    for (uint32_t k = 0; k < l->lines.count && v->ok; k++) {
        index_ok(v, OTP_TABLE_FUNCTION, otp_profiles_line(v->m, l->lines.first + k)->function,
                 "lines.function_index");
    }
}

static void check_function(struct verify *v, int32_t i)
{
    const struct otp_function *f = otp_profiles_function(v->m, i);
    index_ok(v, OTP_TABLE_STRING, f->name, "name_strindex");
    index_ok(v, OTP_TABLE_STRING, f->system_name, "system_name_strindex");
    index_ok(v, OTP_TABLE_STRING, f->filename, "filename_strindex");
}

static void check_value(struct verify *v, const struct otp_value *value)
{
    if (value->kind == OTP_VALUE_STRINDEX) {
        index_ok(v, OTP_TABLE_STRING, (int32_t)value->of.number, "value.string_value_strindex");
    }
}

static void check_attribute(struct verify *v, int32_t i)
{
    const struct otp_attribute *a = otp_profiles_attribute(v->m, i);
    index_ok(v, OTP_TABLE_STRING, a->key, "key_strindex");
    index_ok(v, OTP_TABLE_STRING, a->unit, "unit_strindex");
    check_value(v, &a->value);
}

static void check_stack(struct verify *v, int32_t i)
{
    const struct otp_slice *stack = otp_profiles_stack(v->m, i);
    const int32_t *frames = otp_profiles_frames(v->m, stack);

    for (uint32_t k = 0; k < stack->count && v->ok; k++) {
        index_ok(v, OTP_TABLE_LOCATION, frames[k], "location_indices");
    }
}

static void check_dictionary(struct verify *v)
{
    static const struct {
        enum otp_table table;
        const char *name;
        void (*check)(struct verify *v, int32_t i);
    } tables[] = {
        {OTP_TABLE_MAPPING, "mapping_table", check_mapping},
        {OTP_TABLE_LOCATION, "location_table", check_location},
        {OTP_TABLE_FUNCTION, "function_table", check_function},
        {OTP_TABLE_ATTRIBUTE, "attribute_table", check_attribute},
        {OTP_TABLE_STACK, "stack_table", check_stack},
    };

    otp_place_enter(&v->place, "dictionary", OTP_PLACE_ONE);
    for (size_t t = 0; t < OTP_ARRAY_LEN(tables); t++) {
        for (uint32_t i = 0; i < v->m->table[tables[t].table].count && v->ok; i++) {
            otp_place_enter(&v->place, tables[t].name, i);
            tables[t].check(v, (int32_t)i);
            otp_place_leave(&v->place);
        }
    }
    otp_place_leave(&v->place);
}

static void check_types(struct verify *v, const struct otp_types *types, const char *field)
{
    index_ok(v, OTP_TABLE_STRING, types->type, field);
    index_ok(v, OTP_TABLE_STRING, types->unit, field);
}

#define LISTS_SEEN 256U

static void check_samples(struct verify *v, const struct otp_profile *p)
{
    const struct otp_sample *samples = otp_vec_at(&v->m->samples, p->samples.first);
    uint32_t stacks = v->m->table[OTP_TABLE_STACK].count;
    uint32_t links = v->m->table[OTP_TABLE_LINK].count;
    uint32_t seen[LISTS_SEEN] = {0}; /* lists that were checked; that without items needs none */

    for (uint32_t i = 0; i < p->samples.count && v->ok; i++) {
        const struct otp_sample *s = &samples[i];
        /* Negative numbers are larger than any table. */
        if (OTP_LIKELY((uint32_t)s->stack < stacks && (uint32_t)s->link < links &&
                       seen[s->attrs % LISTS_SEEN] == s->attrs)) {
            continue;
        }
        seen[s->attrs % LISTS_SEEN] = s->attrs;
        otp_place_enter(&v->place, "samples", i);
        index_ok(v, OTP_TABLE_STACK, s->stack, "stack_index");
        index_ok(v, OTP_TABLE_LINK, s->link, "link_index");
        check_list(v, s->attrs);
        otp_place_leave(&v->place);
    }
}

void otp_place_of_profile(const struct otp_profiles *m, uint32_t i, struct otp_place *out_place)
{
    uint32_t scope = otp_profiles_profile(m, i)->scope;
    uint32_t resource = otp_profiles_scope(m, scope)->resource;

    memset(out_place, 0, sizeof(*out_place));
    otp_place_enter(out_place, "resource_profiles", resource);
    otp_place_enter(out_place, "scope_profiles",
                    scope - otp_profiles_resource(m, resource)->scopes.first);
    otp_place_enter(out_place, "profiles", i - otp_profiles_scope(m, scope)->profiles.first);
}

static void check_profiles(struct verify *v)
{
    for (uint32_t i = 0; i < v->m->profiles.count && v->ok; i++) {
        const struct otp_profile *p = otp_profiles_profile(v->m, i);
        otp_place_of_profile(v->m, i, &v->place);
        check_types(v, &p->sample_type, "sample_type");
        check_types(v, &p->period_type, "period_type");
        check_list(v, p->attrs);
        check_samples(v, p);
    }
}

/* Attributes of resources and scopes may refer to strings as well. */
static void check_keyvalues(struct verify *v)
{
    memset(&v->place, 0, sizeof(v->place));
    for (uint32_t i = 0; i < v->m->keyvalues.count && v->ok; i++) {
        const struct otp_keyvalue *kv = otp_profiles_keyvalue(v->m, i);
        index_ok(v, OTP_TABLE_STRING, kv->key_strindex, "attributes.key_strindex");
        check_value(v, &kv->value);
    }
}

bool otp_profiles_verify(struct otp_profiles *m, struct otp_bad_index *out_bad)
{
    struct verify v = {.m = m, .out = out_bad, .ok = true};

    memset(out_bad, 0, sizeof(*out_bad));
    for (int t = OTP_TABLE_MAPPING; t < OTP_TABLES; t++) {
        if (m->table[t].count == 0 && otp_vec_push(&m->table[t]) == NULL) {
            return false;
        }
    }
    check_dictionary(&v);
    check_profiles(&v);
    check_keyvalues(&v);
    return v.ok;
}
