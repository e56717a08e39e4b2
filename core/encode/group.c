/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/group.h"

#include <string.h>

#include "core/base/sort.h"
#include "core/encode/clean.h"

#define BUF_MAX (SIZE_MAX / 2) /* the heap's limit is the one that counts */

static enum otp_status copy_payload(struct otp_group *g, struct otp_dict *d,
                                    const struct otp_visit_profile *p)
{
    if ((p->payload_format.len == 0) != (p->payload.len == 0)) {
        return OTP_INVALID;
    }
    if (p->payload.len == 0) {
        return OTP_OK;
    }
    otp_buf_clear(&d->text);
    if (!otp_clean_text(&d->text, p->payload_format, d->max_string)) {
        return OTP_NO_MEMORY;
    }
    g->payload_format = otp_heap_copy_string(g->heap, (const char *)d->text.data, d->text.len);
    g->payload = otp_heap_alloc(g->heap, p->payload.len);
    if (g->payload_format == NULL || g->payload == NULL) {
        return OTP_NO_MEMORY;
    }
    memcpy(g->payload, p->payload.data, p->payload.len);
    g->payload_len = p->payload.len;
    return OTP_OK;
}

static enum otp_status intern_type(struct otp_dict *d, const struct otp_value_type *t,
                                   struct otp_group_type *out)
{
    OTP_TRY(otp_dict_string(d, t->type, &out->type));
    return otp_dict_string(d, t->unit, &out->unit);
}

static bool text_is(const struct otp_dict *d, uint32_t id, const char *s)
{
    struct otp_text t = otp_dict_text(d, id);
    return t.len == strlen(s) && memcmp(t.data, s, t.len) == 0;
}

static void find_fold(struct otp_group *g, const struct otp_dict *d)
{
    g->count_type = OTP_GROUP_NO_TYPE;
    g->period_index = OTP_GROUP_NO_TYPE;
    for (size_t i = g->type_count; i-- > 0;) {
        const struct otp_group_type *t = &g->types[i];
        if (text_is(d, t->unit, "count") &&
            (text_is(d, t->type, "samples") || text_is(d, t->type, "sample"))) {
            g->count_type = i;
        } else if (t->type == g->period_type.type && t->unit == g->period_type.unit) {
            g->period_index = i;
        }
    }
    g->can_fold = g->count_type != OTP_GROUP_NO_TYPE && g->period_index != OTP_GROUP_NO_TYPE;
}

static enum otp_status fill(struct otp_group *g, struct otp_dict *d,
                            const struct otp_visit_profile *p)
{
    for (size_t i = 0; i < p->type_count; i++) {
        OTP_TRY(intern_type(d, &p->types[i], &g->types[i]));
    }
    g->type_count = p->type_count;
    OTP_TRY(intern_type(d, &p->period_type, &g->period_type));
    OTP_TRY(otp_dict_attr_list(d, p->attrs, p->attr_count, &g->attrs));
    g->period = p->period;
    g->time_ns = p->time_unix_ns;
    g->duration_ns = p->duration_ns;
    g->dropped_attributes = p->dropped_attributes;
    OTP_TRY(copy_payload(g, d, p));
    OTP_TRY(otp_pool_init(&g->slots, g->heap, NULL, sizeof(struct otp_group_sample)));
    static const int64_t zero[OTP_VISIT_MAX_TYPES];
    if (!otp_buf_add(&g->sums, zero, g->type_count * sizeof(zero[0]))) {
        return OTP_NO_MEMORY;
    }
    find_fold(g, d);
    return OTP_OK;
}

