/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof info: what is in a file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/otelprof/args.h"
#include "tools/otelprof/command.h"
#include "tools/otelprof/info.h"
#include "tools/otelprof/load.h"
#include "tools/otelprof/show.h"

enum { INFO_JSON };

static void print_keyvalues(const struct otp_profiles *m, struct otp_slice attrs)
{
    for (uint32_t i = 0; i < attrs.count; i++) {
        const struct otp_keyvalue *kv = otp_profiles_keyvalue(m, attrs.first + i);
        struct otp_text key = otp_profiles_key(m, kv);
        (void)printf("    ");
        otp_show_text(stdout, key);
        (void)printf("%*s ", key.len < 32 ? (int)(32 - key.len) : 0, "");
        otp_show_attribute(stdout, m, &kv->value);
        (void)putchar('\n');
    }
}

static void print_piece(const struct otp_profiles *m, struct otp_piece p)
{
    otp_show_text(stdout, otp_profiles_text(m, p));
}

/* Losses begin with a name of ours; all other attributes of a profile are shown as they are. */
static void print_profile_attrs(const struct otp_profiles *m, const struct otp_profile *p)
{
    struct otp_info_attribute a;

    for (uint32_t at = 0; otp_info_next(m, p->attrs, &at, &a);) {
        (void)printf("      %s ", a.is_loss ? "lost" : "with");
        otp_show_text(stdout, a.key);
        (void)printf(" ");
        otp_show_attribute(stdout, m, a.value);
        (void)putchar('\n');
    }
}

static void print_types(const struct otp_profiles *m, const struct otp_types *t)
{
    struct otp_text unit = otp_profiles_string(m, t->unit);

    otp_show_text(stdout, otp_profiles_string(m, t->type));
    if (unit.len > 0) {
        (void)putchar('/');
        otp_show_text(stdout, unit);
    }
}

static void print_profile(const struct otp_profiles *m, uint32_t i, uint32_t number)
{
    const struct otp_profile *p = otp_profiles_profile(m, i);
    struct otp_info_sums s = otp_info_sum_up(m, p);
    char text[OTP_SHOW_MAX];

    (void)printf("    [%u] ", (unsigned)number);
    print_types(m, &p->sample_type);
    (void)printf("  %u samples", (unsigned)p->samples.count);
    if (s.timestamps > 0) {
        (void)printf(", %" PRIu64 " timestamps", s.timestamps);
    }
    (void)printf(", total %" PRId64, s.total);
    (void)otp_show_value(text, s.total, otp_profiles_string(m, p->sample_type.unit));
    if (text[strspn(text, "-0123456789")] != '\0') {
        (void)printf(" (%s)", text);
    }
    (void)putchar('\n');
    (void)printf("      every %s of ",
                 otp_show_value(text, p->period, otp_profiles_string(m, p->period_type.unit)));
    print_types(m, &p->period_type);
    (void)printf("; from %s", otp_show_time(text, p->time_ns));
    (void)printf(" for %s\n", otp_show_value(text, (int64_t)p->duration_ns, otp_text_of("ns")));
    print_profile_attrs(m, p);
    if (p->dropped_attributes > 0) {
        (void)printf("      dropped attributes %u\n", (unsigned)p->dropped_attributes);
    }
    if (p->payload.len > 0) {
        (void)printf("      original payload ");
        print_piece(m, p->payload_format);
        (void)printf(", %u bytes\n", (unsigned)p->payload.len);
    }
}

static void print_scope(const struct otp_profiles *m, const struct otp_scope *s)
{
    (void)printf("  scope ");
    print_piece(m, s->name);
    (void)putchar(' ');
    print_piece(m, s->version);
    (void)putchar('\n');
    print_keyvalues(m, s->attrs);
    for (uint32_t i = 0; i < s->profiles.count; i++) {
        print_profile(m, s->profiles.first + i, i);
    }
}

