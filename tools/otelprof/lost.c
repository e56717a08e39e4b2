/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/lost.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/encode/origin.h"
#include "tools/otelprof/pick.h"
#include "tools/otelprof/show.h"

#define NAMES_SHOWN 8U

/* Names that were met, each once, and how often in all. */
struct names {
    struct otp_text shown[NAMES_SHOWN];
    size_t count;
    uint64_t total;
};

enum kind {
    LOST_RESOURCE_ATTRS,
    LOST_SCOPES,
    LOST_SCOPE_ATTRS,
    LOST_PROFILE_ATTRS,
    LOST_SAMPLE_ATTRS,
    LOST_MAPPING_ATTRS,
    LOST_LOCATION_ATTRS,
    LOST_KINDS
};

struct otp_losses {
    const struct otp_profiles *m;
    bool bare; /* no attribute has a place */
    struct names names[LOST_KINDS];
    uint64_t times;
    uint64_t ids;
    uint64_t payloads;
    uint64_t bare_lines; /* lines without a function */
    uint64_t links;
    uint64_t lines;
    char pid[OTP_FMT_NUMBER_MAX];
    struct otp_origin origin; /* what is carried of it; empty: none */
    uint32_t carried;         /* a list of attributes that are all carried */
};

static bool text_is(struct otp_text t, const char *s)
{
    return t.len == strlen(s) && memcmp(t.data, s, t.len) == 0;
}

static void add_name(struct names *n, struct otp_text name)
{
    n->total++;
    for (size_t i = 0; i < n->count; i++) {
        if (n->shown[i].len == name.len && memcmp(n->shown[i].data, name.data, name.len) == 0) {
            return;
        }
    }
    if (n->count < NAMES_SHOWN) {
        n->shown[n->count++] = name;
    }
}

static bool is_one_of(struct otp_text key, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (text_is(key, names[i])) {
            return true;
        }
    }
    return false;
}

/* The keys that pprof has fields for, by where they stand. */
static const char *const mapping_keys[] = {"process.executable.build_id.gnu",
                                           "process.executable.build_id.go",
                                           "pprof.mapping.has_functions",
                                           "pprof.mapping.has_filenames",
                                           "pprof.mapping.has_line_numbers",
                                           "pprof.mapping.has_inline_frames",
                                           NULL};
static const char *const location_keys[] = {"pprof.location.is_folded", NULL};
static const char *const profile_keys[] = {"pprof.profile.comment", "pprof.profile.doc_url",
                                           "pprof.profile.drop_frames", "pprof.profile.keep_frames",
                                           NULL};
static const char *const scope_keys[] = {"pprof.scope.default_sample_type",
                                         "pprof.scope.sample_type_order", NULL};

static void count_list(struct otp_losses *l, uint32_t list, enum kind kind, const char *const *keys)
{
    uint32_t count;
    const int32_t *items = otp_profiles_list(l->m, list, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct otp_text key =
            otp_profiles_string(l->m, otp_profiles_attribute(l->m, items[i])->key);
        if (l->bare || !is_one_of(key, keys)) {
            add_name(&l->names[kind], key);
        }
    }
}

/* Labels are texts, whole numbers, and lists of them. */
static bool is_label(const struct otp_value *v)
{
    return v->kind == OTP_VALUE_STRING || v->kind == OTP_VALUE_STRINDEX ||
           v->kind == OTP_VALUE_BOOL || v->kind == OTP_VALUE_INT || v->kind == OTP_VALUE_ARRAY ||
           (v->kind == OTP_VALUE_DOUBLE && v->of.real >= -9e15 && v->of.real <= 9e15 &&
            (double)(int64_t)v->of.real == v->of.real);
}

static void count_labels(struct otp_losses *l, uint32_t list)
{
    uint64_t before = l->names[LOST_SAMPLE_ATTRS].total;
    uint32_t count;
    const int32_t *items = otp_profiles_list(l->m, list, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct otp_attribute *a = otp_profiles_attribute(l->m, items[i]);
        if (l->bare || !is_label(&a->value)) {
            add_name(&l->names[LOST_SAMPLE_ATTRS], otp_profiles_string(l->m, a->key));
        }
    }
    l->carried = l->names[LOST_SAMPLE_ATTRS].total == before ? list : 0;
}

