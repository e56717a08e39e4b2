/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof convert, merge: files of any format as one file of the format that its name says. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/annot.h"
#include "tools/otelprof/args.h"
#include "tools/otelprof/convert.h"
#include "tools/otelprof/gather.h"
#include "tools/otelprof/load.h"
#include "tools/otelprof/lost.h"
#include "tools/otelprof/pick.h"
#include "tools/otelprof/product.h"
#include "tools/otelprof/twice.h"

/* The type that pprof readers show first: what the period counts, else memory in use, else the
 * first one. */
static struct otp_text usual_type(const struct otp_profile_set *set)
{
    struct otp_text first = otp_text_of(NULL);
    struct otp_text inuse = first;
    for (size_t i = 0; i < set->message_count; i++) {
        const struct otp_profiles *m = set->messages[i];
        for (uint32_t k = 0; k < m->profiles.count; k++) {
            const struct otp_profile *p = otp_profiles_profile(m, k);
            struct otp_text type = otp_type_of(m, p).type;
            struct otp_text period = otp_profiles_string(m, p->period_type.type);
            if (type.len > 0 && type.len == period.len &&
                memcmp(type.data, period.data, type.len) == 0) {
                return type;
            }
            if (type.len == 11 && memcmp(type.data, "inuse_space", 11) == 0) {
                inuse = type;
            }
            first = first.len == 0 ? type : first;
        }
    }
    return inuse.len > 0 ? inuse : first;
}

/* The main program, where all of it is of one resource that names it. */
static struct otp_text main_file(const struct otp_gather *g)
{
    if (g->envelope_count != 1 || g->is_from_pprof) {
        return otp_text_of(NULL);
    }
    const struct otp_envelope_options *e = &g->envelopes[0].options;
    for (size_t i = 0; i < e->resource_attr_count; i++) {
        const struct otp_attr *a = &e->resource_attrs[i];
        if (a->kind == OTP_ATTR_STRING && a->key.len == 23 &&
            memcmp(a->key.data, "process.executable.path", 23) == 0) {
            return a->string;
        }
    }
    return otp_text_of(NULL);
}

/* Containers have one id for all of their profiles; pprof has none for any. */
static void report_ids(const struct otp_gather *g, const struct otp_product *p,
                       const struct otp_args *args, struct otp_jsonout *json)
{
    if (json != NULL) {
        otp_jsonout_uint(json, "new_profile_ids", g->made_ids);
    } else if (g->made_ids > 0) {
        (void)fprintf(stderr, "otelprof %s: %s: new ids for profiles that had none: %" PRIu64 "\n",
                      args->command->name, p->path, g->made_ids);
    }
}

/* What became of it: what is not carried, and the names that were found. */
static void report(const struct otp_gather *g, const struct otp_product *p,
                   const struct otp_args *args, const struct otp_losses *losses)
{
    struct otp_jsonout json;
    struct otp_lost_options lost = {.command = args->command->name,
                                    .path = p->path,
                                    .has_times = otp_args_has(args, CONVERT_LABEL),
                                    .losses = losses,
                                    .gperftools = p->is_gperftools ? &p->losses : NULL,
                                    .kind = p->kind};

    if (otp_args_has(args, CONVERT_JSON)) {
        lost.json = &json;
        otp_jsonout_begin(&json, stdout);
        otp_jsonout_string(&json, "output", p->path);
        otp_jsonout_uint(&json, "messages_read", g->set->message_count);
        otp_jsonout_uint(&json, "profiles_read", g->part_count);
        otp_jsonout_list(&json, "not_carried");
    }
    otp_lost_print(g, &lost);
    if (lost.json != NULL) {
        otp_jsonout_close(&json);
    }
    report_ids(g, p, args, lost.json);
    if (g->symbolizer != NULL) {
        otp_symbolizer_report(g->symbolizer, lost.json);
    }
    if (lost.json != NULL) {
        otp_jsonout_end(&json);
    }
}

/* What another format was read from is of no use any more, unless it is to be attached. */
static void forget_originals(const struct otp_profile_set *set)
{
    for (size_t i = 0; i < set->message_count; i++) {
        const struct otp_profiles *m = set->messages[i];
        if (m->original != NULL) {
            otp_give_back(m->original, m->original + m->original_size);
        }
    }
}

/* What was told is in the message now. */
static void forget_samples(const struct otp_gather *g)
{
    for (size_t i = 0; i < g->part_count; i++) {
        struct otp_profiles *m = g->set->messages[g->parts[i].message];
        otp_profiles_forget_samples(m, otp_profiles_profile(m, g->parts[i].profile));
    }
}

static const char *why_not(const struct otp_product *p, enum otp_status status)
{
    if (!p->is_gperftools || status != OTP_NOT_FOUND) {
        return otp_status_text(status);
    }
    return p->kind == OTP_GPERFTOOLS_CPU
               ? "no profile is of CPU time: cpu in a unit of time, or samples in count"
               : "no profile is of the heap: inuse_objects, inuse_space, alloc_objects, "
                 "alloc_space";
}

