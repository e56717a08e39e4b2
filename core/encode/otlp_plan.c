/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three steps: which profiles have a sample left; which entries of the dictionary these samples
 * reach (marks); numbers for what is marked, in the order in which it was told, so that a converter
 * keeps the order of its source. Strings are numbered by what they are for: types, function names,
 * and so on.
 */
#include "core/encode/otlp_plan.h"

#include <string.h>

#include "core/base/annot.h"
#include "core/encode/otlp_order.h"

static const struct otp_pool *pool_of(const struct otp_store *s, size_t table)
{
    const struct otp_pool *pools[OTP_PLAN_TABLES] = {
        [OTP_PLAN_STRINGS] = &s->dict.strings,   [OTP_PLAN_ATTRS] = &s->dict.attrs,
        [OTP_PLAN_LISTS] = &s->dict.lists,       [OTP_PLAN_FUNCTIONS] = &s->dict.functions,
        [OTP_PLAN_MAPPINGS] = &s->dict.mappings, [OTP_PLAN_LOCATIONS] = &s->dict.locations,
        [OTP_PLAN_STACKS] = &s->dict.stacks,     [OTP_PLAN_LINKS] = &s->dict.links,
    };
    return pools[table];
}

bool otp_plan_keeps(const struct otp_plan_profile *p, size_t idx)
{
    const struct otp_group *g = p->group;
    const int64_t *values = otp_group_seen_values(g) + idx * g->type_count;
    return values[p->type] != 0 || (p->folded && values[g->count_type] != 0);
}

static bool has_sums(const struct otp_group *g, size_t type)
{
    for (uint32_t slot = 0; slot < g->slots.count; slot++) {
        if (otp_group_sum(g, slot, type) != 0) {
            return true;
        }
    }
    return false;
}

/* True when an observation is left; says in p whether all that are left have the value 1. */
static bool has_observations(struct otp_plan_profile *p)
{
    const struct otp_group *g = p->group;
    const int64_t *values = otp_group_seen_values(g);
    size_t seen = otp_group_seen(g);
    bool any = false;
    p->ones = true;
    for (size_t i = 0; i < seen; i++) {
        if (otp_plan_keeps(p, i)) {
            any = true;
            p->ones = p->ones && values[i * g->type_count + p->type] == 1;
        }
    }
    return any;
}

static void plan_type(struct otp_plan *p, const struct otp_plan_profile *sums,
                      uint32_t *const orders[2])
{
    struct otp_plan_profile timed = *sums;
    timed.timed = true;
    timed.order = orders[0];
    timed.start = orders[1];
    bool is_timed = has_observations(&timed);
    if (has_sums(sums->group, sums->type) || (p->options.keep_empty && !is_timed)) {
        p->profiles[p->profile_count] = *sums;
        p->profiles[p->profile_count++].folded = false;
        timed.is_second = true;
    }
    if (is_timed) {
        p->profiles[p->profile_count++] = timed;
    }
}

static void plan_group(struct otp_plan *p, const struct otp_group *g, uint32_t *const orders[2])
{
    bool fold = p->options.fold_counts && g->can_fold;
    for (size_t type = 0; type < g->type_count; type++) {
        const struct otp_plan_profile profile = {
            .group = g, .type = type, .folded = fold && type == g->period_index};
        if (!fold || type != g->count_type) {
            plan_type(p, &profile, orders);
        }
    }
}

static enum otp_status order_group(struct otp_plan *p, const struct otp_group *g,
                                   uint32_t *orders[2])
{
    size_t seen = otp_group_seen(g);
    if (seen == 0) {
        return OTP_OK;
    }
    orders[0] = otp_heap_calloc(p->heap, seen, sizeof(uint32_t));
    orders[1] = otp_heap_calloc(p->heap, (size_t)g->slots.count + 1, sizeof(uint32_t));
    if (orders[0] == NULL || orders[1] == NULL) {
        return OTP_NO_MEMORY;
    }
    otp_group_order(g, orders[0], orders[1]);
    for (size_t s = 0; s < g->slots.count; s++) {
        size_t count = orders[1][s + 1] - orders[1][s];
        p->longest_sample = count > p->longest_sample ? count : p->longest_sample;
    }
    return OTP_OK;
}

