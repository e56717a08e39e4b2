/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for resources, scopes, profiles and samples. */
#include <inttypes.h>
#include <string.h>

#include "core/base/annot.h"
#include "tools/otelprof/check.h"

enum shape { SHAPE_UNKNOWN, SHAPE_VALUES, SHAPE_TIMES, SHAPE_BOTH, SHAPE_NOTHING };

static const char *const shape_names[] = {"", "a value", "timestamps", "values and timestamps",
                                          "nothing"};

/* Reports what is wrong with the shape by itself. */
static enum shape shape_of(struct otp_check *c, const struct otp_sample_data *d)
{
    if (d->value_count > 0 && d->timestamp_count > 0) {
        if (d->value_count != d->timestamp_count) {
            otp_check_report(c, NULL, "%u values do not go with %u timestamps",
                             (unsigned)d->value_count, (unsigned)d->timestamp_count);
        }
        return SHAPE_BOTH;
    }
    if (d->value_count > 0) {
        if (d->value_count != 1) {
            otp_check_report(c, "values", "there are %u of them, without timestamps",
                             (unsigned)d->value_count);
        }
        return SHAPE_VALUES;
    }
    if (d->timestamp_count > 0) {
        return SHAPE_TIMES;
    }
    otp_check_report(c, NULL, "it has neither a value nor a timestamp");
    return SHAPE_NOTHING;
}

static bool is_text(struct otp_text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.data, word, text.len) == 0;
}

static struct otp_text type_of(const struct otp_check *c, const struct otp_types *t)
{
    return otp_profiles_string(c->m, t->type);
}

static void check_timestamps(struct otp_check *c, const struct otp_profile *p,
                             const struct otp_sample_data *d)
{
    uint64_t until = p->time_ns + p->duration_ns;

    for (uint32_t i = 0; i < d->timestamp_count; i++) {
        uint64_t t = (uint64_t)d->timestamps[i];
        if (t < p->time_ns || t >= until) {
            otp_place_enter(&c->place, "timestamps_unix_nano", i);
            otp_check_report(c, NULL,
                             "%" PRIu64 " is outside the profile's time, %" PRIu64 " to %" PRIu64,
                             t, p->time_ns, until);
            otp_place_leave(&c->place);
        }
    }
}

/* A type of which there cannot be less than nothing: the six that the library writes. */
static bool is_amount(struct otp_text type)
{
    static const char *const names[] = {"samples",     "cpu",           "alloc_objects",
                                        "alloc_space", "inuse_objects", "inuse_space"};

    for (size_t i = 0; i < OTP_ARRAY_LEN(names); i++) {
        if (is_text(type, names[i])) {
            return true;
        }
    }
    return false;
}

/* For --strict. A value that fits into the sample itself is not negative. */
static void check_values(struct otp_check *c, const struct otp_profile *p,
                         const struct otp_sample_data *d)
{
    for (uint32_t i = 0; i < d->value_count; i++) {
        if (d->values[i] < 0 && is_amount(type_of(c, &p->sample_type))) {
            otp_place_enter(&c->place, "values", i);
            otp_check_report(c, NULL, "%" PRId64 " is negative", d->values[i]);
            otp_place_leave(&c->place);
        }
    }
}

/*
 * A sample of OTEP-0239 has one value beside its times, so that what was seen of a stack with
 * several values, or with times and without, is several samples there: these rules are OTLP's
 * alone.
 */
static bool has_sample_rules(const struct otp_check *c)
{
    return c->m->source != OTP_SOURCE_OTEP239;
}

static void check_sample(struct otp_check *c, const struct otp_profile *p,
                         const struct otp_sample *s, enum shape *expected)
{
    struct otp_sample_data d;

    otp_profiles_sample_data(c->m, s, &d);
    otp_check_index(c, OTP_TABLE_STACK, s->stack, "stack_index");
    otp_check_index(c, OTP_TABLE_LINK, s->link, "link_index");
    otp_check_list(c, s->attrs);
    check_timestamps(c, p, &d);
    if (c->strict) {
        check_values(c, p, &d);
    }
    enum shape shape = shape_of(c, &d);
    if (*expected == SHAPE_UNKNOWN) {
        *expected = shape;
    } else if (*expected != shape && has_sample_rules(c)) {
        otp_check_report(c, NULL, "it has %s where the first sample of the profile has %s",
                         shape_names[shape], shape_names[*expected]);
    }
}