static void count_sample(struct otp_losses *l, const struct otp_sample *s)
{
    if (s->attrs != l->carried) {
        count_labels(l, s->attrs);
    }
    l->links += s->link != 0;
    if ((s->data & OTP_SAMPLE_LONG) != 0) {
        struct otp_sample_data d;
        otp_profiles_sample_data(l->m, s, &d);
        l->times += d.timestamp_count;
    }
}

static void count_dictionary(struct otp_losses *l)
{
    for (uint32_t i = 1; i < l->m->table[OTP_TABLE_MAPPING].count; i++) {
        count_list(l, otp_profiles_mapping(l->m, (int32_t)i)->attrs, LOST_MAPPING_ATTRS,
                   mapping_keys);
    }
    for (uint32_t i = 1; i < l->m->table[OTP_TABLE_LOCATION].count; i++) {
        const struct otp_location *loc = otp_profiles_location(l->m, (int32_t)i);
        count_list(l, loc->attrs, LOST_LOCATION_ATTRS, location_keys);
        for (uint32_t k = 0; k < loc->lines.count; k++) {
            l->lines++;
            l->bare_lines += otp_profiles_line(l->m, loc->lines.first + k)->function == 0;
        }
    }
}

/* Is that attribute of a resource in the comment that tells the process? */
static bool tells_process(const struct otp_losses *l, struct otp_text key)
{
    bool is_told = false;
    for (size_t i = 0; i <= OTP_ORIGIN_HOST; i++) {
        is_told = is_told || (l->origin.field[i].len > 0 && text_is(key, otp_origin_keys[i]));
    }
    return is_told;
}

/* So is the name of the scope, with its version. */
static bool tells_scope(const struct otp_losses *l, struct otp_text name)
{
    struct otp_text told = l->origin.field[OTP_ORIGIN_SCOPE_NAME];
    return name.len == told.len && memcmp(name.data, told.data, name.len) == 0;
}

/* The process that all of it is of, if it is of one. */
static void find_origin(const struct otp_gather *g, struct otp_losses *l)
{
    const struct otp_envelope_options *e = &g->envelopes[0].options;
    if (g->envelope_count == 0 || l->bare) {
        return;
    }
    otp_origin_of(e->resource_attrs, e->resource_attr_count, l->pid, &l->origin);
    if (otp_origin_is_known(&l->origin)) {
        l->origin.field[OTP_ORIGIN_SCOPE_NAME] = e->scope_name;
    } else {
        memset(&l->origin, 0, sizeof(l->origin));
    }
}

static void count_around(struct otp_losses *l)
{
    for (uint32_t i = 0; i < l->m->resources.count; i++) {
        struct otp_slice attrs = otp_profiles_resource(l->m, i)->attrs;
        for (uint32_t k = 0; k < attrs.count; k++) {
            struct otp_text key =
                otp_profiles_key(l->m, otp_profiles_keyvalue(l->m, attrs.first + k));
            if (!tells_process(l, key)) {
                add_name(&l->names[LOST_RESOURCE_ATTRS], key);
            }
        }
    }
    for (uint32_t i = 0; i < l->m->scopes.count; i++) {
        const struct otp_scope *s = otp_profiles_scope(l->m, i);
        if (s->name.len > 0 && !tells_scope(l, otp_profiles_text(l->m, s->name))) {
            add_name(&l->names[LOST_SCOPES], otp_profiles_text(l->m, s->name));
        }
        for (uint32_t k = 0; k < s->attrs.count; k++) {
            struct otp_text key =
                otp_profiles_key(l->m, otp_profiles_keyvalue(l->m, s->attrs.first + k));
            if (l->bare || !is_one_of(key, scope_keys)) {
                add_name(&l->names[LOST_SCOPE_ATTRS], key);
            }
        }
    }
}