enum otp_status otp_group_create(struct otp_dict *d, const struct otp_visit_profile *p,
                                 struct otp_group **out_group)
{
    *out_group = NULL;
    if (p->type_count == 0 || p->type_count > OTP_VISIT_MAX_TYPES) {
        return OTP_INVALID;
    }
    struct otp_group *g = otp_heap_calloc(d->heap, 1, sizeof(*g));
    if (g == NULL) {
        return OTP_NO_MEMORY;
    }
    g->heap = d->heap;
    otp_buf_init(&g->sums, g->heap, BUF_MAX);
    otp_buf_init(&g->seen_slots, g->heap, BUF_MAX);
    otp_buf_init(&g->seen_times, g->heap, BUF_MAX);
    otp_buf_init(&g->seen_values, g->heap, BUF_MAX);
    enum otp_status status = fill(g, d, p);
    if (status != OTP_OK) {
        otp_group_destroy(g);
        return status;
    }
    *out_group = g;
    return OTP_OK;
}

void otp_group_destroy(struct otp_group *g)
{
    if (g == NULL) {
        return;
    }
    if (g->rows != NULL) {
        g->slots.heads = NULL; /* borrowed */
    }
    otp_pool_fini(&g->slots);
    otp_buf_fini(&g->sums);
    otp_buf_fini(&g->seen_slots);
    otp_buf_fini(&g->seen_times);
    otp_buf_fini(&g->seen_values);
    otp_heap_free(g->heap, g->payload_format);
    otp_heap_free(g->heap, g->payload);
    otp_heap_free(g->heap, g);
}

/* Adds b to *a; past the ends of the range it stays at the end. */
static void add_saturated(int64_t *a, int64_t b)
{
    if (__builtin_add_overflow(*a, b, a)) {
        *a = b < 0 ? INT64_MIN : INT64_MAX;
    }
}

static enum otp_status add_observation(struct otp_group *g, uint32_t slot,
                                       const struct otp_group_waiting *s)
{
    if (otp_group_seen(g) >= OTP_POOL_MAX) {
        return OTP_FULL;
    }
    bool ok = otp_buf_add(&g->seen_slots, &slot, sizeof(slot)) &&
              otp_buf_add(&g->seen_times, &s->time_ns, sizeof(s->time_ns)) &&
              otp_buf_add(&g->seen_values, s->values, g->type_count * sizeof(s->values[0]));
    if (!ok) {
        return OTP_NO_MEMORY;
    }
    if (g->first_time == 0 || s->time_ns < g->first_time) {
        g->first_time = s->time_ns;
    }
    if (s->time_ns > g->last_time) {
        g->last_time = s->time_ns;
    }
    return OTP_OK;
}

static enum otp_status add_sums(struct otp_group *g, uint32_t slot,
                                const struct otp_group_waiting *s)
{
    size_t bytes = g->type_count * sizeof(s->values[0]);
    while (g->sums.len / bytes < g->slots.count) {
        unsigned char *to = otp_buf_reserve(&g->sums, bytes);
        if (to == NULL) {
            return OTP_NO_MEMORY;
        }
        memset(to, 0, bytes);
        g->sums.len += bytes;
    }
    int64_t *sums = (int64_t *)(void *)g->sums.data + slot * g->type_count;
    for (size_t i = 0; i < g->type_count; i++) {
        add_saturated(&sums[i], s->values[i]);
    }
    return OTP_OK;
}

/* Whether this sample lets the number of observations of the period type stand for the count. */
static bool keeps_fold(const struct otp_group *g, const struct otp_visit_sample *s)
{
    int64_t count = s->values[g->count_type];
    if (count == 0) {
        return s->values[g->period_index] == 0;
    }
    return count == 1 && s->timestamp_ns != 0;
}

/* The list of a sample's attributes; often that of the sample before. */
static enum otp_status find_list(struct otp_group *g, struct otp_dict *d,
                                 const struct otp_visit_sample *s, uint32_t *out_list)
{
    struct otp_pool_tail last = otp_pool_tail(&d->lists, g->last_list);
    const uint32_t *its = last.data;
    bool same = last.len == s->attr_count * sizeof(s->attrs[0]);
    for (size_t i = 0; i < s->attr_count && same; i++) {
        same = its[i] == s->attrs[i];
    }
    if (same) {
        *out_list = g->last_list;
        return OTP_OK;
    }
    OTP_TRY(otp_dict_list(d, s->attrs, s->attr_count, out_list));
    g->last_list = *out_list;
    return OTP_OK;
}

