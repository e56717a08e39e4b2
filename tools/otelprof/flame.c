/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof flame: a flame graph, as an interactive page, a picture or folded stacks. */
#define _GNU_SOURCE /* qsort_r */
#include "tools/otelprof/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/otelprof/args.h"
#include "tools/otelprof/command.h"
#include "tools/otelprof/load.h"
#include "tools/otelprof/progress.h"
#include "tools/otelprof/show.h"
#include "tools/otelprof/twice.h"

enum { FLAME_TYPE, FLAME_DIFF, FLAME_OUTPUT, FLAME_BY, FLAME_WHERE };

typedef bool (*flame_writer)(FILE *to, struct otp_flame *f);

/* The writer for a file name, or NULL. */
static flame_writer writer_for(const char *path)
{
    static const struct {
        const char *suffix;
        flame_writer write;
    } writers[] = {
        {".html", otp_flame_write_html},
        {".svg", otp_flame_write_svg},
        {".folded", otp_flame_write_folded},
    };
    size_t len = strlen(path);

    for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
        size_t suffix = strlen(writers[i].suffix);
        if (len > suffix && strcmp(path + len - suffix, writers[i].suffix) == 0) {
            return writers[i].write;
        }
    }
    return NULL;
}

bool otp_flame_values_init(struct otp_flame_values *v, const struct otp_flame *f, size_t t)
{
    const struct otp_type *type = &f->types.items[t];

    memset(v, 0, sizeof(*v));
    v->self = otp_tree_values(&f->tree, &f->now, type, &v->total);
    v->sums = v->self == NULL ? NULL : otp_tree_sums(&f->tree, v->self);
    if (v->sums == NULL) {
        return false;
    }
    if (f->base.set != NULL) {
        v->base = otp_tree_values(&f->tree, &f->base, type, &v->base_total);
        v->base_sums = v->base == NULL ? NULL : otp_tree_sums(&f->tree, v->base);
        return v->base_sums != NULL;
    }
    return true;
}

void otp_flame_values_fini(struct otp_flame_values *v)
{
    free(v->self);
    free(v->sums);
    free(v->base);
    free(v->base_sums);
    memset(v, 0, sizeof(*v));
}

/* A node's weight is its largest share of any type that counts. */
static void add_weights(float *weights, const struct otp_flame *f, const struct otp_flame_values *v)
{
    for (uint32_t i = 0; i < f->tree.count; i++) {
        float now = v->total > 0 ? (float)v->sums[i] / (float)v->total : 0;
        float before = v->base_total > 0 ? (float)v->base_sums[i] / (float)v->base_total : 0;
        float larger = now > before ? now : before;
        weights[i] = larger > weights[i] ? larger : weights[i];
    }
}

static float *weigh(const struct otp_flame *f, size_t only_type)
{
    float *weights = calloc(f->tree.count, sizeof(weights[0]));
    struct otp_flame_values v;
    bool ok = weights != NULL;

    for (size_t t = 0; t < f->types.count && ok; t++) {
        if (only_type == OTP_FLAME_ALL_TYPES || only_type == t) {
            ok = otp_flame_values_init(&v, f, t);
            if (ok) {
                add_weights(weights, f, &v);
            }
            otp_flame_values_fini(&v);
        }
    }
    if (!ok) {
        free(weights);
        return NULL;
    }
    return weights;
}

static int compare_floats(const void *left, const void *right)
{
    const float *a = left;
    const float *b = right;
    return (*a < *b) - (*a > *b);
}

/* The weight that a node has to exceed for at most max_nodes to be left; < 0: no memory. */
static float weight_limit(const struct otp_flame *f, const float *weights, uint32_t max_nodes)
{
    if (f->tree.count <= max_nodes) {
        return 0;
    }
    float *sorted = malloc((size_t)f->tree.count * sizeof(sorted[0]));
    if (sorted == NULL) {
        return -1;
    }
    memcpy(sorted, weights, (size_t)f->tree.count * sizeof(sorted[0]));
    qsort(sorted, f->tree.count, sizeof(sorted[0]), compare_floats);
    float limit = sorted[max_nodes];
    free(sorted);
    return limit;
}