static void count_message(struct otp_losses *l)
{
    count_around(l);
    count_dictionary(l);
    for (uint32_t i = 0; i < l->m->profiles.count; i++) {
        const struct otp_profile *p = otp_profiles_profile(l->m, i);
        count_list(l, p->attrs, LOST_PROFILE_ATTRS, profile_keys);
        l->ids += p->profile_id.len > 0;
        l->payloads += p->payload.len > 0;
        for (uint32_t k = 0; k < p->samples.count; k++) {
            count_sample(l, otp_profiles_sample(l->m, p->samples.first + k));
        }
    }
}

/* The types of which a file of gperftools' has nothing: of the time, not the number of samples. */
static void count_types(const struct otp_gather *g, const struct otp_lost_options *o,
                        struct names *to)
{
    for (size_t i = 0; i < g->part_count; i++) {
        const struct otp_profiles *m = g->set->messages[g->parts[i].message];
        struct otp_type type = otp_type_of(m, otp_profiles_profile(m, g->parts[i].profile));
        const struct otp_value_type told = {.type = type.type, .unit = type.unit};
        enum otp_gperftools_role role = otp_gperftools_role_of(o->kind, &told, NULL);
        bool is_count = o->kind == OTP_GPERFTOOLS_CPU && role == OTP_GPERFTOOLS_COUNT;
        if (role == OTP_GPERFTOOLS_NONE || (is_count && o->gperftools->has_time)) {
            add_name(to, type.type);
        }
    }
}

struct otp_losses *otp_lost_count(const struct otp_gather *g, bool bare)
{
    struct otp_losses *l = calloc(1, sizeof(*l));
    if (l != NULL) {
        l->bare = bare;
        find_origin(g, l);
    }
    for (size_t i = 0; i < g->set->message_count && l != NULL; i++) {
        l->m = g->set->messages[i];
        l->carried = 0;
        count_message(l);
    }
    return l;
}

/* ---- printing ---- */

static void begin_line(const struct otp_lost_options *o)
{
    (void)fprintf(stderr, "otelprof %s: %s: not carried: ", o->command, o->path);
}

static void put_item(struct otp_jsonout *j, uint64_t count, const char *what, const struct names *n)
{
    otp_jsonout_row(j, NULL);
    otp_jsonout_string(j, "what", what);
    if (count > 0) {
        otp_jsonout_uint(j, "count", count);
    }
    if (n != NULL) {
        otp_jsonout_list(j, "names");
        for (size_t i = 0; i < n->count; i++) {
            otp_jsonout_text(j, NULL, n->shown[i]);
        }
        otp_jsonout_close(j);
    }
    otp_jsonout_close(j);
}

/* Something that cannot be counted. */
static void print_fact(const struct otp_lost_options *o, const char *what)
{
    if (o->json != NULL) {
        put_item(o->json, 0, what, NULL);
    } else {
        begin_line(o);
        (void)fprintf(stderr, "%s\n", what);
    }
}

static void print_count(const struct otp_lost_options *o, uint64_t count, const char *what)
{
    if (count == 0) {
        return;
    }
    if (o->json != NULL) {
        put_item(o->json, count, what, NULL);
    } else {
        begin_line(o);
        (void)fprintf(stderr, "%" PRIu64 " %s\n", count, what);
    }
}

static void print_names(const struct otp_lost_options *o, const struct names *n, const char *what)
{
    if (n->total == 0) {
        return;
    }
    if (o->json != NULL) {
        put_item(o->json, n->total, what, n);
        return;
    }
    begin_line(o);
    (void)fprintf(stderr, "%" PRIu64 " %s: ", n->total, what);
    for (size_t i = 0; i < n->count; i++) {
        (void)fputs(i > 0 ? ", " : "", stderr);
        otp_show_text(stderr, n->shown[i]);
    }
    (void)fputs(n->count == NAMES_SHOWN ? ", …\n" : "\n", stderr);
}

static bool same_period(const struct otp_profiles *a, const struct otp_profile *p,
                        const struct otp_profiles *b, const struct otp_profile *q)
{
    struct otp_text x = otp_profiles_string(a, p->period_type.type);
    struct otp_text y = otp_profiles_string(b, q->period_type.type);
    return p->period == q->period && x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
}

