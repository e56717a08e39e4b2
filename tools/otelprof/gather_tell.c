/* SPDX-License-Identifier: Apache-2.0 */
/* Telling what was gathered: one visit for each sum, with all samples of its parts. */
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "tools/otelprof/attr_of.h"
#include "tools/otelprof/gather.h"
#include "tools/otelprof/pick.h"
#include "tools/otelprof/progress.h"
#include "tools/otelprof/retell.h"

struct telling {
    struct otp_gather *g;
    struct otp_product *p;
    struct otp_retell *retells; /* by message; zeroed ones are not begun */
    bool keep_original;
    uint64_t *hashes;   /* by message, of its tables; 0: not known yet */
    bool *has_original; /* by message: its original is attached already */
};

static bool begins_with(struct otp_text text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.data, prefix, len) == 0;
}

static bool is_key(const struct otp_attr *a, const char *key)
{
    return a->key.len == strlen(key) && begins_with(a->key, key);
}

/* ---- attributes of a sum ---- */

/* A loss as a process has stated it so far. */
struct stated {
    uint64_t who; /* hash of process and key */
    int64_t number;
};

struct attr_list {
    struct otp_attr *items;
    size_t count;
    struct otp_map map;    /* of losses */
    struct otp_buf losses; /* struct stated */
};

/* Adds the items of b to the list a, without those that are there. */
static bool join_lists(struct otp_arena *arena, struct otp_attr *a, const struct otp_attr *b)
{
    struct otp_attr *items =
        otp_arena_alloc(arena, (a->item_count + b->item_count) * sizeof(items[0]) + 1);
    size_t count = a->item_count;
    if (items == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = a->items[i];
    }
    for (size_t i = 0; i < b->item_count; i++) {
        bool found = false;
        for (size_t k = 0; k < count && !found; k++) {
            found = otp_attr_equal(&items[k], &b->items[i]);
        }
        if (!found) {
            items[count++] = b->items[i];
        }
    }
    a->items = items;
    a->item_count = count;
    return true;
}

static bool is_loss(const struct otp_attr *a)
{
    return begins_with(a->key, "otelprof.dropped.") && a->kind == OTP_ATTR_INT;
}

static bool is_stated(const void *ctx, uint32_t id, const void *key)
{
    const struct attr_list *l = ctx;
    const struct stated *s = (const void *)l->losses.data;
    return s[id].who == *(const uint64_t *)key;
}

/* Processes count their losses from their start: of a later flush what is new is left. */
static bool take_news(struct attr_list *l, uint64_t process, struct otp_attr *a)
{
    uint64_t who = otp_hash_bytes(a->key.data, a->key.len, process);
    uint32_t n = otp_map_find(&l->map, who, &who, is_stated, l);
    struct stated fresh = {.who = who};
    if (n == OTP_MAP_NONE) {
        n = (uint32_t)(l->losses.len / sizeof(fresh));
        if (!otp_buf_add(&l->losses, &fresh, sizeof(fresh)) || !otp_map_add(&l->map, who, n)) {
            return false;
        }
    }
    struct stated *s = (struct stated *)(void *)l->losses.data + n;
    int64_t before = s->number;
    s->number = a->number > before ? a->number : before;
    a->number = s->number - before;
    return true;
}

/* Losses add up, comments gather; of anything else the first value stays. */
static bool join_attr(struct otp_arena *arena, struct otp_attr *a, const struct otp_attr *b)
{
    if (is_loss(a) && b->kind == OTP_ATTR_INT) {
        a->number = otp_add_clamped(a->number, b->number);
    }
    if (is_key(a, "pprof.profile.comment") && a->kind == OTP_ATTR_LIST &&
        b->kind == OTP_ATTR_LIST) {
        return join_lists(arena, a, b);
    }
    return true;
}

static bool add_attr(struct otp_arena *arena, struct attr_list *l, const struct otp_attr *a)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->items[i].key.len == a->key.len &&
            memcmp(l->items[i].key.data, a->key.data, a->key.len) == 0) {
            return join_attr(arena, &l->items[i], a);
        }
    }
    struct otp_attr *to = realloc(l->items, (l->count + 1) * sizeof(to[0]));
    if (to == NULL) {
        return false;
    }
    l->items = to;
    to[l->count++] = *a;
    return true;
}