/* Marks the root and all nodes above the limit; a parent is never lighter than its children. */
static uint32_t choose(struct otp_flame_order *o, const struct otp_flame *f, const float *weights,
                       float limit)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < f->tree.count; i++) {
        bool parent_kept = i == 0 || o->kept[f->tree.nodes[i].parent] != 0;
        o->kept[i] = i == 0 || (parent_kept && weights[i] > limit);
        o->left_out += !o->kept[i] && weights[i] > 0;
        kept += o->kept[i];
    }
    return kept;
}

/* What the sort of nodes needs. */
struct by_weight {
    const struct otp_tree *tree;
    const float *weights;
};

/* Light ones first; of equal weight by name, backwards. */
static int compare_nodes(const void *left, const void *right, void *arg)
{
    const struct by_weight *b = arg;
    uint32_t x = *(const uint32_t *)left;
    uint32_t y = *(const uint32_t *)right;
    int diff = (b->weights[x] > b->weights[y]) - (b->weights[x] < b->weights[y]);

    if (diff != 0) {
        return diff;
    }
    struct otp_text a = b->tree->names.items[b->tree->nodes[x].name].name;
    struct otp_text c = b->tree->names.items[b->tree->nodes[y].name].name;
    return otp_text_compare(c, a);
}

static void put_first(struct otp_tree *t, uint32_t node)
{
    struct otp_tree_node *parent = &t->nodes[t->nodes[node].parent];
    t->nodes[node].next_sibling = parent->first_child;
    parent->first_child = node;
}

/* Makes the lists of children anew: kept ones, heaviest first, then the others. False: no memory.
 */
static bool sort_children(struct otp_tree *t, const uint8_t *kept, const float *weights,
                          uint32_t kept_count)
{
    struct by_weight by = {.tree = t, .weights = weights};
    uint32_t *sorted = malloc(((size_t)kept_count + 1) * sizeof(sorted[0]));
    uint32_t count = 0;

    if (sorted == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        t->nodes[i].first_child = kept[i] != 0 ? OTP_TREE_NONE : t->nodes[i].first_child;
    }
    for (uint32_t i = 1; i < t->count; i++) {
        if (kept[i] != 0) {
            sorted[count++] = i;
        } else if (kept[t->nodes[i].parent] != 0) {
            put_first(t, i);
        }
    }
    if (count > 0) {
        qsort_r(sorted, count, sizeof(sorted[0]), compare_nodes, &by);
    }
    for (uint32_t i = 0; i < count; i++) {
        put_first(t, sorted[i]);
    }
    free(sorted);
    return true;
}

static void put(struct otp_flame_order *o, uint32_t node, uint32_t depth, uint32_t parent)
{
    o->nodes[o->count] = node;
    o->depths[o->count] = depth;
    o->parents[o->count] = parent;
    o->count++;
}

/* Walks through the kept nodes in preorder. */
struct walk {
    const struct otp_tree_node *nodes;
    struct otp_flame_order *o;
    const float *weights;
    uint32_t depth;
};

static bool has_left_out(const struct walk *w, uint32_t node)
{
    for (uint32_t c = w->nodes[node].first_child; c != OTP_TREE_NONE;
         c = w->nodes[c].next_sibling) {
        if (w->o->kept[c] == 0 && w->weights[c] > 0) {
            return true;
        }
    }
    return false;
}

/* The next kept node behind node; OTP_TREE_NONE at the end. */
static uint32_t next_kept(struct walk *w, uint32_t node)
{
    uint32_t next = w->nodes[node].first_child;
    uint32_t below = w->depth + 1;

    for (;;) {
        while (next != OTP_TREE_NONE && w->o->kept[next] == 0) {
            next = w->nodes[next].next_sibling;
        }
        if (next != OTP_TREE_NONE) {
            w->depth = below;
            return next;
        }
        /* All children of node have been: what was left out of them comes last. */
        if (has_left_out(w, node)) {
            put(w->o, OTP_TREE_NONE, below, node);
        }
        if (node == 0) {
            return OTP_TREE_NONE;
        }
        below--;
        next = w->nodes[node].next_sibling;
        node = w->nodes[node].parent;
    }
}

