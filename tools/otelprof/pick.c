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
    if (otp_type_is_snapshot(type) && !otp_pick_list_keep_last(l, set, type)) {
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
