/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/pprof_plan.h"

#include <string.h>

#define AHEAD 16U              /* slots whose rows are loaded from memory beforehand */
#define BUF_MAX (SIZE_MAX / 2) /* the heap's limit is the one that counts */

_Static_assert(sizeof(struct otp_pprof_row) == 24, "no padding");

static enum otp_status find_column(struct otp_pprof_plan *p, const struct otp_group_type *t,
                                   size_t *out_column)
{
    struct otp_pprof_column *columns = (void *)p->columns.data;
    for (size_t i = 0; i < p->column_count; i++) {
        if (columns[i].type == t->type && columns[i].unit == t->unit) {
            *out_column = i;
            return OTP_OK;
        }
    }
    const struct otp_pprof_column column = {.type = t->type, .unit = t->unit};
    if (p->column_count == OTP_PPROF_COLUMNS_MAX) {
        return OTP_TOO_LARGE;
    }
    if (!otp_buf_add(&p->columns, &column, sizeof(column))) {
        return OTP_NO_MEMORY;
    }
    *out_column = p->column_count++;
    return OTP_OK;
}

/* All columns come before all rows, so that a row has its full width from the start. */
static enum otp_status plan_columns(struct otp_pprof_plan *p)
{
    for (size_t i = 0; i < p->base.profile_count; i++) {
        const struct otp_plan_profile *profile = &p->base.profiles[i];
        size_t column;
        OTP_TRY(find_column(p, &profile->group->types[profile->type], &column));
    }
    return OTP_OK;
}

/* Values of all rows, all 0: every row is there by now. */
static enum otp_status make_values(struct otp_pprof_plan *p)
{
    size_t bytes = p->rows.count * p->column_count * sizeof(int64_t);
    unsigned char *to = otp_buf_reserve(&p->values, bytes);
    if (to == NULL) {
        return OTP_NO_MEMORY;
    }
    memset(to, 0, bytes);
    p->values.len = bytes;
    return OTP_OK;
}

static void add_value(struct otp_pprof_plan *p, uint32_t id, size_t column, int64_t value)
{
    p->zero_is_used = p->zero_is_used || id == 0;
    int64_t *sum = (int64_t *)(void *)p->values.data + id * p->column_count + column;
    if (__builtin_add_overflow(*sum, value, sum)) {
        *sum = value < 0 ? INT64_MIN : INT64_MAX;
    }
}

static struct otp_pprof_row row_of(const struct otp_group *g, uint32_t slot)
{
    const struct otp_group_sample *who = otp_group_slot(g, slot);
    struct otp_pprof_row row = {.stack = who->stack, .list = who->list, .link = who->link};
    return row;
}

static void add_sums(struct otp_pprof_plan *p, const struct otp_plan_profile *profile,
                     size_t column, const uint32_t *rows)
{
    const struct otp_group *g = profile->group;
    for (uint32_t slot = 0; slot < g->slots.count; slot++) {
        int64_t sum = otp_group_sum(g, slot, profile->type);
        if (sum != 0) {
            add_value(p, rows[slot], column, sum);
        }
    }
}

static enum otp_status add_observations(struct otp_pprof_plan *p,
                                        const struct otp_plan_profile *profile, size_t column,
                                        bool with_times)
{
    const struct otp_group *g = profile->group;
    const uint32_t *slots = otp_group_seen_slots(g);
    const uint64_t *times = otp_group_seen_times(g);
    const int64_t *values = otp_group_seen_values(g);
    size_t seen = otp_group_seen(g);
    for (size_t i = 0; i < seen; i++) {
        int64_t value = values[i * g->type_count + profile->type];
        if (value != 0) {
            struct otp_pprof_row row = row_of(g, slots[i]);
            uint32_t id;
            row.time_ns = with_times ? times[i] : 0;
            OTP_TRY(otp_pool_intern(&p->rows, &row, NULL, 0, &id));
            add_value(p, id, column, value);
        }
    }
    return OTP_OK;
}

static bool any_value(const int64_t *values, size_t count)
{
    int64_t any = 0;
    for (size_t i = 0; i < count; i++) {
        any |= values[i];
    }
    return any != 0;
}