static void check_types(struct otp_check *c, const struct otp_types *t, const char *field)
{
    otp_place_enter(&c->place, field, OTP_PLACE_ONE);
    otp_check_index(c, OTP_TABLE_STRING, t->type, "type_strindex");
    otp_check_index(c, OTP_TABLE_STRING, t->unit, "unit_strindex");
    otp_place_leave(&c->place);
}

/* A period of no type may be left out. */
static void check_period(struct otp_check *c, const struct otp_profile *p)
{
    bool is_wanted = type_of(c, &p->period_type).len > 0 || is_amount(type_of(c, &p->sample_type));

    if (p->period < 0) {
        otp_check_report(c, "period", "%" PRId64 " is negative", p->period);
    } else if (p->period == 0 && is_wanted) {
        otp_check_report(c, "period", "it is zero");
    }
}

static void check_achieved(struct otp_check *c, const struct otp_profile *p)
{
    uint32_t count;
    const int32_t *list = otp_profiles_list(c->m, p->attrs, &count);

    for (uint32_t i = 0; i < count; i++) {
        if (list[i] < 0 || (uint32_t)list[i] >= c->m->table[OTP_TABLE_ATTRIBUTE].count) {
            continue; /* otp_check_list has reported it */
        }
        const struct otp_attribute *a = otp_profiles_attribute(c->m, list[i]);
        if (a->value.kind == OTP_VALUE_INT && a->value.of.number <= 0 &&
            is_text(otp_profiles_string(c->m, a->key), "otelprof.cpu.achieved_period")) {
            otp_check_report(c, "attribute_indices",
                             "otelprof.cpu.achieved_period is %" PRId64 ", not above zero",
                             a->value.of.number);
        }
    }
}

/*
 * samples and cpu are two views of the same ticks. The twin follows; where another order is kept it
 * is the one of that period.
 */
static void check_twin(struct otp_check *c, const struct otp_scope *s, uint32_t i)
{
    const struct otp_profile *p = otp_profiles_profile(c->m, s->profiles.first + i);
    const struct otp_profile *next = i + 1 == s->profiles.count ? NULL : p + 1;

    if (next == NULL || !is_text(type_of(c, &p->sample_type), "samples") ||
        !is_text(type_of(c, &next->sample_type), "cpu")) {
        return;
    }
    for (uint32_t k = 0; k < s->profiles.count; k++) {
        const struct otp_profile *other = otp_profiles_profile(c->m, s->profiles.first + k);
        if (other->period == p->period && is_text(type_of(c, &other->sample_type), "cpu")) {
            return;
        }
    }
    otp_check_report(c, "period", "%" PRId64 " is not that of the cpu profile beside it, %" PRId64,
                     p->period, next->period);
}

/* A flush is one span of time; several flushes are scopes of their own. */
static void check_range(struct otp_check *c, const struct otp_scope *s, const struct otp_profile *p)
{
    const struct otp_profile *first = otp_profiles_profile(c->m, s->profiles.first);

    if (p->time_ns != first->time_ns || p->duration_ns != first->duration_ns) {
        otp_check_report(c, NULL, "its time range is not that of the scope's first profile");
    }
}

static void check_strict(struct otp_check *c, const struct otp_profile *p)
{
    struct otp_text id = otp_profiles_text(c->m, p->profile_id);
    bool is_zero = true;

    for (size_t i = 0; i < id.len; i++) {
        is_zero = is_zero && id.data[i] == 0;
    }
    /* pprof, OTEP-0239 and gperftools have no such id. */
    bool may_lack = c->m->source == OTP_SOURCE_PPROF || c->m->source == OTP_SOURCE_OTEP239 ||
                    c->m->source == OTP_SOURCE_GPERFTOOLS;
    if ((id.len != 16 || is_zero) && !(may_lack && id.len == 0)) {
        otp_check_report(c, "profile_id",
                         id.len == 16 ? "it is all zero" : "it has %zu bytes, not 16", id.len);
    }
    if ((p->payload.len > 0) != (p->payload_format.len > 0)) {
        otp_check_report(c, p->payload.len > 0 ? "original_payload" : "original_payload_format",
                         "it is there without its partner");
    }
    check_period(c, p);
    check_achieved(c, p);
}

