/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/gather.h"

#include <stdlib.h>
#include <string.h>

#include "core/encode/origin.h"
#include "tools/otelprof/attr_of.h"
#include "tools/otelprof/pick.h"

static const char order_key[] = "pprof.scope.sample_type_order";

static bool text_equal(struct otp_text a, struct otp_text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* ---- resources and scopes ---- */

static bool attrs_equal(const struct otp_attr *a, size_t a_count, const struct otp_attr *b,
                        size_t b_count)
{
    bool same = a_count == b_count;
    for (size_t i = 0; i < a_count && same; i++) {
        same = otp_attr_equal(&a[i], &b[i]);
    }
    return same;
}

static bool envelope_equal(const struct otp_envelope_options *a,
                           const struct otp_envelope_options *b)
{
    return text_equal(a->resource_schema_url, b->resource_schema_url) &&
           text_equal(a->scope_name, b->scope_name) &&
           text_equal(a->scope_version, b->scope_version) &&
           text_equal(a->scope_schema_url, b->scope_schema_url) &&
           attrs_equal(a->resource_attrs, a->resource_attr_count, b->resource_attrs,
                       b->resource_attr_count) &&
           attrs_equal(a->scope_attrs, a->scope_attr_count, b->scope_attrs, b->scope_attr_count);
}

static bool read_envelope(struct otp_gather *g, const struct otp_profiles *m,
                          const struct otp_scope *s, struct otp_envelope_options *out)
{
    const struct otp_profiles_resource *r = otp_profiles_resource(m, s->resource);
    out->resource_attrs = otp_attrs_of_keyvalues(&g->arena, m, r->attrs, &g->cut_values);
    out->resource_attr_count = r->attrs.count;
    out->resource_schema_url = otp_profiles_text(m, r->schema_url);
    out->scope_name = otp_profiles_text(m, s->name);
    out->scope_version = otp_profiles_text(m, s->version);
    out->scope_attrs = otp_attrs_of_keyvalues(&g->arena, m, s->attrs, &g->cut_values);
    out->scope_attr_count = s->attrs.count;
    out->scope_schema_url = otp_profiles_text(m, s->schema_url);
    g->is_from_pprof = g->is_from_pprof || otp_profiles_find_keyvalue(m, s->attrs, order_key);
    return out->resource_attrs != NULL && out->scope_attrs != NULL;
}

/* The attributes that both have, with equal values; in the order of the first. */
static size_t common_attrs(struct otp_attr *a, size_t a_count, const struct otp_attr *b,
                           size_t b_count)
{
    size_t kept = 0;
    for (size_t i = 0; i < a_count; i++) {
        bool found = false;
        for (size_t k = 0; k < b_count && !found; k++) {
            found = otp_attr_equal(&a[i], &b[k]);
        }
        if (found) {
            a[kept++] = a[i];
        }
    }
    return kept;
}

static void keep_common_text(struct otp_text *a, struct otp_text b)
{
    if (!text_equal(*a, b)) {
        *a = otp_text_of(NULL);
    }
}

/* Do both tell the same process, or neither one? */
static bool same_process(const struct otp_envelope_options *a, const struct otp_envelope_options *b)
{
    char pids[2][OTP_FMT_NUMBER_MAX];
    struct otp_origin x;
    struct otp_origin y;
    bool same = true;
    otp_origin_of(a->resource_attrs, a->resource_attr_count, pids[0], &x);
    otp_origin_of(b->resource_attrs, b->resource_attr_count, pids[1], &y);
    for (size_t i = 0; i < OTP_ORIGIN_FIELDS; i++) {
        same = same && text_equal(x.field[i], y.field[i]);
    }
    return same;
}

static bool is_key(const struct otp_attr *a, const char *key)
{
    return text_equal(a->key, otp_text_of(key));
}

/* Takes away what names a process. */
static void forget_process(struct otp_envelope_options *e)
{
    struct otp_attr *attrs = (struct otp_attr *)(uintptr_t)e->resource_attrs;
    size_t kept = 0;
    for (size_t i = 0; i < e->resource_attr_count; i++) {
        if (!is_key(&attrs[i], otp_origin_keys[OTP_ORIGIN_PID]) &&
            !is_key(&attrs[i], otp_origin_keys[OTP_ORIGIN_INSTANCE])) {
            attrs[kept++] = attrs[i];
        }
    }
    e->resource_attr_count = kept;
}

/* Leaves in a what it has in common with b. Of several processes it is none: not one that has the
 * process id of all of them. */
static void keep_common(struct otp_envelope_options *a, const struct otp_envelope_options *b)
{
    if (!same_process(a, b)) {
        forget_process(a);
    }
    a->resource_attr_count =
        common_attrs((struct otp_attr *)(uintptr_t)a->resource_attrs, a->resource_attr_count,
                     b->resource_attrs, b->resource_attr_count);
    a->scope_attr_count = common_attrs((struct otp_attr *)(uintptr_t)a->scope_attrs,
                                       a->scope_attr_count, b->scope_attrs, b->scope_attr_count);
    keep_common_text(&a->resource_schema_url, b->resource_schema_url);
    keep_common_text(&a->scope_name, b->scope_name);
    keep_common_text(&a->scope_version, b->scope_version);
    keep_common_text(&a->scope_schema_url, b->scope_schema_url);
}

/* How profiles come together. */
struct manner {
    enum otp_gather_mode mode;
    bool squash;
};

/* In a scope all profiles have one range of time, so several flushes cannot be in one. */
static bool has_range(const struct manner *how, const struct otp_gather_envelope *e,
                      const struct otp_profile *p)
{
    return how->mode == OTP_GATHER_ADD ||
           (e->time_ns == p->time_ns && e->duration_ns == p->duration_ns);
}

static bool find_envelope(struct otp_gather *g, const struct otp_profiles *m,
                          const struct otp_profile *p, const struct manner *how,
                          size_t *out_envelope)
{
    struct otp_envelope_options e;
    memset(&e, 0, sizeof(e));
    if (!read_envelope(g, m, otp_profiles_scope(m, p->scope), &e)) {
        return false;
    }
    for (size_t i = 0; i < g->envelope_count; i++) {
        if (has_range(how, &g->envelopes[i], p) && envelope_equal(&g->envelopes[i].options, &e)) {
            *out_envelope = i;
            return true;
        }
    }
    g->sources++;
    if (how->squash && g->envelope_count > 0) {
        keep_common(&g->envelopes[0].options, &e);
        *out_envelope = 0;
        return true;
    }
    struct otp_gather_envelope *to = realloc(g->envelopes, (g->envelope_count + 1) * sizeof(to[0]));
    if (to == NULL) {
        return false;
    }
    g->envelopes = to;
    to[g->envelope_count] = (struct otp_gather_envelope){
        .options = e, .time_ns = p->time_ns, .duration_ns = p->duration_ns};
    *out_envelope = g->envelope_count++;
    return true;
}

/* ---- which profiles ---- */

static bool is_same_sum(const struct otp_gather *g, const struct otp_gather_part *a,
                        const struct otp_gather_part *b)
{
    const struct otp_profiles *x = g->set->messages[a->message];
    const struct otp_profiles *y = g->set->messages[b->message];
    const struct otp_profile *p = otp_profiles_profile(x, a->profile);
    const struct otp_profile *q = otp_profiles_profile(y, b->profile);
    struct otp_type s = otp_type_of(x, p);
    struct otp_type t = otp_type_of(y, q);
    return a->envelope == b->envelope && otp_type_equal(&s, &t) &&
           text_equal(otp_profiles_string(x, p->period_type.type),
                      otp_profiles_string(y, q->period_type.type)) &&
           text_equal(otp_profiles_string(x, p->period_type.unit),
                      otp_profiles_string(y, q->period_type.unit));
}

/* The first part of each sum is looked through; there are as many as there are types. */
static void find_sum(struct otp_gather *g, struct otp_gather_part *part, size_t *firsts,
                     size_t *sum_count, enum otp_gather_mode mode)
{
    part->sum = *sum_count;
    for (size_t i = 0; i < *sum_count && mode == OTP_GATHER_ADD; i++) {
        if (is_same_sum(g, &g->parts[firsts[i]], part)) {
            part->sum = i;
            return;
        }
    }
    firsts[(*sum_count)++] = (size_t)(part - g->parts);
}

static int compare_parts(const void *a, const void *b)
{
    const struct otp_gather_part *x = a;
    const struct otp_gather_part *y = b;
    int diff = (x->envelope > y->envelope) - (x->envelope < y->envelope);
    diff = diff != 0 ? diff : (x->sum > y->sum) - (x->sum < y->sum);
    diff = diff != 0 ? diff : (x->message > y->message) - (x->message < y->message);
    return diff != 0 ? diff : (x->profile > y->profile) - (x->profile < y->profile);
}

/* Snapshots that count, marked by message and profile; for all other types everything counts. */
static bool mark_counting(struct otp_gather *g, const size_t *first, unsigned char *counts)
{
    struct otp_type_list types;
    bool ok = otp_type_list_init(&types, g->set);
    for (size_t i = 0; i < types.count && ok; i++) {
        struct otp_pick_list picks;
        ok = otp_pick_list_init(&picks, g->set, &types.items[i]);
        for (size_t k = 0; ok && k < picks.count; k++) {
            counts[first[picks.items[k].message] + picks.items[k].profile] = 1;
        }
        if (ok) {
            otp_pick_list_fini(&picks);
        }
    }
    otp_type_list_fini(&types);
    return ok;
}

static bool add_parts(struct otp_gather *g, const struct manner *how, const size_t *first,
                      const unsigned char *counts, size_t *firsts)
{
    size_t sums = 0;
    for (size_t i = 0; i < g->set->message_count; i++) {
        const struct otp_profiles *m = g->set->messages[i];
        for (uint32_t k = 0; k < m->profiles.count; k++) {
            struct otp_gather_part *part = &g->parts[g->part_count];
            if (how->mode == OTP_GATHER_ADD && !counts[first[i] + k]) {
                g->dropped_snapshots++;
                continue;
            }
            *part = (struct otp_gather_part){.message = i, .profile = k};
            if (!find_envelope(g, m, otp_profiles_profile(m, k), how, &part->envelope)) {
                return false;
            }
            find_sum(g, part, firsts, &sums, how->mode);
            g->part_count++;
        }
    }
    return true;
}

bool otp_gather_init(struct otp_gather *g, const struct otp_profile_set *set,
                     enum otp_gather_mode mode, bool squash)
{
    const struct manner how = {.mode = mode, .squash = squash};
    size_t total = 0;
    memset(g, 0, sizeof(*g));
    g->set = set;
    g->mode = mode;
    otp_heap_init(&g->heap, SIZE_MAX / 2);
    otp_heap_prefer_huge(&g->heap);
    otp_arena_init(&g->arena, &g->heap);
    size_t *first = calloc(set->message_count + 1, sizeof(first[0]));
    for (size_t i = 0; i < set->message_count && first != NULL; i++) {
        first[i] = total;
        total += set->messages[i]->profiles.count;
    }
    unsigned char *counts = calloc(total + 1, 1);
    size_t *firsts = calloc(total + 1, sizeof(firsts[0]));
    g->parts = calloc(total + 1, sizeof(g->parts[0]));
    bool ok = first != NULL && counts != NULL && firsts != NULL && g->parts != NULL &&
              mark_counting(g, first, counts) && add_parts(g, &how, first, counts, firsts);
    if (ok) {
        qsort(g->parts, g->part_count, sizeof(g->parts[0]), compare_parts);
    }
    free(first);
    free(counts);
    free(firsts);
    return ok;
}

void otp_gather_fini(struct otp_gather *g)
{
    free(g->envelopes);
    free(g->parts);
    otp_heap_reset(&g->heap);
    memset(g, 0, sizeof(*g));
}