static enum otp_status order_slot(struct otp_pprof_plan *p, size_t number,
                                  const struct otp_group *g, uint32_t slot, bool with_times)
{
    uint32_t *const *orders = &p->base.orders[2 * number];
    struct otp_pprof_row row = row_of(g, slot);
    const int64_t *values = otp_group_seen_values(g);
    uint32_t id;
    bool is_sum = false;
    for (size_t t = 0; t < g->type_count; t++) {
        is_sum = is_sum || otp_group_sum(g, slot, t) != 0;
    }
    if (is_sum) {
        OTP_TRY(otp_pool_intern(&p->rows, &row, NULL, 0, &p->slot_rows[number][slot]));
    }
    for (size_t i = orders[0] == NULL ? 0 : orders[1][slot];
         orders[0] != NULL && i < orders[1][slot + 1]; i++) {
        size_t seen = orders[0][i];
        if (any_value(values + seen * g->type_count, g->type_count)) {
            row.time_ns = with_times ? otp_group_seen_times(g)[seen] : 0;
            OTP_TRY(otp_pool_intern(&p->rows, &row, NULL, 0, &id));
        }
    }
    return OTP_OK;
}

/* Rows are numbered as their samples were told, whichever type has a value in them first. */
static enum otp_status order_rows(struct otp_pprof_plan *p, bool with_times)
{
    const struct otp_plan_options *o = &p->base.options;
    const struct otp_group *g = o->first != NULL ? o->first : p->base.store->groups;
    bool is_timed = false;
    p->slot_rows = otp_heap_calloc(p->base.heap, p->base.group_count, sizeof(p->slot_rows[0]));
    if (p->slot_rows == NULL) {
        return OTP_NO_MEMORY;
    }
    for (size_t i = 0; g != o->end; g = g->next, i++) {
        p->slot_rows[i] = otp_heap_calloc(p->base.heap, g->slots.count, sizeof(uint32_t));
        if (p->slot_rows[i] == NULL) {
            return OTP_NO_MEMORY;
        }
        for (uint32_t slot = 1; slot < g->slots.count; slot++) {
            if (slot + AHEAD < g->slots.count) {
                const struct otp_pprof_row row = row_of(g, slot + AHEAD);
                (void)otp_pool_prefetch(&p->rows, &row, NULL, 0);
            }
            OTP_TRY(order_slot(p, i, g, slot, with_times));
        }
        OTP_TRY(g->slots.count > 0 ? order_slot(p, i, g, 0, with_times) : OTP_OK);
        is_timed = is_timed || otp_group_seen(g) > 0;
    }
    if (!is_timed) {
        otp_map_fini(&p->rows.map); /* nobody looks for a row any more */
    }
    return OTP_OK;
}

static enum otp_status plan_rows(struct otp_pprof_plan *p, bool with_times)
{
    const struct otp_plan_options *o = &p->base.options;
    const struct otp_group *g = o->first != NULL ? o->first : p->base.store->groups;
    size_t number = 0;
    for (size_t i = 0; i < p->base.profile_count; i++) {
        const struct otp_plan_profile *profile = &p->base.profiles[i];
        size_t column;
        for (; g != profile->group; g = g->next) { /* profiles are in the order of groups */
            number++;
        }
        OTP_TRY(find_column(p, &profile->group->types[profile->type], &column));
        if (profile->timed) {
            OTP_TRY(add_observations(p, profile, column, with_times));
        } else {
            add_sums(p, profile, column, p->slot_rows[number]);
        }
    }
    return OTP_OK;
}

enum otp_status otp_pprof_plan_init(struct otp_pprof_plan *p, const struct otp_store *store,
                                    const struct otp_pprof_plan_options *options)
{
    struct otp_heap *heap = store->dict.heap;
    memset(p, 0, sizeof(*p));
    otp_buf_init(&p->columns, heap, BUF_MAX);
    otp_buf_init(&p->values, heap, BUF_MAX);
    p->rows.heap = heap; /* so that it may be freed whatever comes */
    otp_map_init(&p->rows.map, heap);
    OTP_TRY(otp_plan_init(&p->base, store, &options->base));
    OTP_TRY(otp_pool_init(&p->rows, heap, NULL, sizeof(struct otp_pprof_row)));
    OTP_TRY(plan_columns(p));
    OTP_TRY(order_rows(p, options->with_times));
    OTP_TRY(make_values(p));
    return plan_rows(p, options->with_times);
}

void otp_pprof_plan_fini(struct otp_pprof_plan *p)
{
    for (size_t i = 0; p->slot_rows != NULL && i < p->base.group_count; i++) {
        otp_heap_free(p->base.heap, p->slot_rows[i]);
    }
    otp_heap_free(p->base.heap, p->slot_rows);
    otp_plan_fini(&p->base);
    otp_pool_fini(&p->rows);
    otp_buf_fini(&p->columns);
    otp_buf_fini(&p->values);
}
