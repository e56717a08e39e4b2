/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otelprof top: values by function. Flat is what was measured in the function itself, cumulative
 * what was measured in it and in all it called; a function that calls itself counts once per stack.
 */
#define _GNU_SOURCE /* qsort_r */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/otelprof/args.h"
#include "tools/otelprof/bars.h"
#include "tools/otelprof/by.h"
#include "tools/otelprof/command.h"
#include "tools/otelprof/jsonout.h"
#include "tools/otelprof/load.h"
#include "tools/otelprof/names.h"
#include "tools/otelprof/pick.h"
#include "tools/otelprof/show.h"
#include "tools/otelprof/twice.h"

#define DEFAULT_ROWS 30
#define ROW_COLUMNS 54U /* in front of a function's bar and name */
#define GROUP_COLUMNS 45U

enum { TOP_TYPE, TOP_CUM, TOP_NUMBER, TOP_JSON, TOP_BY, TOP_WHERE, TOP_BARS, TOP_COLOUR };

struct row {
    uint32_t name;
    uint32_t seen_in; /* number of the last stack that counted for cum */
    int64_t flat;
    int64_t cum;
};

struct tally {
    struct otp_names names;
    struct row *rows; /* one per name */
    uint32_t row_count;
    uint32_t sample; /* number of the stack that is being counted */
    int64_t total;
    uint64_t samples;
    uint64_t from_ns;
    uint64_t until_ns;
};

static bool grow_rows(struct tally *t)
{
    struct row *rows = realloc(t->rows, ((size_t)t->names.count + 1) * sizeof(rows[0]));

    if (rows == NULL) {
        return false;
    }
    t->rows = rows;
    for (uint32_t i = t->row_count; i < t->names.count; i++) {
        rows[i] = (struct row){.name = i};
    }
    t->row_count = t->names.count;
    return true;
}

static void count_location(struct tally *t, const struct otp_frame_names *f, int32_t location,
                           int64_t value)
{
    for (uint32_t i = f->first[location]; i < f->first[location + 1]; i++) {
        struct row *r = &t->rows[f->ids[i]];
        if (r->seen_in != t->sample) {
            r->seen_in = t->sample;
            r->cum = otp_add_clamped(r->cum, value);
        }
    }
}

static void count_stack(struct tally *t, const struct otp_frame_names *f,
                        const struct otp_profiles *m, int32_t index, int64_t value)
{
    const struct otp_slice *stack = otp_profiles_stack(m, index);
    const int32_t *frames = otp_profiles_frames(m, stack);

    t->sample++;
    if (stack->count == 0) {
        return;
    }
    struct row *leaf = &t->rows[f->ids[f->first[frames[0]]]];
    leaf->flat = otp_add_clamped(leaf->flat, value);
    for (uint32_t i = 0; i < stack->count; i++) {
        count_location(t, f, frames[i], value);
    }
}

/* Values are added up by stack before stacks are walked: many samples have one stack. */
static bool count_pick(struct tally *t, const struct otp_frame_names *f,
                       const struct otp_pick *pick)
{
    const struct otp_profiles *m = pick->m;
    const struct otp_profile *p = otp_profiles_profile(m, pick->profile);
    uint64_t until = p->time_ns + p->duration_ns;
    uint32_t stacks = m->table[OTP_TABLE_STACK].count;
    int64_t *by_stack = calloc((size_t)stacks + 1, sizeof(by_stack[0]));

    if (by_stack == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < p->samples.count; i++) {
        const struct otp_sample *s = otp_profiles_sample(m, p->samples.first + i);
        int64_t value = otp_profiles_sample_total(m, s);
        by_stack[s->stack] = otp_add_clamped(by_stack[s->stack], value);
        t->total = otp_add_clamped(t->total, value);
    }
    for (uint32_t i = 0; i < stacks; i++) {
        if (by_stack[i] != 0) {
            count_stack(t, f, m, (int32_t)i, by_stack[i]);
        }
    }
    free(by_stack);
    t->samples += p->samples.count;
    t->from_ns = t->from_ns == 0 || p->time_ns < t->from_ns ? p->time_ns : t->from_ns;
    t->until_ns = until > t->until_ns ? until : t->until_ns;
    return true;
}

static bool count_all(struct tally *t, const struct otp_pick_list *picks)
{
    struct otp_frame_names f = {.first = NULL};
    const struct otp_profiles *named = NULL;
    bool ok = true;

    for (size_t i = 0; i < picks->count && ok; i++) {
        if (picks->items[i].m != named) {
            otp_frame_names_fini(&f);
            named = picks->items[i].m;
            ok = otp_frame_names_init(&f, &t->names, named) && grow_rows(t);
        }
        ok = ok && count_pick(t, &f, &picks->items[i]);
    }
    otp_frame_names_fini(&f);
    return ok;
}