bool otp_flame_order_init(struct otp_flame_order *o, struct otp_flame *f, uint32_t max_nodes,
                          size_t only_type)
{
    float *weights = weigh(f, only_type);
    float limit = weights == NULL ? -1 : weight_limit(f, weights, max_nodes);
    struct walk w = {.nodes = f->tree.nodes, .o = o, .weights = weights};

    memset(o, 0, sizeof(*o));
    o->kept = calloc(f->tree.count, 1);
    bool ok = limit >= 0 && o->kept != NULL;
    uint32_t kept = ok ? choose(o, f, weights, limit) : 0;
    size_t room = 2 * (size_t)kept + 1; /* each with an entry for what is left out below */
    o->nodes = malloc(room * sizeof(o->nodes[0]));
    o->depths = malloc(room * sizeof(o->depths[0]));
    o->parents = malloc(room * sizeof(o->parents[0]));
    ok = ok && o->nodes != NULL && o->depths != NULL && o->parents != NULL &&
         sort_children(&f->tree, o->kept, weights, kept);
    for (uint32_t node = 0; ok && node != OTP_TREE_NONE; node = next_kept(&w, node)) {
        put(o, node, w.depth, OTP_TREE_NONE);
    }
    free(weights);
    return ok;
}

void otp_flame_order_fini(struct otp_flame_order *o)
{
    free(o->nodes);
    free(o->depths);
    free(o->parents);
    free(o->kept);
    memset(o, 0, sizeof(*o));
}

int64_t otp_flame_left_out(const struct otp_flame *f, const struct otp_flame_order *o,
                           uint32_t node, const int64_t *sums)
{
    int64_t sum = 0;

    for (uint32_t c = f->tree.nodes[node].first_child; c != OTP_TREE_NONE;
         c = f->tree.nodes[c].next_sibling) {
        sum = o->kept[c] != 0 ? sum : otp_add_clamped(sum, sums[c]);
    }
    return sum;
}

static void flame_fini(struct otp_flame *f)
{
    otp_tree_set_fini(&f->now);
    otp_tree_set_fini(&f->base);
    otp_type_list_fini(&f->types);
    otp_tree_fini(&f->tree);
}

/* Fills f from the sets; base may be NULL. False: no memory. */
static bool flame_init(struct otp_flame *f, struct otp_profile_set *set,
                       struct otp_profile_set *base, struct otp_by *by)
{
    const struct otp_profile_set *sets[] = {set, base};
    struct otp_by_set groups = {.set = set};
    struct otp_by_set base_groups = {.set = base};

    if (!otp_tree_init(&f->tree) || !otp_type_list_init(&f->types, set)) {
        return false;
    }
    f->tree.has_programs = otp_tree_has_programs(sets, base != NULL ? 2 : 1);
    f->tree.by = by;
    bool ok = by == NULL || (otp_by_split(by, set, &groups) &&
                             (base == NULL || otp_by_split(by, base, &base_groups)));
    ok = ok && otp_tree_add(&f->tree, set, &groups, &f->now) &&
         (base == NULL || otp_tree_add(&f->tree, base, &base_groups, &f->base));
    otp_by_set_fini(&groups);
    otp_by_set_fini(&base_groups);
    return ok;
}

static int output_error(const char *path)
{
    (void)fprintf(stderr, "otelprof: %s: %s\n", path, strerror(errno));
    return OTP_EXIT_INPUT;
}

/* Writes to a name beside it first, so that the file is there whole or not at all. */
static int write_file(const char *path, struct otp_flame *f, flame_writer write)
{
    char *temporary = malloc(strlen(path) + 32);
    if (temporary == NULL) {
        return output_error(path);
    }
    (void)snprintf(temporary, strlen(path) + 32, "%s.%ld.new", path, (long)getpid());
    FILE *to = fopen(temporary, "wxe");
    bool ok = to != NULL && write(to, f);
    ok = to != NULL && ferror(to) == 0 && ok;
    ok = to != NULL && fclose(to) == 0 && ok;
    int status = OTP_EXIT_OK;
    if (!ok || rename(temporary, path) != 0) {
        status = output_error(path);
        if (to != NULL) {
            (void)unlink(temporary); /* there is nothing more to do about it */
        }
    }
    free(temporary);
    return status;
}

static int draw(const struct otp_args *args, struct otp_profile_set *set,
                struct otp_profile_set *base, struct otp_by *by)
{
    const char *type = args->values[FLAME_TYPE];
    const char *path = args->values[FLAME_OUTPUT];
    struct otp_flame f = {.first = 0};
    int status = OTP_EXIT_OK;

