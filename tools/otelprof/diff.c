/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof diff: what changed between two profiles, by function. */
#define _GNU_SOURCE /* qsort_r */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/otelprof/args.h"
#include "tools/otelprof/command.h"
#include "tools/otelprof/jsonout.h"
#include "tools/otelprof/load.h"
#include "tools/otelprof/names.h"
#include "tools/otelprof/pick.h"
#include "tools/otelprof/progress.h"
#include "tools/otelprof/show.h"

#define DEFAULT_ROWS 30

enum { DIFF_TYPE, DIFF_CUM, DIFF_NUMBER, DIFF_JSON };
enum { BASE, NEW, SIDES };

/* A function: what was measured in it, and in it and all it called, before and after. */
struct row {
    uint32_t name;
    uint32_t seen_in; /* number of the last sample that counted for cum */
    int64_t flat[SIDES];
    int64_t cum[SIDES];
};

struct comparison {
    struct otp_names names;
    struct row *rows; /* one per name */
    uint32_t row_count;
    uint32_t sample;
    int64_t total[SIDES];
};

static bool grow_rows(struct comparison *c)
{
    struct row *rows = realloc(c->rows, ((size_t)c->names.count + 1) * sizeof(rows[0]));
    if (rows == NULL) {
        return false;
    }
    c->rows = rows;
    for (uint32_t i = c->row_count; i < c->names.count; i++) {
        rows[i] = (struct row){.name = i};
    }
    c->row_count = c->names.count;
    return true;
}

static void count_sample(struct comparison *c, int side, const struct otp_frame_names *f,
                         const struct otp_profiles *m, const struct otp_sample *s)
{
    const struct otp_slice *stack = otp_profiles_stack(m, s->stack);
    const int32_t *frames = otp_profiles_frames(m, stack);
    int64_t value = otp_profiles_sample_total(m, s);
    c->sample++;
    c->total[side] = otp_add_clamped(c->total[side], value);
    if (stack->count == 0) {
        return;
    }
    struct row *leaf = &c->rows[f->ids[f->first[frames[0]]]];
    leaf->flat[side] = otp_add_clamped(leaf->flat[side], value);
    for (uint32_t i = 0; i < stack->count; i++) {
        for (uint32_t k = f->first[frames[i]]; k < f->first[frames[i] + 1]; k++) {
            struct row *r = &c->rows[f->ids[k]];
            if (r->seen_in != c->sample) {
                r->seen_in = c->sample;
                r->cum[side] = otp_add_clamped(r->cum[side], value);
            }
        }
    }
}

static bool count_picks(struct comparison *c, int side, const struct otp_pick_list *picks)
{
    struct otp_frame_names f = {.first = NULL};
    const struct otp_profiles *named = NULL;
    bool ok = true;
    for (size_t i = 0; i < picks->count && ok; i++) {
        const struct otp_profiles *m = picks->items[i].m;
        const struct otp_profile *p = otp_profiles_profile(m, picks->items[i].profile);
        if (m != named) {
            otp_frame_names_fini(&f);
            named = m;
            ok = otp_frame_names_init(&f, &c->names, m) && grow_rows(c);
        }
        for (uint32_t k = 0; k < p->samples.count && ok; k++) {
            count_sample(c, side, &f, m, otp_profiles_sample(m, p->samples.first + k));
        }
    }
    otp_frame_names_fini(&f);
    return ok;
}

/* ---- order ---- */

static int64_t change(const int64_t values[SIDES])
{
    int64_t d;
    return __builtin_sub_overflow(values[NEW], values[BASE], &d)
               ? (values[NEW] > values[BASE] ? INT64_MAX : INT64_MIN)
               : d;
}

struct order {
    const struct otp_names *names;
    bool by_cum;
};

static int compare_sizes(int64_t a, int64_t b)
{
    return (otp_magnitude(a) < otp_magnitude(b)) - (otp_magnitude(a) > otp_magnitude(b));
}

/* The largest change first, whichever way it went. */
static int compare_rows(const void *left, const void *right, void *arg)
{
    const struct row *a = left;
    const struct row *b = right;
    const struct order *o = arg;
    int flat = compare_sizes(change(a->flat), change(b->flat));
    int cum = compare_sizes(change(a->cum), change(b->cum));
    int diff = o->by_cum ? cum : flat;
    diff = diff != 0 ? diff : o->by_cum ? flat : cum;
    if (diff != 0) {
        return diff;
    }
    return otp_text_compare(o->names->items[a->name].name, o->names->items[b->name].name);
}

