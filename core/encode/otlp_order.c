/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locations: those that call others first, as told, so that the numbers which stacks repeat are
 * short; then the others by address, so that of an address only the end is new. Stacks: by depth,
 * then from the caller of the innermost frame outwards, so that a stack is what the one before it
 * was but for that frame. Samples: by value, then by stack: of most the number of the stack is all
 * that is new.
 */
#include "core/encode/otlp_order.h"

#include <string.h>

#include "core/base/sort.h"

/* What is sorted: an entry or a slot, and what tells most of its place. */
struct item {
    uint64_t first;
    uint64_t second;
    uint32_t id;
    uint32_t zero;
};

static int compare_items(const struct item *x, const struct item *y)
{
    if (x->first != y->first) {
        return x->first < y->first ? -1 : 1;
    }
    return x->second < y->second ? -1 : x->second > y->second;
}

static int compare_ids(const struct item *x, const struct item *y)
{
    return x->id < y->id ? -1 : x->id > y->id;
}

static int by_item(const void *a, const void *b, void *arg)
{
    (void)arg;
    int order = compare_items(a, b);
    return order != 0 ? order : compare_ids(a, b);
}

/* Numbers the entries of a table as they are in items, from 1 on. */
static void number_items(struct otp_plan *p, enum otp_plan_table table, const struct item *items)
{
    size_t count = p->count[table];
    uint32_t *sequence = otp_heap_alloc(p->heap, count * sizeof(sequence[0]));
    if (sequence == NULL) {
        return;
    }
    sequence[0] = 0;
    for (uint32_t i = 1; i < count; i++) {
        sequence[i] = items[i - 1].id;
        p->number[table][sequence[i]] = i;
    }
    p->sequence[table] = sequence;
}

/* The entries of a table that have a number, in its order; NULL: no memory. */
static struct item *items_of(const struct otp_plan *p, enum otp_plan_table table,
                             uint32_t pool_count)
{
    struct item *items = otp_heap_calloc(p->heap, p->count[table], sizeof(items[0]));
    size_t count = 0;
    for (uint32_t id = 1; items != NULL && id < pool_count; id++) {
        if (p->number[table][id] != 0) {
            items[count++].id = id;
        }
    }
    return items;
}

/* Marks in `calls`, by entry of the pool, each location that is not only the innermost one. */
static void find_callers(const struct otp_plan *p, unsigned char *calls)
{
    const struct otp_pool *stacks = &p->store->dict.stacks;
    for (uint32_t id = 1; id < stacks->count; id++) {
        if (p->number[OTP_PLAN_STACKS][id] == 0) {
            continue;
        }
        struct otp_pool_tail tail = otp_pool_tail(stacks, id);
        const uint32_t *locations = tail.data;
        for (size_t i = 1; i < tail.len / sizeof(locations[0]); i++) {
            calls[locations[i]] = 1;
        }
    }
}

static void order_locations(struct otp_plan *p)
{
    const struct otp_pool *pool = &p->store->dict.locations;
    unsigned char *calls = otp_heap_calloc(p->heap, pool->count, 1);
    struct item *items = items_of(p, OTP_PLAN_LOCATIONS, pool->count);
    if (calls != NULL && items != NULL) {
        size_t count = p->count[OTP_PLAN_LOCATIONS] - 1;
        find_callers(p, calls);
        for (size_t i = 0; i < count; i++) {
            const struct otp_dict_location *l = otp_pool_head(pool, items[i].id);
            if (calls[items[i].id] == 0) {
                items[i].first = 1 + (uint64_t)otp_plan_number(p, OTP_PLAN_MAPPINGS, l->mapping);
                items[i].second = l->address;
            }
        }
        otp_sort(items, count, sizeof(items[0]), by_item, NULL);
        number_items(p, OTP_PLAN_LOCATIONS, items);
    }
    otp_heap_free(p->heap, items);
    otp_heap_free(p->heap, calls);
}

