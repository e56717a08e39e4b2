/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/pick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/heap.h"
#include "core/base/map.h"
#include "tools/otelprof/show.h"

static bool text_equal(struct otp_text a, struct otp_text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

struct otp_type otp_type_of(const struct otp_profiles *m, const struct otp_profile *p)
{
    struct otp_type t = {.type = otp_profiles_string(m, p->sample_type.type),
                         .unit = otp_profiles_string(m, p->sample_type.unit)};
    return t;
}

bool otp_type_equal(const struct otp_type *a, const struct otp_type *b)
{
    return text_equal(a->type, b->type) && text_equal(a->unit, b->unit);
}

bool otp_type_is_snapshot(const struct otp_type *t)
{
    static const char prefix[] = "inuse";
    return t->type.len >= sizeof(prefix) - 1 &&
           memcmp(t->type.data, prefix, sizeof(prefix) - 1) == 0;
}

static uint64_t type_hash(const struct otp_type *t)
{
    return otp_hash_bytes(t->unit.data, t->unit.len, otp_hash_bytes(t->type.data, t->type.len, 1));
}

static bool same_type(const void *ctx, uint32_t id, const void *key)
{
    const struct otp_type_list *l = ctx;
    return otp_type_equal(&l->items[id], key);
}

/* Types by their texts, while the list is built. */
struct type_index {
    struct otp_heap heap;
    struct otp_map map;
    size_t capacity;
};

static bool add_type(struct otp_type_list *l, struct type_index *index, const struct otp_type *t)
{
    uint64_t hash = type_hash(t);

    if (otp_map_find(&index->map, hash, t, same_type, l) != OTP_MAP_NONE) {
        return true;
    }
    if (l->count == index->capacity) {
        size_t capacity = index->capacity * 2 + 16;
        struct otp_type *items = realloc(l->items, capacity * sizeof(items[0]));
        if (items == NULL) {
            return false;
        }
        l->items = items;
        index->capacity = capacity;
    }
    l->items[l->count] = *t;
    return otp_map_add(&index->map, hash, (uint32_t)l->count++);
}

bool otp_type_list_init(struct otp_type_list *l, const struct otp_profile_set *set)
{
    struct type_index index = {.capacity = 0};
    bool ok = true;

    memset(l, 0, sizeof(*l));
    otp_heap_init(&index.heap, SIZE_MAX);
    otp_map_init(&index.map, &index.heap);
    for (size_t i = 0; i < set->message_count && ok; i++) {
        const struct otp_profiles *m = set->messages[i];
        for (uint32_t k = 0; k < m->profiles.count && ok; k++) {
            struct otp_type t = otp_type_of(m, otp_profiles_profile(m, k));
            ok = add_type(l, &index, &t);
        }
    }
    otp_heap_reset(&index.heap);
    return ok;
}

void otp_type_list_fini(struct otp_type_list *l)
{
    free(l->items);
    memset(l, 0, sizeof(*l));
}

const struct otp_type *otp_type_find(const struct otp_type_list *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct otp_type *t = &l->items[i];
        size_t len = t->type.len;
        if (strncmp(name, t->type.data, len) != 0 || strlen(name) < len) {
            continue;
        }
        const char *rest = name + len;
        if (*rest == '\0' || (*rest == '/' && text_equal(otp_text_of(rest + 1), t->unit))) {
            return t;
        }
    }
    return NULL;
}

int otp_type_not_found(const struct otp_command *command, const struct otp_type_list *l,
                       const char *name)
{
    (void)fprintf(stderr, "otelprof %s: there is no type \"%s\"; there are:", command->name, name);
    for (size_t i = 0; i < l->count && i < 32; i++) {
        (void)fputs(i > 0 ? ", " : " ", stderr);
        otp_show_text(stderr, l->items[i].type);
    }
    (void)fputc('\n', stderr);
    return OTP_EXIT_USAGE;
}

/* What tells one process from another. */
struct process {
    int64_t pid;
    struct otp_text instance;
    struct otp_text host;
    bool is_known;
};

static struct process process_of(const struct otp_pick *p)
{
    const struct otp_profiles *m = p->m;
    const struct otp_profile *profile = otp_profiles_profile(m, p->profile);
    const struct otp_scope *scope = otp_profiles_scope(m, profile->scope);
    struct otp_slice attrs = otp_profiles_resource(m, scope->resource)->attrs;
    const struct otp_value *pid = otp_profiles_find_keyvalue(m, attrs, "process.pid");
    struct process out = {
        .pid = pid != NULL && pid->kind == OTP_VALUE_INT ? pid->of.number : -1,
        .instance =
            otp_profiles_value_text(m, otp_profiles_find_keyvalue(m, attrs, "service.instance.id")),
        .host = otp_profiles_value_text(m, otp_profiles_find_keyvalue(m, attrs, "host.name")),
    };
    out.is_known = out.pid >= 0 || out.instance.len > 0;
    return out;
}