static void print_tables(const struct otp_profiles *m)
{
    (void)printf("  tables");
    for (int t = OTP_TABLE_MAPPING; t < OTP_TABLES; t++) {
        (void)printf("%s %u %s", t > OTP_TABLE_MAPPING ? "," : "", (unsigned)m->table[t].count,
                     otp_table_names[t]);
    }
    (void)putchar('\n');
}

/* What samples know besides their stack. False: no memory. */
static bool print_known(const struct otp_profiles *m)
{
    struct otp_info_known k;

    if (!otp_info_known_init(&k, m)) {
        otp_info_known_fini(&k);
        return false;
    }
    if (k.linked > 0) {
        (void)printf("  links of %" PRIu64 " samples: %zu spans, %zu traces\n", k.linked, k.spans,
                     k.traces);
    }
    for (size_t i = 0; i < k.label_count; i++) {
        (void)fputs(i == 0 ? "  labels of samples: " : ", ", stdout);
        otp_show_text(stdout, k.labels[i].key);
        (void)printf(" (%zu)", k.labels[i].values);
    }
    (void)fputs(k.label_count > 0 ? "\n" : "", stdout);
    otp_info_known_fini(&k);
    return true;
}

static bool print_message(const struct otp_profiles *m)
{
    for (uint32_t i = 0; i < m->resources.count; i++) {
        const struct otp_profiles_resource *r = otp_profiles_resource(m, i);
        (void)printf("  resource\n");
        print_keyvalues(m, r->attrs);
        for (uint32_t k = 0; k < r->scopes.count; k++) {
            print_scope(m, otp_profiles_scope(m, r->scopes.first + k));
        }
    }
    print_tables(m);
    return print_known(m);
}

/* The line that heads a file, and each message of it when there are several. */
static void print_head(const struct otp_profiles *m)
{
    const struct otp_blob *b = m->blob;

    if (m->number == 0) {
        otp_show_text(stdout, otp_text_of(b->name));
        (void)printf(": %s", b->format);
        if (m->source == OTP_SOURCE_OTLP) {
            (void)printf(", proto %s", otp_info_version(m->version));
        }
        if (b->packing != NULL) {
            (void)printf(", %s, %zu bytes (unpacked %zu)\n", b->packing, b->file_size, b->size);
        } else {
            (void)printf(", %zu bytes\n", b->file_size);
        }
    }
    if (b->message_count > 1) {
        (void)printf("  message %u of %u, %u bytes", (unsigned)m->number + 1,
                     (unsigned)b->message_count, (unsigned)m->size);
        if (m->was_packed) {
            (void)printf(", packed by itself\n");
        } else {
            (void)printf(" at offset %" PRIu64 "\n", m->off);
        }
    }
}

static bool print_messages(const struct otp_profile_set *set)
{
    bool ok = true;
    for (size_t i = 0; i < set->message_count && ok; i++) {
        print_head(set->messages[i]);
        ok = print_message(set->messages[i]);
    }
    return ok;
}

static int run_info(const struct otp_args *args)
{
    struct otp_profile_set set;

    otp_profile_set_init(&set);
    int status = otp_load_operands(&set, args, OTP_LOAD_LOOK);
    if (status == OTP_EXIT_USAGE) {
        return status;
    }
    if (!(otp_args_has(args, INFO_JSON) ? otp_info_json(&set) : print_messages(&set))) {
        (void)fprintf(stderr, "otelprof info: no memory\n");
        status = OTP_EXIT_INPUT;
    }
    otp_profile_set_fini(&set);
    return status;
}

static const struct otp_option options[] = {
    [INFO_JSON] = OTP_JSON_OPTION,
    {NULL, 0, NULL, NULL},
};

const struct otp_command otp_command_info = {
    .name = "info",
    .operands = "FILE…",
    .summary = "show what is in a profile: resource, types, totals, table sizes, losses",
    .options = options,
    .details = "A file that cannot be read is one line on the standard error, the others are\n"
               "shown, and the exit status is 3.\n",
    .run = run_info,
};