/* The number of frame `at` of a stack, or 0 past its end. */
static uint32_t frame_number(const struct otp_plan *p, struct otp_pool_tail tail, size_t at)
{
    const uint32_t *locations = tail.data;
    return at < tail.len / sizeof(locations[0])
               ? otp_plan_number(p, OTP_PLAN_LOCATIONS, locations[at])
               : 0;
}

/* Depth and caller of both are the same, and so is the caller of that. */
static int compare_frames(const struct otp_plan *p, uint32_t a, uint32_t b)
{
    struct otp_pool_tail x = otp_pool_tail(&p->store->dict.stacks, a);
    struct otp_pool_tail y = otp_pool_tail(&p->store->dict.stacks, b);
    const uint32_t *of_x = x.data;
    const uint32_t *of_y = y.data;
    size_t depth = x.len / sizeof(of_x[0]);
    for (size_t i = 1; i < depth; i++) {
        if (of_x[i] != of_y[i]) {
            return frame_number(p, x, i) < frame_number(p, y, i) ? -1 : 1;
        }
    }
    return frame_number(p, x, 0) < frame_number(p, y, 0) ? -1 : 1;
}

static int by_frames(const void *a, const void *b, void *plan)
{
    const struct item *x = a;
    const struct item *y = b;
    int order = compare_items(x, y);
    return order != 0 || x->id == y->id ? order : compare_frames(plan, x->id, y->id);
}

static void order_stacks(struct otp_plan *p)
{
    const struct otp_pool *pool = &p->store->dict.stacks;
    struct item *items = items_of(p, OTP_PLAN_STACKS, pool->count);
    if (items == NULL) {
        return;
    }
    size_t count = p->count[OTP_PLAN_STACKS] - 1;
    for (size_t i = 0; i < count; i++) {
        struct otp_pool_tail tail = otp_pool_tail(pool, items[i].id);
        items[i].first = tail.len;
        items[i].second = (uint64_t)frame_number(p, tail, 1) << 32 | frame_number(p, tail, 2);
    }
    otp_sort(items, count, sizeof(items[0]), by_frames, p);
    number_items(p, OTP_PLAN_STACKS, items);
    otp_heap_free(p->heap, items);
}

/* The slots of a group, by the value of its first type; NULL: no memory. */
static uint32_t *order_slots(struct otp_plan *p, const struct otp_group *g)
{
    uint32_t count = g->slots.count;
    uint32_t *slots = otp_heap_alloc(p->heap, count * sizeof(slots[0]));
    struct item *items = otp_heap_calloc(p->heap, count, sizeof(items[0]));
    if (slots != NULL && items != NULL) {
        for (uint32_t i = 0; i < count; i++) {
            const struct otp_group_sample *who = otp_group_slot(g, i);
            items[i].id = i;
            items[i].first = (uint64_t)otp_group_sum(g, i, 0);
            items[i].second = otp_plan_number(p, OTP_PLAN_STACKS, who->stack);
        }
        otp_sort(items, count, sizeof(items[0]), by_item, NULL);
        for (uint32_t i = 0; i < count; i++) {
            slots[i] = items[i].id;
        }
    } else {
        otp_heap_free(p->heap, slots);
        slots = NULL;
    }
    otp_heap_free(p->heap, items);
    return slots;
}

/* Profiles of one group come one after the other, and have one order. */
static void order_samples(struct otp_plan *p)
{
    for (size_t i = 0; i < p->profile_count; i++) {
        struct otp_plan_profile *profile = &p->profiles[i];
        bool is_first = i == 0 || p->profiles[i - 1].group != profile->group;
        profile->slots = is_first ? order_slots(p, profile->group) : p->profiles[i - 1].slots;
        profile->owns_slots = is_first;
    }
}

void otp_order(struct otp_plan *p)
{
    order_locations(p);
    order_stacks(p);
    order_samples(p);
}