    if (!flame_init(&f, set, base, by)) {
        (void)fprintf(stderr, "otelprof flame: no memory\n");
        status = OTP_EXIT_INPUT;
    } else if (type != NULL && otp_type_find(&f.types, type) == NULL) {
        status = otp_type_not_found(args->command, &f.types, type);
    } else {
        f.first = type == NULL ? 0 : (size_t)(otp_type_find(&f.types, type) - f.types.items);
        status = write_file(path, &f, writer_for(path));
    }
    flame_fini(&f);
    return status;
}

/* Draws what --where leaves, by the groups of --by. */
static int choose_and_draw(const struct otp_args *args, struct otp_profile_set *set,
                           struct otp_profile_set *base)
{
    struct otp_by by;
    int status = OTP_EXIT_OK;

    if (otp_args_has(args, FLAME_BY) && !otp_by_init(&by, args->values[FLAME_BY])) {
        return otp_usage_error(args->command, "--by %s: " OTP_BY_HELP " is expected",
                               args->values[FLAME_BY]);
    }
    if (otp_args_has(args, FLAME_WHERE)) {
        status = otp_where_apply(args->command, set, args->values[FLAME_WHERE]);
        if (status == OTP_EXIT_OK && base != NULL) {
            status = otp_where_apply(args->command, base, args->values[FLAME_WHERE]);
        }
    }
    if (status == OTP_EXIT_OK) {
        status = draw(args, set, base, otp_args_has(args, FLAME_BY) ? &by : NULL);
    }
    if (otp_args_has(args, FLAME_BY)) {
        otp_by_fini(&by);
    }
    return status;
}

static int run_flame(const struct otp_args *args)
{
    struct otp_profile_set set;
    struct otp_profile_set base;
    struct otp_twice twice;
    const char *diff = args->values[FLAME_DIFF];
    const char *path = args->values[FLAME_OUTPUT];

    if (path == NULL) {
        return otp_usage_error(args->command, "-o OUT is missing");
    }
    if (writer_for(path) == NULL) {
        return otp_usage_error(args->command, "%s ends in none of .html, .svg, .folded", path);
    }
    otp_profile_set_init(&set);
    otp_profile_set_init(&base);
    int status = otp_load_operands(&set, args, OTP_LOAD_FOLLOW);
    status = status == OTP_EXIT_OK ? otp_twice_find(&set, args->command, &twice) : status;
    if (status == OTP_EXIT_OK && diff != NULL && !otp_load_file(&base, diff, OTP_LOAD_FOLLOW)) {
        status = OTP_EXIT_INPUT;
    }
    otp_progress_end();
    if (status == OTP_EXIT_OK) {
        status = choose_and_draw(args, &set, diff != NULL ? &base : NULL);
    }
    if (status == OTP_EXIT_OK) {
        otp_twice_say(&twice, &set, args->command);
    }
    otp_profile_set_fini(&set);
    otp_profile_set_fini(&base);
    return status;
}

static const struct otp_option options[] = {
    [FLAME_TYPE] = {"type", 't', "TYPE",
                    "the type to show (first): cpu, alloc_space, … (the first)"},
    [FLAME_DIFF] = {"diff", 'd', "BASE", "colour by the change from the profile BASE"},
    [FLAME_OUTPUT] = {"output", 'o', "OUT", "file to write; .html, .svg or .folded says what"},
    [FLAME_BY] = {"by", 'b', "WHAT", "a level below the root: " OTP_BY_HELP},
    [FLAME_WHERE] = {"where", 'w', "KEY=VALUE",
                     "only samples with that label, trace, span, thread"},
    {NULL, 0, NULL, NULL},
};

const struct otp_command otp_command_flame = {
    .name = "flame",
    .operands = "-o OUT FILE…",
    .summary = "draw a flame graph: interactive page, picture or folded stacks",
    .options = options,
    .details =
        "The page (.html) is one file that needs no network: zoom, search, table, all types. The\n"
        "picture (.svg) and the folded stacks (.folded) are of one type. Several files count "
        "together\n"
        "as in `otelprof top`; profiles of several programs get a level for the program.\n",
    .run = run_flame,
};