static int write_out(struct otp_gather *g, struct otp_product *p, const struct otp_args *args)
{
    const char *label = args->values[CONVERT_LABEL];
    struct otp_product_options options = {
        .default_type = usual_type(g->set),
        .main_file = main_file(g),
        .timestamp_label = otp_text_of(label),
        .mark_symbols = !g->is_from_pprof || g->symbolizer != NULL,
        .refer = otp_args_has(args, CONVERT_REFER),
    };
    struct otp_losses *losses = NULL;
    bool has_losses = p->is_gperftools || otp_product_is_pprof(p);
    if (has_losses && (losses = otp_lost_count(g, p->is_gperftools)) == NULL) {
        (void)fprintf(stderr, "otelprof %s: no memory\n", args->command->name);
        return OTP_EXIT_INPUT;
    }
    if (!otp_args_has(args, CONVERT_ORIGINAL)) {
        forget_originals(g->set);
    }
    enum otp_status status = otp_gather_tell(g, p, &options, otp_args_has(args, CONVERT_ORIGINAL));
    int result = OTP_EXIT_INPUT;
    status = status == OTP_OK ? otp_product_finish(p) : status;
    if (status != OTP_OK) {
        (void)fprintf(stderr, "otelprof %s: %s: %s\n", args->command->name, p->path,
                      why_not(p, status));
    } else {
        forget_samples(g);
        result = otp_product_write(p, args->command);
    }
    if (result == OTP_EXIT_OK) {
        report(g, p, args, losses);
    }
    free(losses);
    return result;
}

/* How the profiles of the input come together. */
struct manner {
    bool adds;
    bool squash;
    struct otp_symbolizer *symbolizer;
};

static int convert_set(const struct otp_profile_set *set, struct otp_product *p,
                       const struct otp_args *args, const struct manner *how)
{
    struct otp_gather g;
    bool one = !otp_product_has_envelopes(p);
    int result = OTP_EXIT_INPUT;
    if (otp_gather_init(&g, set, how->adds || one ? OTP_GATHER_ADD : OTP_GATHER_KEEP,
                        one || how->squash)) {
        g.symbolizer = how->symbolizer;
        result = write_out(&g, p, args);
    } else {
        (void)fprintf(stderr, "otelprof %s: no memory\n", args->command->name);
    }
    otp_gather_fini(&g);
    return result;
}

int otp_convert(const struct otp_args *args, bool adds, bool squash,
                struct otp_symbolizer *symbolizer)
{
    const struct manner how = {.adds = adds, .squash = squash, .symbolizer = symbolizer};
    struct otp_profile_set set;
    struct otp_product p;
    struct otp_twice twice;
    if (!otp_args_has(args, CONVERT_OUT)) {
        return otp_usage_error(args->command, "-o OUT is missing");
    }
    if (!otp_product_init(&p, args->command, args->values[CONVERT_OUT])) {
        return OTP_EXIT_USAGE;
    }
    otp_profile_set_init(&set);
    int status = otp_load_operands(
        &set, args, otp_args_has(args, CONVERT_ORIGINAL) ? OTP_LOAD_ATTACH : OTP_LOAD_FOLLOW);
    status = status == OTP_EXIT_OK ? otp_twice_find(&set, args->command, &twice) : status;
    if (status == OTP_EXIT_OK) {
        status = convert_set(&set, &p, args, &how);
    }
    if (status == OTP_EXIT_OK) {
        otp_twice_say(&twice, &set, args->command);
    }
    otp_product_fini(&p);
    otp_profile_set_fini(&set);
    return status;
}

static int run_convert(const struct otp_args *args)
{
    return otp_convert(args, false, false, NULL);
}

static int run_merge(const struct otp_args *args)
{
    return otp_convert(args, true, otp_args_has(args, CONVERT_OWN), NULL);
}

static const struct otp_option convert_options[] = {CONVERT_OPTIONS, {NULL, 0, NULL, NULL}};
static const struct otp_option merge_options[] = {
    CONVERT_OPTIONS,
    [CONVERT_OWN] = {"squash", 0, NULL, "one resource for all: what all of them agree on"},
    {NULL, 0, NULL, NULL}};

const struct otp_command otp_command_convert = {
    .name = "convert",
    .operands = "-o OUT FILE…",
    .summary = "write profiles in another format: that of OUT's name",
    .options = convert_options,
    .details =
        "Formats: .otlp, .jsonl (OTLP/JSON), .pb (pprof), .otep239, .prof and .heap (gperftools' "
        "CPU\n"
        "and heap profiles, for google-pprof); behind it .gz, .zst or nothing.\n"
        "What the format has no place for is listed on the standard error. pprof is one profile:\n"
        "files and types become its columns, as with merge. So is gperftools' of the types that "
        "it\n"
        "has; names are found by its readers, in the files that were mapped.\n",
    .run = run_convert,
};

const struct otp_command otp_command_merge = {
    .name = "merge",
    .operands = "-o OUT FILE…",
    .summary = "add profiles up",
    .options = merge_options,
    .details =
        "Equal types of equal resources become one profile. Values add up, but of the in-use\n"
        "types the last flush of each process counts. Different resources stay apart in\n"
        "formats that have them, unless --squash is given.\n",
    .run = run_merge,
};
