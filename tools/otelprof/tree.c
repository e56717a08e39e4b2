/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/tree.h"

#include <stdlib.h>
#include <string.h>

static bool grow_nodes(struct otp_tree *t)
{
    if (t->count < t->capacity) {
        return true;
    }
    if (t->capacity > UINT32_MAX / 4) {
        return false;
    }
    uint32_t capacity = t->capacity * 2 + 1024;
    struct otp_tree_node *nodes = realloc(t->nodes, (size_t)capacity * sizeof(nodes[0]));
    if (nodes == NULL) {
        return false;
    }
    t->nodes = nodes;
    t->capacity = capacity;
    return true;
}

bool otp_tree_init(struct otp_tree *t)
{
    memset(t, 0, sizeof(*t));
    otp_names_init(&t->names);
    otp_heap_init(&t->heap, SIZE_MAX);
    otp_map_init(&t->map, &t->heap);
    if (!grow_nodes(t)) {
        return false;
    }
    t->nodes[t->count++] = (struct otp_tree_node){.parent = OTP_TREE_NONE,
                                                  .name = OTP_TREE_NONE,
                                                  .first_child = OTP_TREE_NONE,
                                                  .next_sibling = OTP_TREE_NONE};
    return true;
}

void otp_tree_fini(struct otp_tree *t)
{
    otp_names_fini(&t->names);
    otp_heap_reset(&t->heap);
    free(t->nodes);
    memset(t, 0, sizeof(*t));
}

struct step {
    uint32_t parent;
    uint32_t name;
};

static bool is_step(const void *ctx, uint32_t id, const void *key)
{
    const struct otp_tree *t = ctx;
    const struct step *s = key;
    return t->nodes[id].parent == s->parent && t->nodes[id].name == s->name;
}

/* The child of that name, made when it is new; OTP_TREE_NONE: no memory. */
static uint32_t child_of(struct otp_tree *t, uint32_t parent, uint32_t name)
{
    struct step s = {.parent = parent, .name = name};
    uint64_t hash = otp_hash_mix(otp_hash_mix(0, parent), name);
    uint32_t id = otp_map_find(&t->map, hash, &s, is_step, t);

    if (id != OTP_MAP_NONE) {
        return id;
    }
    if (!grow_nodes(t) || !otp_map_add(&t->map, hash, t->count)) {
        return OTP_TREE_NONE;
    }
    id = t->count++;
    t->nodes[id] = (struct otp_tree_node){.parent = parent,
                                          .name = name,
                                          .first_child = OTP_TREE_NONE,
                                          .next_sibling = t->nodes[parent].first_child};
    t->nodes[parent].first_child = id;
    return id;
}

static struct otp_text program_of(const struct otp_profiles *m)
{
    struct otp_text name = otp_text_make("", 0);

    for (uint32_t i = 0; i < m->resources.count && name.len == 0; i++) {
        struct otp_slice attrs = otp_profiles_resource(m, i)->attrs;
        name = otp_profiles_value_text(
            m, otp_profiles_find_keyvalue(m, attrs, "process.executable.name"));
        if (name.len == 0) {
            name = otp_profiles_value_text(m, otp_profiles_find_keyvalue(m, attrs, "service.name"));
        }
    }
    return name;
}

bool otp_tree_has_programs(const struct otp_profile_set *const *sets, size_t count)
{
    struct otp_text first = {.data = NULL};

    for (size_t s = 0; s < count; s++) {
        for (size_t i = 0; i < sets[s]->message_count; i++) {
            struct otp_text name = program_of(sets[s]->messages[i]);
            if (first.data == NULL) {
                first = name;
            }
            if (first.len != name.len || memcmp(first.data, name.data, name.len) != 0) {
                return true;
            }
        }
    }
    return false;
}

/* The node under which all stacks of a message hang. */
static uint32_t base_of(struct otp_tree *t, const struct otp_profiles *m)
{
    struct otp_name program = {.name = program_of(m)};

    if (!t->has_programs) {
        return 0;
    }
    if (program.name.len == 0) {
        program.name = otp_text_of("[unknown program]");
    }
    uint32_t name = otp_names_add(&t->names, &program);
    return name == UINT32_MAX ? OTP_TREE_NONE : child_of(t, 0, name);
}

/* Stacks are written leaf first, and of one location the innermost function first. */
static uint32_t add_stack(struct otp_tree *t, uint32_t base, const struct otp_frame_names *f,
                          const struct otp_profiles *m, int32_t stack)
{
    const struct otp_slice *slice = otp_profiles_stack(m, stack);
    const int32_t *frames = otp_profiles_frames(m, slice);
    uint32_t node = base;

    for (uint32_t i = slice->count; i-- > 0;) {
        for (uint32_t k = f->first[frames[i] + 1]; k-- > f->first[frames[i]];) {
            node = child_of(t, node, f->ids[k]);
            if (node == OTP_TREE_NONE) {
                return node;
            }
        }
    }
    return node;
}