/* Sorting by size, not by sign: a difference is as interesting downwards. */
static int compare_sizes(int64_t a, int64_t b)
{
    return (otp_magnitude(a) < otp_magnitude(b)) - (otp_magnitude(a) > otp_magnitude(b));
}

/* What the sort needs besides the rows. */
struct order {
    const struct otp_names *names;
    bool by_cum;
};

static int compare_rows(const void *left, const void *right, void *arg)
{
    const struct row *a = left;
    const struct row *b = right;
    const struct order *o = arg;
    int flat = compare_sizes(a->flat, b->flat);
    int cum = compare_sizes(a->cum, b->cum);
    int diff = o->by_cum ? cum : flat;

    diff = diff != 0 ? diff : o->by_cum ? flat : cum;
    if (diff != 0) {
        return diff;
    }
    return otp_text_compare(o->names->items[a->name].name, o->names->items[b->name].name);
}

static void print_header(const struct tally *t, const struct otp_type *type)
{
    char a[OTP_SHOW_MAX];

    (void)printf("type ");
    otp_show_text(stdout, type->type);
    (void)printf(", unit ");
    otp_show_text(stdout, type->unit);
    (void)printf(", total %s in %" PRIu64 " samples", otp_show_value(a, t->total, type->unit),
                 t->samples);
    if (t->until_ns > 0) {
        (void)printf(", from %s", otp_show_time(a, t->from_ns));
        (void)printf(" for %s",
                     otp_show_value(a, (int64_t)(t->until_ns - t->from_ns), otp_text_of("ns")));
    }
    (void)putchar('\n');
}

static void print_json_header(struct otp_jsonout *j, const struct tally *t,
                              const struct otp_type *type)
{
    otp_jsonout_begin(j, stdout);
    otp_jsonout_text(j, "type", type->type);
    otp_jsonout_text(j, "unit", type->unit);
    otp_jsonout_int(j, "total", t->total);
    otp_jsonout_uint(j, "samples", t->samples);
    otp_jsonout_uint(j, "time_unix_nano", t->from_ns);
    otp_jsonout_uint(j, "duration_nano", t->until_ns - t->from_ns);
}

/* The module is shown where it says more than the name does. */
static struct otp_text module_of(const struct otp_name *n)
{
    return n->is_address ? otp_text_of(NULL) : n->module;
}

static int64_t bar_value(const struct row *r, bool by_cum)
{
    return by_cum ? r->cum : r->flat;
}

static void plan_bars(struct otp_bars *bars, const struct tally *t, uint32_t rows, bool by_cum)
{
    unsigned longest = 0;
    uint64_t largest = 0;

    for (uint32_t i = 0; i < rows; i++) {
        const struct otp_name *n = &t->names.items[t->rows[i].name];
        unsigned columns = otp_bars_name_columns(n->name, module_of(n));
        uint64_t size = otp_magnitude(bar_value(&t->rows[i], by_cum));
        longest = columns > longest ? columns : longest;
        largest = size > largest ? size : largest;
    }
    otp_bars_plan(bars, ROW_COLUMNS, longest, largest);
}

/* The first four columns of a row; narrow lines with bars do without the running sum. */
static void print_numbers(const struct otp_bars *bars, const char *value, const char *percent,
                          const char *sum, const char *other)
{
    if (bars->is_narrow) {
        (void)printf("%12s %8s %12s", value, percent, other);
    } else {
        (void)printf("%12s %8s %8s %12s", value, percent, sum, other);
    }
}

static void print_text(const struct tally *t, const struct otp_type *type, uint32_t rows,
                       struct otp_bars *bars, bool by_cum)
{
    char a[OTP_SHOW_MAX];
    char b[OTP_SHOW_MAX];
    char c[OTP_SHOW_MAX];
    char d[OTP_SHOW_MAX];
    char e[OTP_SHOW_MAX];
    int64_t sum = 0;