static void check_samples(struct otp_check *c, const struct otp_profile *p)
{
    const struct otp_sample *samples = otp_vec_at(&c->m->samples, p->samples.first);
    uint32_t stacks = c->m->table[OTP_TABLE_STACK].count;
    uint32_t links = c->m->table[OTP_TABLE_LINK].count;
    enum shape expected = SHAPE_UNKNOWN;
    uint32_t good = 0; /* a list that nothing was found in */

    for (uint32_t i = 0; i < p->samples.count; i++) {
        const struct otp_sample *s = &samples[i];
        /* One value, as its neighbours have, and numbers inside their tables. */
        if ((s->data & OTP_SAMPLE_LONG) == 0 && expected == SHAPE_VALUES && s->attrs == good &&
            (uint32_t)s->stack < stacks && (uint32_t)s->link < links) {
            continue;
        }
        uint64_t before = c->violations;
        otp_place_enter(&c->place, "samples", i);
        check_sample(c, p, s, &expected);
        otp_place_leave(&c->place);
        good = c->violations == before ? s->attrs : 0;
    }
}

static void check_profile(struct otp_check *c, const struct otp_profile *p)
{
    otp_check_list(c, p->attrs);
    check_types(c, &p->sample_type, "sample_type");
    check_types(c, &p->period_type, "period_type");
    check_samples(c, p);
    if (c->strict) {
        check_strict(c, p);
        if (has_sample_rules(c)) {
            c->has_no_memory = !otp_check_identities(c, p) || c->has_no_memory;
        }
    }
}

static void check_keyvalues(struct otp_check *c, struct otp_slice attrs, const char *field)
{
    otp_place_enter(&c->place, field, OTP_PLACE_ONE);
    for (uint32_t i = 0; i < attrs.count; i++) {
        const struct otp_keyvalue *kv = otp_profiles_keyvalue(c->m, attrs.first + i);
        otp_place_enter(&c->place, "attributes", i);
        if (kv->key_strindex != 0) {
            otp_check_index(c, OTP_TABLE_STRING, kv->key_strindex, "key_strindex");
        }
        if (kv->value.kind == OTP_VALUE_STRINDEX) {
            otp_check_index(c, OTP_TABLE_STRING, (int32_t)kv->value.of.number,
                            "value.string_value_strindex");
        }
        otp_place_leave(&c->place);
    }
    otp_place_leave(&c->place);
}

static void check_scope(struct otp_check *c, const struct otp_scope *s)
{
    check_keyvalues(c, s->attrs, "scope");
    if (s->profiles.count == 0) {
        otp_check_report(c, "profiles", "there are none");
    }
    for (uint32_t i = 0; i < s->profiles.count; i++) {
        otp_place_enter(&c->place, "profiles", i);
        check_profile(c, otp_profiles_profile(c->m, s->profiles.first + i));
        if (c->strict) {
            check_range(c, s, otp_profiles_profile(c->m, s->profiles.first + i));
            check_twin(c, s, i);
        }
        otp_place_leave(&c->place);
    }
}

void otp_check_profiles(struct otp_check *c)
{
    memset(&c->place, 0, sizeof(c->place));
    for (uint32_t i = 0; i < c->m->resources.count; i++) {
        const struct otp_profiles_resource *r = otp_profiles_resource(c->m, i);
        otp_place_enter(&c->place, "resource_profiles", i);
        check_keyvalues(c, r->attrs, "resource");
        if (r->scopes.count == 0) {
            otp_check_report(c, "scope_profiles", "there are none");
        }
        for (uint32_t k = 0; k < r->scopes.count; k++) {
            otp_place_enter(&c->place, "scope_profiles", k);
            check_scope(c, otp_profiles_scope(c->m, r->scopes.first + k));
            otp_place_leave(&c->place);
        }
        otp_place_leave(&c->place);
    }
}
