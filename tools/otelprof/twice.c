/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/twice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "tools/otelprof/pick.h"

#define NOBODY SIZE_MAX

/* A profile id, and where it stands. */
struct named {
    struct otp_text id;
    size_t message;
};

/* When a message is of, whose, and what it adds up to. */
struct flush {
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t totals;  /* a hash; known of those only that share their time with others */
    uint64_t process; /* 0: not known */
    size_t message;
};

struct type_total {
    uint64_t type; /* a hash */
    int64_t total;
};

/* By message: which one before it says the same, NOBODY: none; and how that is known. */
struct twins {
    size_t *of;
    bool *by_id;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_named(const void *left, const void *right)
{
    const struct named *a = left;
    const struct named *b = right;
    int diff = otp_text_compare(a->id, b->id);
    return diff != 0 ? diff : compare_numbers(a->message, b->message);
}

static int compare_times(const struct flush *a, const struct flush *b)
{
    int diff = compare_numbers(a->start_ns, b->start_ns);
    return diff != 0 ? diff : compare_numbers(a->end_ns, b->end_ns);
}

static int compare_flushes(const void *left, const void *right)
{
    const struct flush *a = left;
    const struct flush *b = right;
    int diff = compare_times(a, b);
    diff = diff != 0 ? diff : compare_numbers(a->totals, b->totals);
    diff = diff != 0 ? diff : compare_numbers(a->process, b->process);
    return diff != 0 ? diff : compare_numbers(a->message, b->message);
}

static int compare_types(const void *left, const void *right)
{
    const struct type_total *a = left;
    const struct type_total *b = right;
    return compare_numbers(a->type, b->type);
}

static void note(struct twins *t, size_t first, size_t second, bool by_id)
{
    if (first != second && t->of[second] == NOBODY) {
        t->of[second] = first;
        t->by_id[second] = by_id;
    }
}

static bool find_ids(const struct otp_profile_set *set, struct twins *t)
{
    size_t room = 1;
    size_t count = 0;
    for (size_t i = 0; i < set->message_count; i++) {
        room += set->messages[i]->profiles.count;
    }
    struct named *all = calloc(room, sizeof(*all));
    if (all == NULL) {
        return false;
    }
    for (size_t i = 0; i < set->message_count; i++) {
        const struct otp_profiles *m = set->messages[i];
        for (uint32_t k = 0; k < m->profiles.count; k++) {
            struct otp_text id = otp_profiles_text(m, otp_profiles_profile(m, k)->profile_id);
            if (id.len > 0) {
                all[count].id = id;
                all[count++].message = i;
            }
        }
    }
    qsort(all, count, sizeof(*all), compare_named);
    for (size_t i = 1, first = 0; i < count; i++) {
        first = otp_text_compare(all[i].id, all[first].id) == 0 ? first : i;
        note(t, all[first].message, all[i].message, true);
    }
    free(all);
    return true;
}

static struct flush flush_of(const struct otp_profile_set *set, size_t message)
{
    const struct otp_profiles *m = set->messages[message];
    struct flush f = {.message = message};
    for (uint32_t k = 0; k < m->profiles.count; k++) {
        const struct otp_profile *p = otp_profiles_profile(m, k);
        uint64_t end = 0;
        if (p->time_ns == 0) {
            continue;
        }
        if (__builtin_add_overflow(p->time_ns, p->duration_ns, &end)) {
            end = UINT64_MAX;
        }
        f.start_ns = f.start_ns == 0 || p->time_ns < f.start_ns ? p->time_ns : f.start_ns;
        f.end_ns = end > f.end_ns ? end : f.end_ns;
    }
    f.process = m->profiles.count > 0 ? otp_pick_process(m, 0) : 0;
    return f;
}

static struct type_total total_of(const struct otp_profiles *m, const struct otp_profile *p)
{
    struct otp_type type = otp_type_of(m, p);
    struct type_total t = {
        .type = otp_hash_bytes(type.unit.data, type.unit.len,
                               otp_hash_bytes(type.type.data, type.type.len, 1)),
    };
    for (uint32_t i = 0; i < p->samples.count; i++) {
        const struct otp_sample *s = otp_profiles_sample(m, p->samples.first + i);
        t.total = otp_add_clamped(t.total, otp_profiles_sample_total(m, s));
    }
    return t;
}

/* A hash of the total of each type that has one; 0: there is none. False: no memory. */
static bool totals_of(const struct otp_profiles *m, uint64_t *out)
{
    struct type_total *all = calloc(m->profiles.count + 1, sizeof(*all));
    uint64_t hash = 0;
    if (all == NULL) {
        return false;
    }
    for (uint32_t k = 0; k < m->profiles.count; k++) {
        all[k] = total_of(m, otp_profiles_profile(m, k));
    }
    qsort(all, m->profiles.count, sizeof(*all), compare_types);
    for (uint32_t k = 0, next; k < m->profiles.count; k = next) {
        int64_t total = all[k].total;
        for (next = k + 1; next < m->profiles.count && all[next].type == all[k].type; next++) {
            total = otp_add_clamped(total, all[next].total);
        }
        if (total != 0) {
            hash = otp_hash_mix(otp_hash_mix(hash, all[k].type), (uint64_t)total);
        }
    }
    free(all);
    *out = hash;
    return true;
}

/* Samples are added up of those only whose time is that of others. */
static bool find_totals(const struct otp_profile_set *set, struct flush *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool is_shared = (i > 0 && compare_times(&all[i], &all[i - 1]) == 0) ||
                         (i + 1 < count && compare_times(&all[i], &all[i + 1]) == 0);
        if (is_shared && all[i].start_ns > 0 &&
            !totals_of(set->messages[all[i].message], &all[i].totals)) {
            return false;
        }
    }
    return true;
}