    plan_bars(bars, t, rows, by_cum);
    print_header(t, type);
    otp_bars_begin_titles(bars);
    print_numbers(bars, "flat", "flat%", "sum%", "cum");
    (void)printf(" %8s  ", "cum%");
    otp_bars_end_titles(bars, "function");
    for (uint32_t i = 0; i < rows; i++) {
        const struct row *r = &t->rows[i];
        const struct otp_name *n = &t->names.items[r->name];
        sum = otp_add_clamped(sum, r->flat);
        print_numbers(bars, otp_show_value(a, r->flat, type->unit),
                      otp_show_percent(b, r->flat, t->total), otp_show_percent(c, sum, t->total),
                      otp_show_value(d, r->cum, type->unit));
        (void)printf(" %8s  ", otp_show_percent(e, r->cum, t->total));
        otp_bars_draw(bars, bar_value(r, by_cum));
        otp_bars_name(bars, n->name, module_of(n));
    }
    otp_bars_end(bars);
    if (rows < t->row_count) {
        (void)printf("%u more functions are not shown (-n 0 shows all)\n",
                     (unsigned)(t->row_count - rows));
    }
}

static void print_json(const struct tally *t, const struct otp_type *type, uint32_t rows)
{
    struct otp_jsonout j;

    print_json_header(&j, t, type);
    otp_jsonout_list(&j, "functions");
    for (uint32_t i = 0; i < rows; i++) {
        const struct row *r = &t->rows[i];
        const struct otp_name *n = &t->names.items[r->name];
        otp_jsonout_row(&j, NULL);
        otp_jsonout_text(&j, "name", n->name);
        otp_jsonout_text(&j, "module", n->module);
        otp_jsonout_int(&j, "flat", r->flat);
        otp_jsonout_int(&j, "cum", r->cum);
        otp_jsonout_close(&j);
    }
    otp_jsonout_close(&j);
    otp_jsonout_end(&j);
}

/* Functions of other types, with nothing in this one, are no rows. */
static void drop_empty_rows(struct tally *t)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < t->row_count; i++) {
        if (t->rows[i].seen_in != 0 && (t->rows[i].cum != 0 || t->rows[i].flat != 0)) {
            t->rows[kept++] = t->rows[i];
        }
    }
    t->row_count = kept;
}

/* How a list is to be shown: the options, read. */
struct wishes {
    uint64_t limit;
    struct otp_bars bars;
};

static void print_top(struct tally *t, const struct otp_type *type, const struct otp_args *args,
                      struct wishes *wishes)
{
    bool is_json = otp_args_has(args, TOP_JSON);
    struct order order = {.names = &t->names, .by_cum = otp_args_has(args, TOP_CUM)};
    drop_empty_rows(t);
    if (t->row_count > 0) {
        qsort_r(t->rows, t->row_count, sizeof(t->rows[0]), compare_rows, &order);
    }
    uint64_t limit = wishes->limit;
    uint32_t rows = limit == 0 || limit > t->row_count ? t->row_count : (uint32_t)limit;
    if (is_json) {
        print_json(t, type, rows);
    } else {
        print_text(t, type, rows, &wishes->bars, order.by_cum);
    }
}

/* ---- by groups instead of functions ---- */

struct group_row {
    struct otp_text name;
    int64_t value;
    uint64_t samples;
};

static int compare_groups(const void *left, const void *right)
{
    const struct group_row *a = left;
    const struct group_row *b = right;
    int diff = compare_sizes(a->value, b->value);

    if (diff == 0) {
        diff = memcmp(a->name.data, b->name.data,
                      a->name.len < b->name.len ? a->name.len : b->name.len);
    }
    return diff != 0 ? diff : (a->name.len > b->name.len) - (a->name.len < b->name.len);
}

static void count_groups(struct tally *t, struct group_row *rows, const struct otp_by_set *groups,
                         const struct otp_pick *pick)
{
    const struct otp_profile *p = otp_profiles_profile(pick->m, pick->profile);
    uint64_t until = p->time_ns + p->duration_ns;

    for (uint32_t i = 0; i < p->samples.count; i++) {
        const struct otp_sample *s = otp_profiles_sample(pick->m, p->samples.first + i);
        struct group_row *row = &rows[groups->of_stack[pick->message][s->stack]];
        int64_t value = otp_profiles_sample_total(pick->m, s);
        row->value = otp_add_clamped(row->value, value);
        row->samples++;
        t->total = otp_add_clamped(t->total, value);
    }
    t->samples += p->samples.count;
    t->from_ns = t->from_ns == 0 || p->time_ns < t->from_ns ? p->time_ns : t->from_ns;
    t->until_ns = until > t->until_ns ? until : t->until_ns;
}