/* pprof has one period; how many profiles have another than the first one. */
static uint64_t other_periods(const struct otp_gather *g)
{
    const struct otp_profiles *first = NULL;
    const struct otp_profile *p = NULL;
    uint64_t others = 0;
    for (size_t i = 0; i < g->part_count; i++) {
        const struct otp_profiles *m = g->set->messages[g->parts[i].message];
        const struct otp_profile *q = otp_profiles_profile(m, g->parts[i].profile);
        if (q->period == 0 && q->period_type.type == 0) {
            continue;
        }
        if (p == NULL) {
            first = m;
            p = q;
        }
        others += !same_period(first, p, m, q);
    }
    return others;
}

static void print_gperftools(const struct otp_gather *g, const struct otp_lost_options *o)
{
    const struct otp_gperftools_losses *lost = o->gperftools;
    struct names types = {.count = 0};
    count_types(g, o, &types);
    print_names(o, &types, "profiles of other types");
    print_count(o, lost->negatives, "stacks whose value is negative");
    print_count(o, lost->made_up,
                "locations without an address in a file: each is shown as a number");
    print_count(o, lost->empty, "stacks without frames: shown as a number");
    print_count(o, lost->countless, "stacks with bytes but no objects: told as one object");
    print_count(o, lost->cut, "ends of stacks deeper than 65535");
    print_count(o, o->losses->lines, "names and lines: readers take them from the files");
    print_count(o, o->losses->links, "links");
    print_fact(o, "when it began and how long it took");
}

/* What both have no place for; of attributes pprof has for some. */
static void print_common(const struct otp_gather *g, const struct otp_lost_options *o)
{
    const char *const what[LOST_KINDS] = {
        [LOST_RESOURCE_ATTRS] = "resource attributes",
        [LOST_SCOPES] = "scopes",
        [LOST_SCOPE_ATTRS] = "scope attributes",
        [LOST_PROFILE_ATTRS] = "profile attributes",
        [LOST_SAMPLE_ATTRS] = o->losses->bare
                                  ? "sample attributes"
                                  : "sample attributes that are neither text nor whole number",
        [LOST_MAPPING_ATTRS] = "mapping attributes",
        [LOST_LOCATION_ATTRS] = "location attributes",
    };
    const struct otp_losses *l = o->losses;
    if (g->sources > 1) {
        print_fact(o, "which resource or scope a sample is of; they are added up");
    }
    for (size_t i = 0; i < LOST_KINDS; i++) {
        print_names(o, &l->names[i], what[i]);
    }
    print_count(o, l->bare ? 0 : other_periods(g), "periods besides the first");
    print_count(o, o->has_times ? 0 : l->times,
                l->bare ? "times of observations"
                        : "times of observations (--timestamp-label keeps them)");
    print_count(o, l->ids, "profile ids");
    print_count(o, l->payloads, "original payloads");
    print_count(o, l->bare ? 0 : l->bare_lines, "lines without a function");
}

void otp_lost_print(const struct otp_gather *g, const struct otp_lost_options *o)
{
    struct otp_lost lost;
    memset(&lost, 0, sizeof(lost));
    for (size_t i = 0; i < g->set->message_count; i++) {
        const struct otp_lost *of = &g->set->messages[i]->lost;
        lost.zero_samples += of->zero_samples;
        lost.bare_labels += of->bare_labels;
        lost.label_units += of->label_units;
        lost.odd_times += of->odd_times;
        lost.negatives += of->negatives;
    }
    if (o->gperftools != NULL) {
        print_gperftools(g, o);
    }
    if (o->losses != NULL) {
        print_common(g, o);
    }
    print_count(o, lost.zero_samples, "samples whose values are all 0");
    print_count(o, lost.bare_labels, "labels without a key");
    print_count(o, lost.label_units, "units of numbers under one label that differ");
    print_count(o, lost.odd_times + g->odd_times, "lists of times that do not fit their values");
    print_count(o, g->zero_values, "observations of value 0");
    print_count(o, lost.negatives + g->negative_lines, "negative times, lines or columns");
    if (g->cut_values) {
        print_fact(o, "attribute values nested deeper than 8");
    }
}