static bool is_changed(const struct row *r)
{
    return r->flat[BASE] != r->flat[NEW] || r->cum[BASE] != r->cum[NEW];
}

/* Puts the changed rows first, in order; returns how many there are. */
static uint32_t sort_changes(struct comparison *c, bool by_cum)
{
    struct order order = {.names = &c->names, .by_cum = by_cum};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->row_count; i++) {
        if (is_changed(&c->rows[i])) {
            c->rows[kept++] = c->rows[i];
        }
    }
    if (kept > 0) {
        qsort_r(c->rows, kept, sizeof(c->rows[0]), compare_rows, &order);
    }
    return kept;
}

/* ---- printing ---- */

static const char *signed_value(char *out, int64_t v, struct otp_text unit)
{
    char text[OTP_SHOW_MAX];
    (void)snprintf(out, OTP_SHOW_MAX, "%s%.40s", v > 0 ? "+" : "", otp_show_value(text, v, unit));
    return out;
}

static void print_text(const struct comparison *c, const struct otp_type *type, uint32_t rows,
                       uint32_t changed)
{
    char a[OTP_SHOW_MAX];
    char b[OTP_SHOW_MAX];
    char d[OTP_SHOW_MAX];
    char e[OTP_SHOW_MAX];
    char p[OTP_SHOW_MAX];
    (void)printf("type ");
    otp_show_text(stdout, type->type);
    (void)printf(", unit ");
    otp_show_text(stdout, type->unit);
    (void)printf(", total %s -> %s", otp_show_value(a, c->total[BASE], type->unit),
                 otp_show_value(b, c->total[NEW], type->unit));
    (void)printf(" (%s, %s)\n", signed_value(d, change(c->total), type->unit),
                 otp_show_percent(e, change(c->total), c->total[BASE]));
    (void)printf("%12s %8s %12s %12s %12s  %s\n", "flat", "of base", "base flat", "new flat", "cum",
                 "function");
    for (uint32_t i = 0; i < rows; i++) {
        const struct row *r = &c->rows[i];
        (void)printf("%12s %8s %12s %12s %12s  ", signed_value(d, change(r->flat), type->unit),
                     otp_show_percent(p, change(r->flat), c->total[BASE]),
                     otp_show_value(a, r->flat[BASE], type->unit),
                     otp_show_value(b, r->flat[NEW], type->unit),
                     signed_value(e, change(r->cum), type->unit));
        otp_show_text(stdout, c->names.items[r->name].name);
        (void)putchar('\n');
    }
    if (rows < changed) {
        (void)printf("%u more changes are not shown (-n 0 shows all)\n",
                     (unsigned)(changed - rows));
    }
}

static void print_json(const struct comparison *c, const struct otp_type *type, uint32_t rows)
{
    struct otp_jsonout j;

    otp_jsonout_begin(&j, stdout);
    otp_jsonout_text(&j, "type", type->type);
    otp_jsonout_text(&j, "unit", type->unit);
    otp_jsonout_int(&j, "base_total", c->total[BASE]);
    otp_jsonout_int(&j, "new_total", c->total[NEW]);
    otp_jsonout_list(&j, "functions");
    for (uint32_t i = 0; i < rows; i++) {
        const struct row *r = &c->rows[i];
        const struct otp_name *n = &c->names.items[r->name];
        otp_jsonout_row(&j, NULL);
        otp_jsonout_text(&j, "name", n->name);
        otp_jsonout_text(&j, "module", n->module);
        otp_jsonout_int(&j, "base_flat", r->flat[BASE]);
        otp_jsonout_int(&j, "new_flat", r->flat[NEW]);
        otp_jsonout_int(&j, "base_cum", r->cum[BASE]);
        otp_jsonout_int(&j, "new_cum", r->cum[NEW]);
        otp_jsonout_close(&j);
    }
    otp_jsonout_close(&j);
    otp_jsonout_end(&j);
}