static void print_group_text(const struct group_row *r, const struct tally *t,
                             const struct otp_type *type, int64_t sum, struct otp_bars *bars)
{
    char a[OTP_SHOW_MAX];
    char b[OTP_SHOW_MAX];
    char c[OTP_SHOW_MAX];
    char d[OTP_SHOW_MAX];

    (void)snprintf(d, sizeof(d), "%" PRIu64, r->samples);
    print_numbers(bars, otp_show_value(a, r->value, type->unit),
                  otp_show_percent(b, r->value, t->total), otp_show_percent(c, sum, t->total), d);
    (void)fputs("  ", stdout);
    otp_bars_draw(bars, r->value);
    otp_bars_name(bars, r->name, otp_text_of(NULL));
}

/* The groups that have samples, largest first; returns how many. */
static uint32_t sort_groups(struct group_row *rows, uint32_t count)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].samples > 0) {
            rows[kept++] = rows[i];
        }
    }
    if (kept > 0) {
        qsort(rows, kept, sizeof(rows[0]), compare_groups);
    }
    return kept;
}

static void print_groups_json(const struct tally *t, const struct group_row *rows, uint32_t shown,
                              const struct otp_type *type)
{
    struct otp_jsonout j;

    print_json_header(&j, t, type);
    otp_jsonout_list(&j, "groups");
    for (uint32_t i = 0; i < shown; i++) {
        otp_jsonout_row(&j, NULL);
        otp_jsonout_text(&j, "name", rows[i].name);
        otp_jsonout_int(&j, "value", rows[i].value);
        otp_jsonout_uint(&j, "samples", rows[i].samples);
        otp_jsonout_close(&j);
    }
    otp_jsonout_close(&j);
    otp_jsonout_end(&j);
}

static void print_groups_text(const struct tally *t, const struct group_row *rows, uint32_t shown,
                              const struct otp_type *type, const char *title, struct otp_bars *bars)
{
    unsigned longest = 0;
    int64_t sum = 0;

    for (uint32_t i = 0; i < shown; i++) {
        unsigned columns = otp_bars_name_columns(rows[i].name, otp_text_of(NULL));
        longest = columns > longest ? columns : longest;
    }
    otp_bars_plan(bars, GROUP_COLUMNS, longest, shown > 0 ? otp_magnitude(rows[0].value) : 0);
    print_header(t, type);
    otp_bars_begin_titles(bars);
    print_numbers(bars, "value", "value%", "sum%", "samples");
    (void)fputs("  ", stdout);
    otp_bars_end_titles(bars, title);
    for (uint32_t i = 0; i < shown; i++) {
        sum = otp_add_clamped(sum, rows[i].value);
        print_group_text(&rows[i], t, type, sum, bars);
    }
    otp_bars_end(bars);
}

static void print_groups(const struct tally *t, struct group_row *rows, uint32_t count,
                         const struct otp_type *type, const struct otp_args *args,
                         struct wishes *wishes)
{
    uint32_t kept = sort_groups(rows, count);
    uint64_t limit = wishes->limit;
    uint32_t shown = limit == 0 || limit > kept ? kept : (uint32_t)limit;

    if (otp_args_has(args, TOP_JSON)) {
        print_groups_json(t, rows, shown, type);
        return;
    }
    print_groups_text(t, rows, shown, type, args->values[TOP_BY], &wishes->bars);
    if (shown < kept) {
        (void)printf("%u more are not shown (-n 0 shows all)\n", (unsigned)(kept - shown));
    }
}

/* False: no memory. */
static bool top_by(struct tally *t, struct otp_profile_set *set, const struct otp_type *type,
                   const struct otp_args *args, struct wishes *wishes)
{
    struct otp_by by;
    struct otp_by_set groups = {.set = set};
    struct otp_pick_list picks = {.items = NULL};

    bool ok = otp_by_init(&by, args->values[TOP_BY]) && otp_by_split(&by, set, &groups) &&
              otp_pick_list_init(&picks, set, type);
    struct group_row *rows = ok ? calloc(by.count, sizeof(rows[0])) : NULL;
    if (rows != NULL) {
        for (uint32_t i = 0; i < by.count; i++) {
            rows[i].name = by.names[i];
        }
        for (size_t i = 0; i < picks.count; i++) {
            count_groups(t, rows, &groups, &picks.items[i]);
        }
        print_groups(t, rows, by.count, type, args, wishes);
    }
    ok = rows != NULL;
    free(rows);
    otp_pick_list_fini(&picks);
    otp_by_set_fini(&groups);
    otp_by_fini(&by);
    return ok;
}

/* False: no memory. */
static bool top_functions(struct tally *t, struct otp_profile_set *set, const struct otp_type *type,
                          const struct otp_args *args, struct wishes *wishes)
{
    struct otp_pick_list picks = {.items = NULL};
    bool ok = otp_pick_list_init(&picks, set, type) && count_all(t, &picks);

    if (ok) {
        print_top(t, type, args, wishes);
    }
    otp_pick_list_fini(&picks);
    return ok;
}