/* The node of a group below base, or base itself when there are no groups. */
static uint32_t group_base(struct otp_tree *t, uint32_t base, const uint32_t *groups, int32_t stack)
{
    if (groups == NULL) {
        return base;
    }
    struct otp_name group = {.name = t->by->names[groups[stack]]};
    uint32_t name = otp_names_add(&t->names, &group);
    return name == UINT32_MAX ? OTP_TREE_NONE : child_of(t, base, name);
}

/* Only stacks that a sample has get nodes. groups: of the stacks, or NULL. */
static uint32_t *add_message(struct otp_tree *t, const struct otp_profiles *m,
                             const uint32_t *groups)
{
    uint32_t count = m->table[OTP_TABLE_STACK].count;
    uint32_t *nodes = malloc(((size_t)count + 1) * sizeof(nodes[0]));
    uint32_t base = base_of(t, m);
    struct otp_frame_names f;

    if (nodes == NULL || base == OTP_TREE_NONE || !otp_frame_names_init(&f, &t->names, m)) {
        free(nodes);
        return NULL;
    }
    memset(nodes, 0xff, ((size_t)count + 1) * sizeof(nodes[0])); /* OTP_TREE_NONE */
    bool ok = true;
    for (uint32_t i = 0; i < m->samples.count && ok; i++) {
        int32_t stack = otp_profiles_sample(m, i)->stack;
        if (nodes[stack] == OTP_TREE_NONE) {
            uint32_t below = group_base(t, base, groups, stack);
            nodes[stack] = below == OTP_TREE_NONE ? below : add_stack(t, below, &f, m, stack);
            ok = nodes[stack] != OTP_TREE_NONE;
        }
    }
    otp_frame_names_fini(&f);
    if (!ok) {
        free(nodes);
        return NULL;
    }
    return nodes;
}

bool otp_tree_add(struct otp_tree *t, const struct otp_profile_set *set,
                  const struct otp_by_set *groups, struct otp_tree_set *out_set)
{
    out_set->set = set;
    out_set->stacks = calloc(set->message_count + 1, sizeof(out_set->stacks[0]));
    if (out_set->stacks == NULL) {
        return false;
    }
    for (size_t i = 0; i < set->message_count; i++) {
        out_set->stacks[i] =
            add_message(t, set->messages[i], t->by == NULL ? NULL : groups->of_stack[i]);
        if (out_set->stacks[i] == NULL) {
            return false;
        }
    }
    return true;
}

void otp_tree_set_fini(struct otp_tree_set *s)
{
    for (size_t i = 0; s->stacks != NULL && i < s->set->message_count; i++) {
        free(s->stacks[i]);
    }
    free(s->stacks);
    s->stacks = NULL;
}

static void add_pick(const struct otp_tree_set *s, const struct otp_pick *pick, int64_t *values)
{
    const struct otp_profile *p = otp_profiles_profile(pick->m, pick->profile);

    for (uint32_t i = 0; i < p->samples.count; i++) {
        const struct otp_sample *sample = otp_profiles_sample(pick->m, p->samples.first + i);
        uint32_t node = s->stacks[pick->message][sample->stack];
        values[node] = otp_add_clamped(values[node], otp_profiles_sample_total(pick->m, sample));
    }
}

int64_t *otp_tree_values(const struct otp_tree *t, const struct otp_tree_set *s,
                         const struct otp_type *type, int64_t *out_total)
{
    int64_t *values = calloc(t->count, sizeof(values[0]));
    struct otp_pick_list picks;

    if (values == NULL || !otp_pick_list_init(&picks, s->set, type)) {
        free(values);
        return NULL;
    }
    for (size_t i = 0; i < picks.count; i++) {
        add_pick(s, &picks.items[i], values);
    }
    otp_pick_list_fini(&picks);
    *out_total = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        *out_total = otp_add_clamped(*out_total, values[i]);
    }
    return values;
}

int64_t *otp_tree_sums(const struct otp_tree *t, const int64_t *values)
{
    int64_t *sums = malloc((size_t)t->count * sizeof(sums[0]));

    if (sums == NULL) {
        return NULL;
    }
    memcpy(sums, values, (size_t)t->count * sizeof(sums[0]));
    for (uint32_t i = t->count; i-- > 1;) {
        uint32_t parent = t->nodes[i].parent;
        sums[parent] = otp_add_clamped(sums[parent], sums[i]);
    }
    return sums;
}
