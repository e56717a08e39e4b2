/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last flush of each process. A flush leaves out a profile without samples, so that a process
 * whose last flush has no in-use profile has nothing in use, whatever the flush before it said: all
 * profiles of a process decide what its last flush is, not only those of the type.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/map.h"
#include "tools/otelprof/pick.h"

/* A profile, and what tells whose it is and when. */
struct candidate {
    struct otp_pick pick;
    int64_t pid; /* -1: not known */
    struct otp_text instance;
    struct otp_text host;
    struct otp_text scope; /* what wrote it */
    struct otp_text profile_id;
    uint64_t end_ns;
    size_t order;
    bool is_wanted; /* of the type */
};

static int compare_processes(const struct candidate *a, const struct candidate *b)
{
    int diff = (a->pid > b->pid) - (a->pid < b->pid);

    diff = diff != 0 ? diff : otp_text_compare(a->instance, b->instance);
    diff = diff != 0 ? diff : otp_text_compare(a->host, b->host);
    return diff != 0 ? diff : otp_text_compare(a->scope, b->scope);
}

/* By process and time; wanted ones last, equal ones side by side. */
static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;
    int diff = compare_processes(a, b);

    diff = diff != 0 ? diff : (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
    diff = diff != 0 ? diff : (a->is_wanted > b->is_wanted) - (a->is_wanted < b->is_wanted);
    diff = diff != 0 ? diff : otp_text_compare(a->profile_id, b->profile_id);
    return diff != 0 ? diff : (a->order > b->order) - (a->order < b->order);
}

static struct candidate candidate_of(const struct otp_pick *pick, const struct otp_type *type)
{
    const struct otp_profiles *m = pick->m;
    const struct otp_profile *p = otp_profiles_profile(m, pick->profile);
    const struct otp_scope *scope = otp_profiles_scope(m, p->scope);
    struct otp_slice attrs = otp_profiles_resource(m, scope->resource)->attrs;
    const struct otp_value *pid = otp_profiles_find_keyvalue(m, attrs, "process.pid");
    struct otp_type its = otp_type_of(m, p);

    return (struct candidate){
        .pick = *pick,
        .pid = pid != NULL && pid->kind == OTP_VALUE_INT ? pid->of.number : -1,
        .instance =
            otp_profiles_value_text(m, otp_profiles_find_keyvalue(m, attrs, "service.instance.id")),
        .host = otp_profiles_value_text(m, otp_profiles_find_keyvalue(m, attrs, "host.name")),
        .scope = otp_profiles_text(m, scope->name),
        .profile_id = otp_profiles_text(m, p->profile_id),
        .end_ns = p->time_ns + p->duration_ns,
        .is_wanted = otp_type_equal(&its, type),
    };
}

static bool is_known(const struct candidate *c)
{
    return c->pid >= 0 || c->instance.len > 0;
}

uint64_t otp_pick_process(const struct otp_profiles *m, uint32_t profile)
{
    const struct otp_pick pick = {.m = m, .profile = profile};
    const struct otp_type none = {.type = otp_text_of(NULL), .unit = otp_text_of(NULL)};
    const struct candidate c = candidate_of(&pick, &none);
    const struct otp_text texts[] = {c.instance, c.host, c.scope};
    uint64_t hash = otp_hash_mix(1, (uint64_t)c.pid);
    for (size_t i = 0; i < OTP_ARRAY_LEN(texts); i++) {
        hash = otp_hash_bytes(texts[i].data, texts[i].len, hash);
    }
    return is_known(&c) ? hash | 1 : 0;
}

/* Fills all with the set's profiles; returns how many. */
static size_t gather(struct candidate *all, const struct otp_profile_set *set,
                     const struct otp_type *type)
{
    size_t count = 0;

    for (size_t i = 0; i < set->message_count; i++) {
        for (uint32_t k = 0; k < set->messages[i]->profiles.count; k++) {
            struct otp_pick pick = {.m = set->messages[i], .message = i, .profile = k};
            all[count] = candidate_of(&pick, type);
            all[count].order = count;
            count++;
        }
    }
    return count;
}

/* Is candidate i there again behind it? Without ids, as in pprof: in another message. */
static bool is_twice(const struct candidate *all, size_t i, size_t last)
{
    if (all[i].profile_id.len == 0) {
        return all[i].pick.message != all[last].pick.message;
    }
    return i < last && otp_text_compare(all[i].profile_id, all[i + 1].profile_id) == 0;
}

/*
 * Does candidate i count? `last` is the last one of its process. A profile that is there twice,
 * told by its id, or without one by its process and time, counts once.
 */
static bool counts(const struct candidate *all, size_t i, size_t last)
{
    return all[i].is_wanted &&
           (!is_known(&all[i]) || (all[i].end_ns == all[last].end_ns && !is_twice(all, i, last)));
}

bool otp_pick_list_keep_last(struct otp_pick_list *l, const struct otp_profile_set *set,
                             const struct otp_type *type)
{
    size_t room = 1;

    for (size_t i = 0; i < set->message_count; i++) {
        room += set->messages[i]->profiles.count;
    }
    struct candidate *all = calloc(room, sizeof(*all));
    if (all == NULL) {
        return false;
    }
    size_t count = gather(all, set, type);
    qsort(all, count, sizeof(*all), compare_candidates);
    l->count = 0;
    for (size_t i = 0, last = 0; i < count; i++) {
        last = last < i ? i : last;
        while (last + 1 < count && compare_processes(&all[i], &all[last + 1]) == 0) {
            last++;
        }
        if (counts(all, i, last)) {
            l->items[l->count++] = all[i].pick;
        }
    }
    free(all);
    return true;
}