static int print_changes(struct comparison *c, const struct otp_type *type,
                         const struct otp_args *args)
{
    bool is_json = otp_args_has(args, DIFF_JSON);
    uint64_t limit = is_json ? 0 : DEFAULT_ROWS;
    if (otp_args_has(args, DIFF_NUMBER) &&
        !otp_args_number(args, DIFF_NUMBER, 0, UINT32_MAX, &limit)) {
        return OTP_EXIT_USAGE;
    }
    uint32_t changed = sort_changes(c, otp_args_has(args, DIFF_CUM));
    uint32_t rows = limit == 0 || limit > changed ? changed : (uint32_t)limit;
    if (is_json) {
        print_json(c, type, rows);
    } else {
        print_text(c, type, rows, changed);
    }
    return changed > 0 || c->total[BASE] != c->total[NEW] ? OTP_EXIT_FOUND : OTP_EXIT_OK;
}

/* ---- the two inputs ---- */

/* The type that is asked for, or the first of the first input that has one. */
static const struct otp_type *choose_type(const struct otp_type_list types[SIDES],
                                          const struct otp_args *args, int *out_status)
{
    const struct otp_type *type = NULL;
    for (int side = BASE; side < SIDES && type == NULL; side++) {
        type = otp_args_has(args, DIFF_TYPE) ? otp_type_find(&types[side], args->values[DIFF_TYPE])
                                             : types[side].items;
    }
    if (type == NULL) {
        *out_status =
            otp_type_not_found(args->command, &types[BASE],
                               otp_args_has(args, DIFF_TYPE) ? args->values[DIFF_TYPE] : "");
    }
    return type;
}

static bool count_side(struct comparison *c, int side, const struct otp_profile_set *set,
                       const struct otp_type *type)
{
    struct otp_pick_list picks;
    if (!otp_pick_list_init(&picks, set, type)) {
        return false;
    }
    bool ok = count_picks(c, side, &picks);
    otp_pick_list_fini(&picks);
    return ok;
}

static int diff_sets(const struct otp_profile_set sets[SIDES], const struct otp_args *args)
{
    struct otp_type_list types[SIDES];
    struct comparison c = {.rows = NULL};
    int status = OTP_EXIT_INPUT;
    otp_names_init(&c.names);
    memset(types, 0, sizeof(types));
    bool ok = otp_type_list_init(&types[BASE], &sets[BASE]) &&
              otp_type_list_init(&types[NEW], &sets[NEW]);
    const struct otp_type *type = ok ? choose_type(types, args, &status) : NULL;
    if (type != NULL && count_side(&c, BASE, &sets[BASE], type) &&
        count_side(&c, NEW, &sets[NEW], type)) {
        status = print_changes(&c, type, args);
    } else if (type != NULL || !ok) {
        (void)fprintf(stderr, "otelprof diff: no memory\n");
    }
    otp_type_list_fini(&types[BASE]);
    otp_type_list_fini(&types[NEW]);
    otp_names_fini(&c.names);
    free(c.rows);
    return status;
}

static int run_diff(const struct otp_args *args)
{
    struct otp_profile_set sets[SIDES];
    if (args->operand_count != SIDES) {
        return otp_usage_error(args->command, "two files are needed: BASE and NEW");
    }
    otp_profile_set_init(&sets[BASE]);
    otp_profile_set_init(&sets[NEW]);
    bool ok = otp_load_file(&sets[BASE], args->operands[BASE], OTP_LOAD_FOLLOW) &&
              otp_load_file(&sets[NEW], args->operands[NEW], OTP_LOAD_FOLLOW);
    otp_progress_end();
    int status = ok ? diff_sets(sets, args) : OTP_EXIT_INPUT;
    otp_profile_set_fini(&sets[BASE]);
    otp_profile_set_fini(&sets[NEW]);
    return status;
}

static const struct otp_option options[] = {
    [DIFF_TYPE] = {"type", 't', "TYPE", "what to compare: cpu, samples, … (the first of BASE)"},
    [DIFF_CUM] = {"cum", 'c', NULL, "sort by the change of the cumulative value"},
    [DIFF_NUMBER] = {"number", 'n', "N", "show N functions, 0: all (30; all with --json)"},
    [DIFF_JSON] = OTP_JSON_OPTION,
    {NULL, 0, NULL, NULL},
};

const struct otp_command otp_command_diff = {
    .name = "diff",
    .operands = "BASE NEW",
    .summary = "compare two profiles, function by function",
    .options = options,
    .details = "Shows the functions whose values changed, the largest change first. Values are\n"
               "compared as they are: profiles of different lengths differ by that alone. Exit\n"
               "status 1 when something changed.\n",
    .run = run_diff,
};