static int top_of_set(struct otp_profile_set *set, const struct otp_args *args,
                      struct wishes *wishes)
{
    struct otp_type_list types;
    struct tally t = {.rows = NULL};
    int status = OTP_EXIT_INPUT;

    otp_names_init(&t.names);
    bool ok = otp_type_list_init(&types, set);
    const struct otp_type *type = !ok ? NULL
                                  : otp_args_has(args, TOP_TYPE)
                                      ? otp_type_find(&types, args->values[TOP_TYPE])
                                      : types.items;
    if (ok && type == NULL) {
        status = otp_type_not_found(args->command, &types, args->values[TOP_TYPE]);
    } else if (ok &&
               (otp_args_has(args, TOP_BY) ? top_by : top_functions)(&t, set, type, args, wishes)) {
        status = OTP_EXIT_OK;
    } else {
        (void)fprintf(stderr, "otelprof top: no memory\n");
    }
    otp_type_list_fini(&types);
    otp_names_fini(&t.names);
    free(t.rows);
    return status;
}

static bool is_by_known(const struct otp_args *args)
{
    struct otp_by by;
    bool ok = !otp_args_has(args, TOP_BY) || otp_by_init(&by, args->values[TOP_BY]);
    if (ok && otp_args_has(args, TOP_BY)) {
        otp_by_fini(&by);
    }
    return ok;
}

static int run_top(const struct otp_args *args)
{
    struct wishes wishes = {.limit = otp_args_has(args, TOP_JSON) ? 0 : DEFAULT_ROWS};
    struct otp_profile_set set;
    struct otp_twice twice;

    if (otp_args_has(args, TOP_NUMBER) &&
        !otp_args_number(args, TOP_NUMBER, 0, UINT32_MAX, &wishes.limit)) {
        return OTP_EXIT_USAGE;
    }
    if (!otp_args_when(args, TOP_BARS, &wishes.bars.when) ||
        !otp_args_when(args, TOP_COLOUR, &wishes.bars.colour)) {
        return OTP_EXIT_USAGE;
    }
    if (!is_by_known(args)) {
        return otp_usage_error(args->command, "--by %s: " OTP_BY_HELP " is expected",
                               args->values[TOP_BY]);
    }
    otp_profile_set_init(&set);
    int status = otp_load_operands(&set, args, OTP_LOAD_FOLLOW);
    status = status == OTP_EXIT_OK ? otp_twice_find(&set, args->command, &twice) : status;
    if (status == OTP_EXIT_OK && otp_args_has(args, TOP_WHERE)) {
        status = otp_where_apply(args->command, &set, args->values[TOP_WHERE]);
    }
    if (status == OTP_EXIT_OK) {
        status = top_of_set(&set, args, &wishes);
    }
    if (status == OTP_EXIT_OK) {
        otp_twice_say(&twice, &set, args->command);
    }
    otp_profile_set_fini(&set);
    return status;
}

static const struct otp_option options[] = {
    [TOP_TYPE] = {"type", 't', "TYPE", "what to count: cpu, samples, alloc_space, … (the first)"},
    [TOP_CUM] = {"cum", 'c', NULL, "sort by the cumulative value"},
    [TOP_NUMBER] = {"number", 'n', "N", "show N functions, 0: all (30; all with --json)"},
    [TOP_JSON] = OTP_JSON_OPTION,
    [TOP_BY] = {"by", 'b', "WHAT", "sum up by this, not by function: " OTP_BY_HELP},
    [TOP_WHERE] = {"where", 'w', "KEY=VALUE", "only samples with that label, trace, span, thread"},
    [TOP_BARS] = {"bars", 0, "WHEN", "bars that fit the line: auto (on a terminal), always, never"},
    [TOP_COLOUR] = {"color", 0, "WHEN", "colours: auto (on a terminal), always, never"},
    {NULL, 0, NULL, NULL},
};

const struct otp_command otp_command_top = {
    .name = "top",
    .operands = "FILE…",
    .summary = "list functions by flat and cumulative value",
    .options = options,
    .details =
        "Several files count together: values add up, but of the in-use types the last flush of\n"
        "each process counts. A frame without a name is called after its module and address. Bars\n"
        "are of the value that is sorted by, the largest is the whole bar. COLUMNS, if set, is "
        "the\n"
        "width of a line; with NO_COLOR there are no colours.\n",
    .run = run_top,
};
