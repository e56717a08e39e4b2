/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/flame_threads.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/otelprof/show.h"

/* More threads than that are told apart by nobody; all further ones are one. */
#define THREADS_MAX 256U
#define NAME_ROOM 40

/* What one sample, then all equal ones, add to a frame. */
struct part {
    uint32_t entry; /* of the order */
    uint32_t thread;
    int64_t value;
};

struct threads {
    const struct otp_flame *f;
    const struct otp_flame_order *o;
    struct otp_names names;
    uint32_t *entry_of; /* by node of the tree */
    struct part *parts;
    size_t count;
    size_t capacity;
};

/* The entry that shows each node: its own, or that of the small frames it is among. */
static bool find_entries(struct threads *t)
{
    uint32_t count = t->f->tree.count;
    uint32_t *small = calloc((size_t)count + 1, sizeof(small[0]));

    t->entry_of = calloc((size_t)count + 1, sizeof(t->entry_of[0]));
    if (small == NULL || t->entry_of == NULL) {
        free(small);
        return false;
    }
    for (uint32_t i = 0; i < t->o->count; i++) {
        if (t->o->nodes[i] != OTP_TREE_NONE) {
            t->entry_of[t->o->nodes[i]] = i;
        } else {
            small[t->o->parents[i]] = i;
        }
    }
    for (uint32_t node = 1; node < count; node++) { /* parents come first */
        uint32_t parent = t->f->tree.nodes[node].parent;
        if (t->o->kept[node] == 0) {
            t->entry_of[node] = t->o->kept[parent] != 0 ? small[parent] : t->entry_of[parent];
        }
    }
    free(small);
    return true;
}

/* What a sample's thread is called: by its name, else by its id, which is written into room. */
static struct otp_text name_of(const struct otp_profiles *m, uint32_t list, char room[NAME_ROOM])
{
    struct otp_text name =
        otp_profiles_value_text(m, otp_profiles_find_attr(m, list, "thread.name"));
    const struct otp_value *id = otp_profiles_find_attr(m, list, "thread.id");

    if (name.len > 0) {
        return name;
    }
    if (id == NULL || id->kind != OTP_VALUE_INT) {
        return otp_text_of("[no thread]");
    }
    int len = snprintf(room, NAME_ROOM, "thread %" PRId64, id->of.number);
    return otp_text_make(room, (size_t)len);
}

/* The number of a sample's thread. UINT32_MAX: no memory. */
static uint32_t thread_of(struct threads *t, const struct otp_profiles *m, uint32_t list)
{
    char room[NAME_ROOM];
    struct otp_name name = {.name = name_of(m, list, room)};
    uint32_t known = otp_names_find(&t->names, name.name);

    if (known != UINT32_MAX) {
        return known;
    }
    if (t->names.count >= THREADS_MAX) {
        name.name = otp_text_of("[other threads]");
    } else if (name.name.data == room) {
        char *copy = otp_heap_copy_string(&t->names.heap, room, name.name.len);
        if (copy == NULL) {
            return UINT32_MAX;
        }
        name.name = otp_text_make(copy, name.name.len);
    }
    return otp_names_add(&t->names, &name);
}

static bool add_part(struct threads *t, const struct part *part)
{
    if (t->count == t->capacity) {
        size_t capacity = t->capacity * 2 + 4096;
        struct part *parts = realloc(t->parts, capacity * sizeof(parts[0]));
        if (parts == NULL) {
            return false;
        }
        t->parts = parts;
        t->capacity = capacity;
    }
    t->parts[t->count++] = *part;
    return true;
}

static bool add_pick(struct threads *t, const struct otp_pick *pick)
{
    const struct otp_profiles *m = pick->m;
    const struct otp_profile *p = otp_profiles_profile(m, pick->profile);
    uint32_t list = UINT32_MAX; /* of the sample before */
    uint32_t thread = 0;

    for (uint32_t i = 0; i < p->samples.count; i++) {
        const struct otp_sample *s = otp_profiles_sample(m, p->samples.first + i);
        if (s->attrs != list) {
            list = s->attrs;
            thread = thread_of(t, m, list);
        }
        const struct part part = {.entry = t->entry_of[t->f->now.stacks[pick->message][s->stack]],
                                  .thread = thread,
                                  .value = otp_profiles_sample_total(m, s)};
        if (thread == UINT32_MAX || !add_part(t, &part)) {
            return false;
        }
    }
    return true;
}

static int compare_parts(const void *left, const void *right)
{
    const struct part *a = left;
    const struct part *b = right;
    int diff = (a->entry > b->entry) - (a->entry < b->entry);
    return diff != 0 ? diff : (a->thread > b->thread) - (a->thread < b->thread);
}

static bool collect(struct threads *t, size_t type)
{
    struct otp_pick_list picks;
    bool ok = otp_pick_list_init(&picks, t->f->now.set, &t->f->types.items[type]);

    t->count = 0;
    for (size_t i = 0; ok && i < picks.count; i++) {
        ok = add_pick(t, &picks.items[i]);
    }
    otp_pick_list_fini(&picks);
    if (ok && t->count > 0) {
        qsort(t->parts, t->count, sizeof(t->parts[0]), compare_parts);
    }
    return ok;
}

static void write_parts(FILE *to, const struct threads *t)
{
    const char *comma = "";

    for (size_t i = 0; i < t->count;) {
        struct part sum = t->parts[i++];
        for (; i < t->count && compare_parts(&sum, &t->parts[i]) == 0; i++) {
            sum.value = otp_add_clamped(sum.value, t->parts[i].value);
        }
        if (sum.value != 0) {
            (void)fprintf(to, "%s%u,%u,%" PRId64, comma, (unsigned)sum.entry, (unsigned)sum.thread,
                          sum.value);
            comma = ",";
        }
    }
}

static bool write_all(FILE *to, struct threads *t)
{
    bool ok = find_entries(t);

    for (size_t type = 0; ok && type < t->f->types.count; type++) {
        ok = collect(t, type); /* only names at first */
    }
    bool several = ok && t->names.count > 1;
    (void)fputs(",\n\"by_thread\":[", to);
    for (size_t type = 0; several && ok && type < t->f->types.count; type++) {
        ok = collect(t, type);
        (void)fputs(type > 0 ? ",\n[" : "[", to);
        write_parts(to, t);
        (void)fputc(']', to);
    }
    (void)fputs("],\n\"threads\":[", to);
    for (uint32_t i = 0; several && ok && i < t->names.count; i++) {
        (void)fputs(i > 0 ? "," : "", to);
        otp_show_json(to, t->names.items[i].name);
    }
    (void)fputc(']', to);
    return ok;
}

bool otp_flame_write_threads(FILE *to, const struct otp_flame *f, const struct otp_flame_order *o)
{
    struct threads t = {.f = f, .o = o};

    if (f->base.set != NULL) { /* a difference of one thread would need those of the base */
        (void)fputs(",\n\"by_thread\":[],\n\"threads\":[]", to);
        return true;
    }
    otp_names_init(&t.names);
    bool ok = write_all(to, &t);
    otp_names_fini(&t.names);
    free(t.entry_of);
    free(t.parts);
    return ok;
}