static const struct otp_group *first_of(const struct otp_plan *p)
{
    return p->options.first != NULL ? p->options.first : p->store->groups;
}

/* Leaves one profile when only one is wanted. */
static enum otp_status choose(struct otp_plan *p)
{
    size_t only = p->options.only;
    if (only > p->profile_count) {
        return OTP_NOT_FOUND;
    }
    if (only > 0) {
        p->profiles[0] = p->profiles[only - 1];
        p->profile_count = 1;
    }
    return OTP_OK;
}

static enum otp_status plan_profiles(struct otp_plan *p)
{
    for (const struct otp_group *g = first_of(p); g != p->options.end; g = g->next) {
        p->group_count++;
    }
    size_t groups = p->group_count;
    size_t most = groups * OTP_VISIT_MAX_TYPES * 2;
    p->orders = otp_heap_calloc(p->heap, groups * 2, sizeof(p->orders[0]));
    p->profiles = otp_heap_calloc(p->heap, most, sizeof(p->profiles[0]));
    if (p->orders == NULL || p->profiles == NULL) {
        return OTP_NO_MEMORY;
    }
    size_t i = 0;
    for (const struct otp_group *g = first_of(p); g != p->options.end; g = g->next, i++) {
        OTP_TRY(order_group(p, g, &p->orders[2 * i]));
        plan_group(p, g, &p->orders[2 * i]);
    }
    return p->profile_count == 0 ? OTP_NOT_FOUND : choose(p);
}

struct range {
    uint64_t from; /* UINT64_MAX: none yet */
    uint64_t to;
};

static void widen(struct range *r, uint64_t from, uint64_t length)
{
    uint64_t to;
    if (__builtin_add_overflow(from, length, &to)) {
        to = UINT64_MAX;
    }
    r->from = from < r->from ? from : r->from;
    r->to = to > r->to ? to : r->to;
}

#define ANY_ENVELOPE SIZE_MAX

static struct otp_plan_range range_of(const struct otp_store *store, size_t envelope)
{
    struct range r = {.from = UINT64_MAX, .to = 0};
    struct otp_plan_range out = {.time_ns = 0};
    uint64_t length = 0;
    for (const struct otp_group *g = store->groups; g != NULL; g = g->next) {
        if (envelope != ANY_ENVELOPE && g->envelope != envelope) {
            continue;
        }
        if (g->time_ns != 0) {
            widen(&r, g->time_ns, g->duration_ns);
        } else if (g->duration_ns > length) {
            length = g->duration_ns;
        }
        if (g->first_time != 0) {
            widen(&r, g->first_time, g->last_time - g->first_time + 1);
        }
    }
    if (r.from != UINT64_MAX) {
        out.time_ns = r.from;
        out.duration_ns = r.to - r.from;
    }
    out.duration_ns = length > out.duration_ns ? length : out.duration_ns;
    return out;
}

struct otp_plan_range otp_plan_range_of(const struct otp_store *store, size_t envelope)
{
    return range_of(store, envelope);
}

struct otp_plan_range otp_plan_range_of_all(const struct otp_store *store)
{
    return range_of(store, ANY_ENVELOPE);
}

static void mark_sample(struct otp_plan *p, const struct otp_group_sample *who)
{
    p->number[OTP_PLAN_STACKS][who->stack] = 1;
    p->number[OTP_PLAN_LISTS][who->list] = 1;
    p->number[OTP_PLAN_LINKS][who->link] = 1;
}

static void mark_profile(struct otp_plan *p, const struct otp_plan_profile *profile)
{
    const struct otp_group *g = profile->group;
    p->number[OTP_PLAN_LISTS][g->attrs] = 1;
    if (profile->timed) {
        const uint32_t *slots = otp_group_seen_slots(g);
        size_t seen = otp_group_seen(g);
        for (size_t i = 0; i < seen; i++) {
            if (otp_plan_keeps(profile, i)) {
                mark_sample(p, otp_group_slot(g, slots[i]));
            }
        }
        return;
    }
    for (uint32_t slot = 0; slot < g->slots.count; slot++) {
        if (otp_group_sum(g, slot, profile->type) != 0) {
            mark_sample(p, otp_group_slot(g, slot));
        }
    }
}