static bool may_be_one(const struct flush *a, const struct flush *b)
{
    return a->totals != 0 && a->totals == b->totals && compare_times(a, b) == 0 &&
           (a->process == b->process || a->process == 0 || b->process == 0);
}

/* Whose process is not known comes first of those that are equal otherwise. */
static bool find_equal(const struct otp_profile_set *set, struct twins *t)
{
    struct flush *all = calloc(set->message_count + 1, sizeof(*all));
    if (all == NULL) {
        return false;
    }
    for (size_t i = 0; i < set->message_count; i++) {
        all[i] = flush_of(set, i);
    }
    qsort(all, set->message_count, sizeof(*all), compare_flushes);
    bool ok = find_totals(set, all, set->message_count);
    qsort(all, set->message_count, sizeof(*all), compare_flushes);
    for (size_t i = 1; i < set->message_count; i++) {
        if (may_be_one(&all[i], &all[i - 1])) {
            size_t a = all[i - 1].message;
            size_t b = all[i].message;
            note(t, a < b ? a : b, a < b ? b : a, false);
        }
    }
    free(all);
    return ok;
}

static void first_of(const struct twins *t, size_t count, struct otp_twice *out)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (t->of[i] == NOBODY) {
            continue;
        }
        if (found++ == 0) {
            out->first = t->of[i];
            out->second = i;
            out->by_id = t->by_id[i];
        }
    }
    out->is_found = found > 0;
    out->more = found > 0 ? found - 1 : 0;
}

int otp_twice_find(const struct otp_profile_set *set, const struct otp_command *command,
                   struct otp_twice *out_twice)
{
    struct twins t = {.of = malloc((set->message_count + 1) * sizeof(size_t)),
                      .by_id = calloc(set->message_count + 1, sizeof(bool))};
    bool ok = t.of != NULL && t.by_id != NULL;
    memset(out_twice, 0, sizeof(*out_twice));
    if (ok && set->message_count > 1) {
        for (size_t i = 0; i < set->message_count; i++) {
            t.of[i] = NOBODY;
        }
        ok = find_ids(set, &t) && find_equal(set, &t);
        first_of(&t, set->message_count, out_twice);
    }
    free(t.of);
    free(t.by_id);
    if (!ok) {
        (void)fprintf(stderr, "otelprof %s: no memory\n", command->name);
    }
    return ok ? OTP_EXIT_OK : OTP_EXIT_INPUT;
}

void otp_twice_say(const struct otp_twice *t, const struct otp_profile_set *set,
                   const struct otp_command *command)
{
    if (!t->is_found) {
        return;
    }
    const char *first = set->messages[t->first]->blob->name;
    const char *second = set->messages[t->second]->blob->name;
    (void)fprintf(stderr,
                  "otelprof %s: %s holds the same flush as %s (%s): what is added up counts twice",
                  command->name, second, first,
                  t->by_id ? "the same profile id" : "the same start, length and totals");
    if (t->more > 0) {
        (void)fprintf(stderr, "; so it is with %zu more", t->more);
    }
    (void)fputc('\n', stderr);
}