static bool same_process(const struct process *a, const struct process *b)
{
    return a->is_known && b->is_known && a->pid == b->pid && text_equal(a->instance, b->instance) &&
           text_equal(a->host, b->host);
}

static uint64_t end_of(const struct otp_pick *p)
{
    const struct otp_profile *profile = otp_profiles_profile(p->m, p->profile);
    return profile->time_ns + profile->duration_ns;
}

/* A pick and what decides over it. */
struct candidate {
    struct otp_pick pick;
    struct process process;
    uint64_t end_ns;
    uint64_t last_end_ns; /* of its process */
    size_t order;
};

static int compare_texts(struct otp_text a, struct otp_text b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int diff = len == 0 ? 0 : memcmp(a.data, b.data, len);
    return diff != 0 ? diff : (a.len > b.len) - (a.len < b.len);
}

/* By process, then by time; of equal times the one that was named last is the last. */
static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;
    int diff = (a->process.pid > b->process.pid) - (a->process.pid < b->process.pid);

    diff = diff != 0 ? diff : compare_texts(a->process.instance, b->process.instance);
    diff = diff != 0 ? diff : compare_texts(a->process.host, b->process.host);
    diff = diff != 0 ? diff : (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
    return diff != 0 ? diff : (a->order > b->order) - (a->order < b->order);
}

static bool same_profile(const struct otp_pick *a, const struct otp_pick *b)
{
    struct otp_text left =
        otp_profiles_text(a->m, otp_profiles_profile(a->m, a->profile)->profile_id);
    struct otp_text right =
        otp_profiles_text(b->m, otp_profiles_profile(b->m, b->profile)->profile_id);
    return left.len > 0 && text_equal(left, right);
}

/*
 * Does nothing behind number i replace it? Profiles of one process and the same end are parts of
 * one flush, unless they are the same profile, read twice.
 */
static bool is_of_last_flush(const struct candidate *all, size_t i, size_t count)
{
    if (i + 1 == count || !same_process(&all[i].process, &all[i + 1].process)) {
        return true;
    }
    return all[i].last_end_ns == all[i].end_ns && !same_profile(&all[i].pick, &all[i + 1].pick);
}

static bool keep_last_of_each_process(struct otp_pick_list *l)
{
    struct candidate *all = calloc(l->count + 1, sizeof(*all));
    size_t kept = 0;

    if (all == NULL) {
        return false;
    }
    for (size_t i = 0; i < l->count; i++) {
        all[i] = (struct candidate){.pick = l->items[i],
                                    .process = process_of(&l->items[i]),
                                    .end_ns = end_of(&l->items[i]),
                                    .order = i};
    }
    qsort(all, l->count, sizeof(*all), compare_candidates);
    for (size_t i = l->count; i-- > 0;) {
        bool has_next = i + 1 < l->count && same_process(&all[i].process, &all[i + 1].process);
        all[i].last_end_ns = has_next ? all[i + 1].last_end_ns : all[i].end_ns;
    }
    for (size_t i = 0; i < l->count; i++) {
        if (is_of_last_flush(all, i, l->count)) {
            l->items[kept++] = all[i].pick;
        }
    }
    l->count = kept;
    free(all);
    return true;
}

static void add_matching(struct otp_pick_list *l, const struct otp_profile_set *set, size_t message,
                         const struct otp_type *type)
{
    const struct otp_profiles *m = set->messages[message];

    for (uint32_t k = 0; k < m->profiles.count; k++) {
        struct otp_type t = otp_type_of(m, otp_profiles_profile(m, k));
        if (otp_type_equal(&t, type)) {
            l->items[l->count++] = (struct otp_pick){.m = m, .message = message, .profile = k};
        }
    }
}

bool otp_pick_list_init(struct otp_pick_list *l, const struct otp_profile_set *set,
                        const struct otp_type *type)
{
    size_t room = 0;

    for (size_t i = 0; i < set->message_count; i++) {
        room += set->messages[i]->profiles.count;
    }
    l->count = 0;
    l->items = calloc(room + 1, sizeof(l->items[0]));
    if (l->items == NULL) {
        return false;
    }
    for (size_t i = 0; i < set->message_count; i++) {
        add_matching(l, set, i, type);
    }
    if (otp_type_is_snapshot(type) && !keep_last_of_each_process(l)) {
        otp_pick_list_fini(l);
        return false;
    }
    return true;
}

void otp_pick_list_fini(struct otp_pick_list *l)
{
    free(l->items);
    l->items = NULL;
    l->count = 0;
}