static void mark_tail(struct otp_plan *p, enum otp_plan_table to, struct otp_pool_tail ids)
{
    const uint32_t *id = ids.data;
    for (size_t i = 0; i < ids.len / sizeof(id[0]); i++) {
        p->number[to][id[i]] = 1;
    }
}

static void mark_location(struct otp_plan *p, uint32_t id)
{
    const struct otp_pool *pool = &p->store->dict.locations;
    const struct otp_dict_location *l = otp_pool_head(pool, id);
    struct otp_pool_tail tail = otp_pool_tail(pool, id);
    const struct otp_dict_line *lines = tail.data;
    p->number[OTP_PLAN_MAPPINGS][l->mapping] = 1;
    p->number[OTP_PLAN_LISTS][l->attrs] = 1;
    for (size_t i = 0; i < tail.len / sizeof(lines[0]); i++) {
        p->number[OTP_PLAN_FUNCTIONS][lines[i].function] = 1;
    }
}

/* From the samples down: each pool after all those that refer to it. */
static void mark_all(struct otp_plan *p)
{
    const struct otp_dict *d = &p->store->dict;
    for (size_t i = 0; i < p->profile_count; i++) {
        mark_profile(p, &p->profiles[i]);
    }
    for (uint32_t id = 1; id < d->stacks.count; id++) {
        if (p->number[OTP_PLAN_STACKS][id] != 0) {
            mark_tail(p, OTP_PLAN_LOCATIONS, otp_pool_tail(&d->stacks, id));
        }
    }
    for (uint32_t id = 1; id < d->locations.count; id++) {
        if (p->number[OTP_PLAN_LOCATIONS][id] != 0) {
            mark_location(p, id);
        }
    }
    for (uint32_t id = 1; id < d->mappings.count; id++) {
        const struct otp_dict_mapping *m = otp_pool_head(&d->mappings, id);
        if (p->options.keep_mappings) {
            p->number[OTP_PLAN_MAPPINGS][id] = 1;
        }
        if (p->number[OTP_PLAN_MAPPINGS][id] != 0) {
            p->number[OTP_PLAN_LISTS][m->attrs] = 1;
        }
    }
    for (uint32_t id = 1; id < d->lists.count; id++) {
        if (p->number[OTP_PLAN_LISTS][id] != 0) {
            mark_tail(p, OTP_PLAN_ATTRS, otp_pool_tail(&d->lists, id));
        }
    }
    for (uint32_t id = 1; id < d->attrs.count && p->options.keep_attrs; id++) {
        p->number[OTP_PLAN_ATTRS][id] = 1;
    }
}

/* Turns the marks of a table into numbers. */
static void number_table(struct otp_plan *p, size_t table)
{
    uint32_t *number = p->number[table];
    uint32_t next = 1;
    number[0] = 0;
    for (uint32_t id = 1; id < pool_of(p->store, table)->count; id++) {
        if (number[id] != 0) {
            number[id] = next++;
        }
    }
    p->count[table] = next;
}

static void use_string(struct otp_plan *p, uint32_t id)
{
    uint32_t *number = &p->number[OTP_PLAN_STRINGS][id];
    if (id != 0 && *number == 0) {
        *number = p->count[OTP_PLAN_STRINGS]++;
        p->strings[*number] = id;
    }
}

/* Uses the string that offset bytes into the head of each written entry of a table names. */
static void use_strings(struct otp_plan *p, enum otp_plan_table table, size_t offset)
{
    const struct otp_pool *pool = pool_of(p->store, table);
    for (uint32_t id = 1; id < pool->count; id++) {
        if (p->number[table][id] != 0) {
            uint32_t string;
            memcpy(&string, (const char *)otp_pool_head(pool, id) + offset, sizeof(string));
            use_string(p, string);
        }
    }
}