static bool gather_attrs(struct telling *t, const struct otp_gather_part *parts, size_t count,
                         struct attr_list *out)
{
    otp_map_init(&out->map, &t->g->heap);
    otp_buf_init(&out->losses, &t->g->heap, SIZE_MAX / 2);
    for (size_t i = 0; i < count; i++) {
        const struct otp_profiles *m = t->g->set->messages[parts[i].message];
        uint64_t process = otp_pick_process(m, parts[i].profile);
        uint32_t attrs;
        const int32_t *list =
            otp_profiles_list(m, otp_profiles_profile(m, parts[i].profile)->attrs, &attrs);
        for (uint32_t k = 0; k < attrs; k++) {
            struct otp_attr a;
            if (!otp_attr_of_entry(&t->g->arena, m, list[k], &a, &t->g->cut_values) ||
                (is_loss(&a) && process != 0 && !take_news(out, process, &a)) ||
                !add_attr(&t->g->arena, out, &a)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- the visit ---- */

static void unite_ranges(const struct telling *t, const struct otp_gather_part *parts, size_t count,
                         struct otp_visit_profile *v)
{
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        const struct otp_profiles *m = t->g->set->messages[parts[i].message];
        const struct otp_profile *p = otp_profiles_profile(m, parts[i].profile);
        uint64_t until;
        if (__builtin_add_overflow(p->time_ns, p->duration_ns, &until)) {
            until = UINT64_MAX;
        }
        if (p->time_ns != 0 && (v->time_unix_ns == 0 || p->time_ns < v->time_unix_ns)) {
            v->time_unix_ns = p->time_ns;
        }
        end = until > end ? until : end;
        v->dropped_attributes += p->dropped_attributes;
    }
    v->duration_ns = end - v->time_unix_ns;
}

/* What a message was converted from goes with its first profile only. */
static void attach_original(struct telling *t, const struct otp_gather_part *part, size_t count,
                            struct otp_visit_profile *v)
{
    const struct otp_profiles *m = t->g->set->messages[part->message];
    const struct otp_profile *p = otp_profiles_profile(m, part->profile);
    if (count > 1) {
        return; /* a sum comes from no single original */
    }
    if (p->payload.len > 0 && p->payload_format.len > 0) {
        v->payload_format = otp_profiles_text(m, p->payload_format);
        v->payload = otp_profiles_text(m, p->payload);
    } else if (t->keep_original && m->source == OTP_SOURCE_PPROF &&
               !t->has_original[part->message]) {
        v->payload_format = otp_text_of("pprof");
        v->payload = otp_text_make((const char *)m->original, m->original_size);
        t->has_original[part->message] = true;
    }
}

static uint64_t hash_items(const struct otp_vec *v, uint64_t hash)
{
    return v->count == 0 ? hash : otp_hash_bytes(v->items, (size_t)v->count * v->item_size, hash);
}

/* Names, code, stacks and large values of a message. */
static uint64_t hash_tables(const struct otp_profiles *m)
{
    uint64_t hash = 1;
    for (uint32_t i = 0; i < m->table[OTP_TABLE_STRING].count; i++) {
        struct otp_text s = otp_profiles_string(m, (int32_t)i);
        hash = otp_hash_bytes(s.data, s.len, hash);
    }
    hash = hash_items(&m->table[OTP_TABLE_LOCATION], hash);
    hash = hash_items(&m->table[OTP_TABLE_FUNCTION], hash);
    hash = hash_items(&m->frames, hash);
    hash = hash_items(&m->numbers, hash); /* large values */
    return hash_items(&m->lists, hash) | 1;
}

/* Samples of a profile, and when they were taken. */
static uint64_t hash_profile(const struct otp_profiles *m, const struct otp_profile *p,
                             uint64_t hash)
{
    const struct otp_sample *samples = m->samples.items;
    const uint64_t times[] = {p->time_ns, p->duration_ns, (uint64_t)p->period};
    hash = otp_hash_bytes(times, sizeof(times), hash);
    return p->samples.count == 0 ? hash
                                 : otp_hash_bytes(samples + p->samples.first,
                                                  p->samples.count * sizeof(samples[0]), hash);
}

/*
 * An id made of the content, so that equal inputs give equal files, in whichever order they come:
 * the sum of hashes of the profiles, each with the names of its message and its place in it.
 */
static void make_id(struct telling *t, const struct otp_gather_part *parts, size_t count)
{
    uint64_t id[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        const struct otp_profiles *m = t->g->set->messages[parts[i].message];
        uint64_t *hash = &t->hashes[parts[i].message];
        if (*hash == 0) {
            *hash = hash_tables(m);
        }
        const struct otp_profile *p = otp_profiles_profile(m, parts[i].profile);
        uint64_t mine = hash_profile(m, p, *hash);
        id[0] += otp_hash_mix(mine, parts[i].profile);
        id[1] += otp_hash_mix(mine + 1, parts[i].profile);
    }
    id[0] |= 1; /* never all zero */
    memcpy(t->p->next_id, id, sizeof(id));
}

/* A profile keeps its id. Sums have one of their own, and so has what comes from a form without one
 * for each profile; what is written in the form that it had stays without. */
static void choose_id(struct telling *t, const struct otp_gather_part *parts, size_t count)
{
    const struct otp_profiles *m = t->g->set->messages[parts->message];
    struct otp_text id = otp_profiles_text(m, otp_profiles_profile(m, parts->profile)->profile_id);
    bool has_one_id = m->source == OTP_SOURCE_OTEP239 && t->p->otlp != NULL;
    if (count == 1 && id.len == sizeof(t->p->next_id)) {
        memcpy(t->p->next_id, id.data, id.len);
    } else if (count > 1 || has_one_id || m->source == OTP_SOURCE_PPROF ||
               m->source == OTP_SOURCE_GPERFTOOLS) {
        make_id(t, parts, count);
        t->g->made_ids += count == 1 && has_one_id;
    } else {
        memset(t->p->next_id, 0, sizeof(t->p->next_id));
    }
}

static bool same_text(struct otp_text a, struct otp_text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/*
 * The period of a sum of profiles with different ones is the first, for all sums of an envelope
 * that count off the same: types that are views of the same samples stay so.
 */
static int64_t period_of(const struct telling *t, const struct otp_gather_part *part)
{
    const struct otp_profiles *m = t->g->set->messages[part->message];
    const struct otp_profile *p = otp_profiles_profile(m, part->profile);
    struct otp_text type = otp_profiles_string(m, p->period_type.type);
    size_t first = part->message;
    int64_t period = p->period;
    for (size_t i = 0; i < t->g->part_count && t->g->mode == OTP_GATHER_ADD; i++) {
        const struct otp_gather_part *other = &t->g->parts[i];
        const struct otp_profiles *n = t->g->set->messages[other->message];
        const struct otp_profile *q = otp_profiles_profile(n, other->profile);
        if (other->envelope == part->envelope && other->message < first && q->period > 0 &&
            same_text(otp_profiles_string(n, q->period_type.type), type)) {
            first = other->message;
            period = q->period;
        }
    }
    return period;
}

static enum otp_status begin(struct telling *t, const struct otp_gather_part *parts, size_t count)
{
    const struct otp_profiles *m = t->g->set->messages[parts->message];
    const struct otp_profile *p = otp_profiles_profile(m, parts->profile);
    struct otp_type type = otp_type_of(m, p);
    const struct otp_value_type told = {.type = type.type, .unit = type.unit};
    struct attr_list attrs = {.items = NULL};
    struct otp_visit_profile v = {
        .types = &told,
        .type_count = 1,
        .period_type = {.type = otp_profiles_string(m, p->period_type.type),
                        .unit = otp_profiles_string(m, p->period_type.unit)},
        .period = period_of(t, parts),
    };
    bool has_attrs = gather_attrs(t, parts, count, &attrs);
    otp_map_fini(&attrs.map);
    otp_buf_fini(&attrs.losses);
    if (!has_attrs) {
        free(attrs.items);
        return OTP_NO_MEMORY;
    }
    v.attrs = attrs.items;
    v.attr_count = attrs.count;
    unite_ranges(t, parts, count, &v);
    attach_original(t, parts, count, &v);
    choose_id(t, parts, count);
    enum otp_status status = t->p->visitor->begin_profile(t->p->visitor, &v);
    free(attrs.items);
    return status;
}

static enum otp_status retell_of(struct telling *t, size_t message, struct otp_retell **out)
{
    struct otp_retell *r = &t->retells[message];
    const struct otp_profiles *m = t->g->set->messages[message];
    *out = r;
    if (r->m != NULL) {
        return OTP_OK;
    }
    OTP_TRY(otp_retell_init(r, m, t->p->visitor, &t->g->heap));
    r->symbolizer = t->g->symbolizer;
    return t->g->is_from_pprof ? otp_retell_all_mappings(r) : OTP_OK;
}

static size_t count_rows(const struct telling *t, const struct otp_gather_part *parts, size_t count)
{
    size_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        const struct otp_profiles *m = t->g->set->messages[parts[i].message];
        rows += otp_profiles_profile(m, parts[i].profile)->samples.count;
    }
    return rows;
}

/* Memory for the rows of some profiles: of one it is that of its samples, which are then none any
 * more. */
static struct otp_visit_row *room_for_rows(struct telling *t, const struct otp_gather_part *parts,
                                           size_t count, size_t rows)
{
    if (count > 1) {
        return otp_heap_calloc(&t->g->heap, rows, sizeof(struct otp_visit_row));
    }
    struct otp_profiles *m = t->g->set->messages[parts->message];
    return (void *)((struct otp_sample *)m->samples.items +
                    otp_profiles_profile(m, parts->profile)->samples.first);
}

static bool takes_rows(const struct telling *t, const struct otp_gather_part *parts, size_t count)
{
    bool takes = t->p->visitor->rows != NULL;
    for (size_t i = 0; i < count && takes; i++) {
        takes = !otp_retell_has_times(t->g->set->messages[parts[i].message], parts[i].profile);
    }
    return takes;
}

/* All samples of some profiles at once. */
static enum otp_status tell_rows(struct telling *t, const struct otp_gather_part *parts,
                                 size_t count)
{
    size_t total = count_rows(t, parts, count);
    struct otp_visit_rows rows = {.items =
                                      total == 0 ? NULL : room_for_rows(t, parts, count, total)};
    enum otp_status status = total > 0 && rows.items == NULL ? OTP_NO_MEMORY : OTP_OK;
    struct otp_buf longs;
    otp_buf_init(&longs, &t->g->heap, SIZE_MAX / 2);
    for (size_t i = 0; i < count && status == OTP_OK; i++) {
        struct otp_retell *r;
        status = retell_of(t, parts[i].message, &r);
        status = status == OTP_OK ? otp_retell_tables(r, parts[i].profile) : status;
        status = status == OTP_OK ? otp_retell_rows(r, parts[i].profile, &rows, &longs) : status;
        if (status == OTP_OK && count > 1) {
            struct otp_profiles *m = t->g->set->messages[parts[i].message];
            otp_profiles_forget_samples(m, otp_profiles_profile(m, parts[i].profile));
        }
        otp_progress_show("writing", (uint64_t)(parts + i - t->g->parts), t->g->part_count);
    }
    if (status == OTP_OK) {
        rows.longs = (const void *)longs.data;
        rows.long_count = longs.len / sizeof(rows.longs[0]);
        status = t->p->visitor->rows(t->p->visitor, &rows);
    }
    otp_buf_fini(&longs);
    return status;
}

static enum otp_status tell_sum(struct telling *t, const struct otp_gather_part *parts,
                                size_t count)
{
    OTP_TRY(begin(t, parts, count));
    if (takes_rows(t, parts, count)) {
        OTP_TRY(tell_rows(t, parts, count));
        return t->p->visitor->end_profile(t->p->visitor);
    }
    for (size_t i = 0; i < count; i++) {
        struct otp_retell *r;
        OTP_TRY(retell_of(t, parts[i].message, &r));
        OTP_TRY(otp_retell_tables(r, parts[i].profile));
        OTP_TRY(otp_retell_samples(r, parts[i].profile));
        struct otp_profiles *m = t->g->set->messages[parts[i].message];
        otp_profiles_forget_samples(m, otp_profiles_profile(m, parts[i].profile));
        otp_progress_show("writing", (uint64_t)(parts + i - t->g->parts), t->g->part_count);
    }
    return t->p->visitor->end_profile(t->p->visitor);
}

static enum otp_status tell_all(struct telling *t)
{
    const struct otp_gather_part *parts = t->g->parts;
    size_t envelope = 0;
    for (size_t i = 0, next; i < t->g->part_count; i = next) {
        next = i + 1;
        while (next < t->g->part_count && parts[next].sum == parts[i].sum &&
               parts[next].envelope == parts[i].envelope) {
            next++;
        }
        if (parts[i].envelope != envelope) {
            envelope = parts[i].envelope;
            OTP_TRY(otp_product_envelope(t->p, &t->g->envelopes[envelope].options));
        }
        OTP_TRY(tell_sum(t, &parts[i], next - i));
    }
    return OTP_OK;
}

enum otp_status otp_gather_tell(struct otp_gather *g, struct otp_product *p,
                                struct otp_product_options *options, bool keep_original)
{
    size_t messages = g->set->message_count;
    struct telling t = {.g = g, .p = p, .keep_original = keep_original};
    if (g->envelope_count > 0) {
        options->envelope = g->envelopes[0].options;
    }
    OTP_TRY(otp_product_open(p, options));
    t.retells = calloc(messages + 1, sizeof(t.retells[0]));
    t.has_original = calloc(messages + 1, sizeof(t.has_original[0]));
    t.hashes = calloc(messages + 1, sizeof(t.hashes[0]));
    bool ok = t.retells != NULL && t.has_original != NULL && t.hashes != NULL;
    enum otp_status status = ok ? tell_all(&t) : OTP_NO_MEMORY;
    for (size_t i = 0; i < messages && t.retells != NULL; i++) {
        g->cut_values = g->cut_values || t.retells[i].losses.cut_values;
        g->zero_values += t.retells[i].losses.zero_values;
        g->odd_times += t.retells[i].losses.odd_times;
        g->negative_lines += t.retells[i].losses.negative_lines;
        if (t.retells[i].m != NULL) {
            otp_retell_fini(&t.retells[i]);
        }
    }
    otp_progress_end();
    free(t.retells);
    free(t.hashes);
    free(t.has_original);
    return status;
}
