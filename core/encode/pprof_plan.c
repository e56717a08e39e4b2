/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/pprof_plan.h"

#include <string.h>

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

#define VALUES_AHEAD 256U /* rows that get zeros at once */

/* Values for each row that has none yet, all 0, and for some to come. */
static enum otp_status make_values(struct otp_pprof_plan *p)
{
    size_t width = p->column_count * sizeof(int64_t);
    if (p->values.len >= p->rows.count * width) {
        return OTP_OK;
    }
    size_t bytes = (p->rows.count + VALUES_AHEAD) * width - p->values.len;
    unsigned char *to = otp_buf_reserve(&p->values, bytes);
    if (to == NULL) {
        return OTP_NO_MEMORY;
    }
    memset(to, 0, bytes);
    p->values.len += bytes;
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

#define NEAR 4U /* rows behind the last one that are looked at in any case */
#define FAR                                                                                        \
    2U /* times that all rows are looked at for the samples of a group, before an index is */

static bool is_row(const struct otp_pprof_plan *p, uint32_t id, const struct otp_pprof_row *row)
{
    return memcmp(otp_pool_head(&p->rows, id), row, sizeof(*row)) == 0;
}

/* Looks at the rows from `from` to before `to`, and counts them as far ones; where it stopped. */
static uint32_t look_far(struct otp_pprof_plan *p, const struct otp_pprof_row *row, uint32_t from,
                         uint32_t to)
{
    uint32_t id = from;
    while (id < to && !is_row(p, id, row)) {
        id++;
    }
    p->far_left -= id - from < p->far_left ? id - from : p->far_left;
    return id;
}

/* Looks at all rows; *out_id: OTP_MAP_NONE: it is none of them. False: there were too many. */
static bool find_far(struct otp_pprof_plan *p, const struct otp_pprof_row *row, uint32_t *out_id)
{
    uint32_t behind = p->last_row + 1;
    *out_id = OTP_MAP_NONE;
    if (p->far_left < p->rows.count) {
        return false;
    }
    uint32_t id = look_far(p, row, behind, p->rows.count);
    if (id < p->rows.count) {
        *out_id = id;
        return true;
    }
    id = look_far(p, row, 1, behind);
    *out_id = id < behind ? id : OTP_MAP_NONE;
    return true;
}

/*
 * The row of a sum. Groups mostly have the same samples in the same order, so that it is the row
 * behind the last one. Those of the first group are all new: slots differ. A few that are elsewhere
 * are looked for one by one; for more of them an index is made.
 */
static enum otp_status find_row(struct otp_pprof_plan *p, const struct otp_pprof_row *row,
                                uint32_t *out_id)
{
    if ((row->stack | row->list | row->link) == 0) {
        *out_id = 0;
        return OTP_OK;
    }
    for (uint32_t id = p->last_row + 1; id < p->rows.count && id <= p->last_row + NEAR; id++) {
        if (is_row(p, id, row)) {
            *out_id = p->last_row = id;
            return OTP_OK;
        }
    }
    if (p->all_new) {
        OTP_TRY(otp_pool_append(&p->rows, row, out_id));
        p->last_row = *out_id;
        return OTP_OK;
    }
    if (!p->has_index && find_far(p, row, out_id)) {
        if (*out_id == OTP_MAP_NONE) {
            return otp_pool_append(&p->rows, row, out_id); /* the others go on behind the last */
        }
        p->last_row = *out_id;
        return OTP_OK;
    }
    if (!otp_pool_index(&p->rows)) {
        return OTP_NO_MEMORY;
    }
    p->has_index = true;
    OTP_TRY(otp_pool_intern(&p->rows, row, NULL, 0, out_id));
    p->last_row = *out_id;
    return OTP_OK;
}

/* columns: of the types, SIZE_MAX: not known yet. */
static enum otp_status add_sums(struct otp_pprof_plan *p, const struct otp_group *g, uint32_t slot,
                                size_t *columns)
{
    const struct otp_pprof_row row = row_of(g, slot);
    uint32_t id = 0;
    bool is_found = false;
    for (size_t t = 0; t < g->type_count; t++) {
        int64_t sum = otp_group_sum(g, slot, t);
        if (sum == 0) {
            continue;
        }
        if (!is_found) {
            OTP_TRY(find_row(p, &row, &id));
            is_found = true;
        }
        if (columns[t] == SIZE_MAX) {
            OTP_TRY(find_column(p, &g->types[t], &columns[t]));
        }
        if (id * p->column_count * sizeof(int64_t) >= p->values.len) {
            OTP_TRY(make_values(p));
        }
        add_value(p, id, columns[t], sum);
    }
    return OTP_OK;
}

/* Rows of the observations of a slot. */
static enum otp_status order_observations(struct otp_pprof_plan *p, uint32_t *const *orders,
                                          const struct otp_group *g, uint32_t slot, bool with_times)
{
    struct otp_pprof_row row = row_of(g, slot);
    const int64_t *values = otp_group_seen_values(g);
    uint32_t id;
    for (size_t i = orders[1][slot]; i < orders[1][slot + 1]; i++) {
        size_t seen = orders[0][i];
        if (any_value(values + seen * g->type_count, g->type_count)) {
            row.time_ns = with_times ? otp_group_seen_times(g)[seen] : 0;
            OTP_TRY(otp_pool_intern(&p->rows, &row, NULL, 0, &id));
        }
    }
    return OTP_OK;
}

static enum otp_status order_group(struct otp_pprof_plan *p, const struct otp_group *g,
                                   uint32_t *const *orders, bool with_times)
{
    size_t columns[OTP_VISIT_MAX_TYPES];
    memset(columns, 0xff, sizeof(columns));
    p->last_row = 0;
    p->far_left = (uint64_t)FAR * p->rows.count;
    for (uint32_t slot = 0; slot < g->slots.count; slot++) {
        OTP_TRY(add_sums(p, g, slot, columns));
        if (orders[0] != NULL) {
            OTP_TRY(order_observations(p, orders, g, slot, with_times));
        }
    }
    p->all_new = false;
    if (p->base.options.once) {
        otp_group_forget_rows(g);
    }
    return OTP_OK;
}

/* Rows are numbered as their samples were told, whichever type has a value in them first. */
static enum otp_status order_rows(struct otp_pprof_plan *p, bool with_times)
{
    const struct otp_plan_options *o = &p->base.options;
    const struct otp_group *first = o->first != NULL ? o->first : p->base.store->groups;
    size_t i = 0;
    p->all_new = true;
    for (const struct otp_group *g = first; g != o->end; g = g->next) {
        p->all_new = p->all_new && otp_group_seen(g) == 0;
        p->is_timed = p->is_timed || otp_group_seen(g) > 0;
    }
    p->has_index = p->is_timed; /* observations are looked for in it */
    for (const struct otp_group *g = first; g != o->end; g = g->next, i++) {
        OTP_TRY(order_group(p, g, &p->base.orders[2 * i], with_times));
    }
    if (!p->is_timed) {
        otp_map_fini(&p->rows.map); /* nobody looks for a row any more */
    }
    return OTP_OK;
}

static enum otp_status plan_observations(struct otp_pprof_plan *p, bool with_times)
{
    for (size_t i = 0; i < p->base.profile_count; i++) {
        const struct otp_plan_profile *profile = &p->base.profiles[i];
        size_t column;
        OTP_TRY(find_column(p, &profile->group->types[profile->type], &column));
        if (profile->timed) {
            OTP_TRY(add_observations(p, profile, column, with_times));
        }
    }
    return OTP_OK;
}

static bool is_by_stack(const struct otp_pprof_row *rows, uint32_t count)
{
    for (uint32_t id = 1; id < count; id++) {
        if (rows[id].stack < rows[id - 1].stack) {
            return false;
        }
    }
    return true;
}

/*
 * Rows of one stack are written side by side, otherwise as they were told: pprof repeats the whole
 * stack in each sample, and gzip finds again only what lies 32 KiB back at most.
 */
static enum otp_status order_by_stack(struct otp_pprof_plan *p)
{
    const struct otp_pprof_row *rows = (const void *)p->rows.heads;
    struct otp_heap *heap = p->rows.heap;
    uint32_t count = p->rows.count;
    uint32_t stacks = p->base.store->dict.stacks.count;
    if (is_by_stack(rows, count)) {
        return OTP_OK;
    }
    uint32_t *next = otp_heap_calloc(heap, (size_t)stacks + 1, sizeof(next[0]));
    p->order = otp_heap_alloc(heap, count * sizeof(p->order[0]));
    if (next == NULL || p->order == NULL) {
        otp_heap_free(heap, next);
        return OTP_NO_MEMORY;
    }
    for (uint32_t id = 0; id < count; id++) {
        next[rows[id].stack + 1]++;
    }
    for (uint32_t stack = 0; stack < stacks; stack++) {
        next[stack + 1] += next[stack];
    }
    for (uint32_t id = 0; id < count; id++) {
        p->order[next[rows[id].stack]++] = id;
    }
    otp_heap_free(heap, next);
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
    OTP_TRY(plan_observations(p, options->with_times));
    return order_by_stack(p);
}

void otp_pprof_plan_fini(struct otp_pprof_plan *p)
{
    otp_heap_free(p->rows.heap, p->order);
    otp_plan_fini(&p->base);
    otp_pool_fini(&p->rows);
    otp_buf_fini(&p->columns);
    otp_buf_fini(&p->values);
}