static void number_strings(struct otp_plan *p)
{
    p->count[OTP_PLAN_STRINGS] = 1;
    for (size_t i = 0; i < p->profile_count; i++) {
        const struct otp_group *g = p->profiles[i].group;
        use_string(p, g->types[p->profiles[i].type].type);
        use_string(p, g->types[p->profiles[i].type].unit);
        use_string(p, g->period_type.type);
        use_string(p, g->period_type.unit);
    }
    use_strings(p, OTP_PLAN_FUNCTIONS, offsetof(struct otp_dict_function, name));
    use_strings(p, OTP_PLAN_FUNCTIONS, offsetof(struct otp_dict_function, system_name));
    use_strings(p, OTP_PLAN_FUNCTIONS, offsetof(struct otp_dict_function, filename));
    use_strings(p, OTP_PLAN_MAPPINGS, offsetof(struct otp_dict_mapping, filename));
    use_strings(p, OTP_PLAN_ATTRS, offsetof(struct otp_dict_attr, key));
    use_strings(p, OTP_PLAN_ATTRS, offsetof(struct otp_dict_attr, unit));
}

/* Keys of all, then values of all. */
static void use_envelope_attrs(struct otp_plan *p, const uint32_t *attrs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct otp_dict_attr *a = otp_pool_head(&p->store->dict.attrs, attrs[i]);
        use_string(p, a->key);
    }
    for (size_t i = 0; i < count; i++) {
        const struct otp_dict_attr *a = otp_pool_head(&p->store->dict.attrs, attrs[i]);
        use_string(p, a->text);
    }
}

static void use_envelopes(struct otp_plan *p)
{
    for (size_t i = 0; i < p->store->envelope_count && p->options.refer; i++) {
        const struct otp_envelope *e = &p->store->envelopes[i];
        use_envelope_attrs(p, e->resource_attrs, e->resource_attr_count);
        use_envelope_attrs(p, e->scope_attrs, e->scope_attr_count);
    }
}

static enum otp_status plan_numbers(struct otp_plan *p)
{
    for (size_t t = 0; t < OTP_PLAN_TABLES; t++) {
        p->number[t] =
            otp_heap_calloc(p->heap, pool_of(p->store, t)->count, sizeof(p->number[t][0]));
        if (p->number[t] == NULL) {
            return OTP_NO_MEMORY;
        }
    }
    p->strings = otp_heap_calloc(p->heap, p->store->dict.strings.count, sizeof(p->strings[0]));
    if (p->strings == NULL) {
        return OTP_NO_MEMORY;
    }
    mark_all(p);
    for (size_t t = OTP_PLAN_STRINGS + 1; t < OTP_PLAN_TABLES; t++) {
        number_table(p, t);
    }
    number_strings(p);
    use_envelopes(p);
    if (p->options.compact) {
        otp_order(p);
    }
    return OTP_OK;
}

enum otp_status otp_plan_init(struct otp_plan *p, const struct otp_store *store,
                              const struct otp_plan_options *options)
{
    memset(p, 0, sizeof(*p));
    p->store = store;
    p->heap = store->dict.heap;
    p->options = *options;
    OTP_TRY(plan_profiles(p));
    return plan_numbers(p);
}

void otp_plan_fini(struct otp_plan *p)
{
    for (size_t i = 0; p->orders != NULL && i < p->group_count * 2; i++) {
        otp_heap_free(p->heap, p->orders[i]);
    }
    for (size_t i = 0; i < p->profile_count; i++) {
        otp_heap_free(p->heap, p->profiles[i].owns_slots ? p->profiles[i].slots : NULL);
    }
    for (size_t t = 0; t < OTP_PLAN_TABLES; t++) {
        otp_heap_free(p->heap, p->number[t]);
        otp_heap_free(p->heap, p->sequence[t]);
    }
    otp_heap_free(p->heap, p->orders);
    otp_heap_free(p->heap, p->profiles);
    otp_heap_free(p->heap, p->strings);
    memset(p, 0, sizeof(*p));
}