/* Finds the place of the sample that waits longest and adds it there. */
static enum otp_status settle(struct otp_group *g)
{
    const struct otp_group_waiting *s = &g->waiting[g->settled_count++ % OTP_GROUP_WAITING];
    uint32_t slot;
    OTP_TRY(otp_pool_intern_hashed(&g->slots, s->hash, &s->who, NULL, 0, &slot));
    return s->who.timed != 0 ? add_observation(g, slot, s) : add_sums(g, slot, s);
}

enum otp_status otp_group_close(struct otp_group *g)
{
    enum otp_status status = OTP_OK;
    while (g->settled_count != g->waiting_count && status == OTP_OK) {
        status = settle(g);
    }
    otp_map_fini(&g->slots.map);
    return status;
}

enum otp_status otp_group_add(struct otp_group *g, struct otp_dict *d,
                              const struct otp_visit_sample *s)
{
    struct otp_group_sample who = {
        .stack = s->stack, .link = s->link, .timed = s->timestamp_ns != 0};
    int64_t any = 0;
    if (g->rows != NULL || s->stack >= d->stacks.count || s->link >= d->links.count ||
        s->timestamp_ns == UINT64_MAX) {
        return OTP_INVALID;
    }
    OTP_TRY(find_list(g, d, s, &who.list));
    for (size_t i = 0; i < g->type_count; i++) {
        any |= s->values[i];
    }
    if (any == 0) {
        return OTP_OK;
    }
    g->can_fold = g->can_fold && keeps_fold(g, s);
    if (g->waiting_count - g->settled_count == OTP_GROUP_WAITING) {
        OTP_TRY(settle(g));
    }
    struct otp_group_waiting *w = &g->waiting[g->waiting_count++ % OTP_GROUP_WAITING];
    w->who = who;
    w->time_ns = s->timestamp_ns;
    memcpy(w->values, s->values, g->type_count * sizeof(w->values[0]));
    w->hash = otp_pool_prefetch(&g->slots, &who, NULL, 0);
    return OTP_OK;
}

static int compare_seen(const void *a, const void *b, void *arg)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    const uint64_t *times = arg;
    if (times[x] != times[y]) {
        return times[x] < times[y] ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static bool in_order(const uint64_t *times, const uint32_t *order, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (times[order[i - 1]] > times[order[i]]) {
            return false;
        }
    }
    return true;
}

void otp_group_order(const struct otp_group *g, uint32_t *out_order, uint32_t *out_start)
{
    size_t seen = otp_group_seen(g);
    const uint32_t *slots = otp_group_seen_slots(g);
    /* arg of the sort is not const */
    uint64_t *times = (void *)g->seen_times.data;
    memset(out_start, 0, ((size_t)g->slots.count + 1) * sizeof(out_start[0]));
    /* Count, sum up, place: after placing, start[s] is where slot s + 1 begins; shift back. */
    for (size_t i = 0; i < seen; i++) {
        out_start[slots[i] + 1]++;
    }
    for (size_t s = 0; s < g->slots.count; s++) {
        out_start[s + 1] += out_start[s];
    }
    for (size_t i = 0; i < seen; i++) {
        out_order[out_start[slots[i]]++] = (uint32_t)i;
    }
    memmove(out_start + 1, out_start, g->slots.count * sizeof(out_start[0]));
    out_start[0] = 0;
    for (size_t s = 0; s < g->slots.count; s++) {
        uint32_t *part = out_order + out_start[s];
        size_t count = out_start[s + 1] - out_start[s];
        if (!in_order(times, part, count)) {
            otp_sort(part, count, sizeof(part[0]), compare_seen, times);
        }
    }
}
