/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof info: what is in a file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/otelprof/command.h"
#include "tools/otelprof/load.h"
#include "tools/otelprof/show.h"

static const char lost_prefix[] = "otelprof.dropped.";

static const char *version_text(enum otp_wire_version v)
{
    return v == OTP_PROTO_1_10 ? "1.10" : v == OTP_PROTO_1_9 ? "1.9 (older)" : "1.8 (older)";
}

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

/* The entry of the table that an attribute index names, or NULL: it names none. */
static const struct otp_attribute *attribute_at(const struct otp_profiles *m, int32_t i)
{
    bool is_in = i >= 0 && (uint32_t)i < m->table[OTP_TABLE_ATTRIBUTE].count;
    return is_in ? otp_profiles_attribute(m, i) : NULL;
}

/* Losses begin with a name of ours; all other attributes of a profile are shown as they are. */
static void print_profile_attrs(const struct otp_profiles *m, const struct otp_profile *p)
{
    uint32_t count;
    const int32_t *list = otp_profiles_list(m, p->attrs, &count);

    for (uint32_t i = 0; i < count; i++) {
        const struct otp_attribute *a = attribute_at(m, list[i]);
        if (a == NULL) {
            continue;
        }
        struct otp_text key = otp_profiles_string(m, a->key);
        size_t skip = sizeof(lost_prefix) - 1;
        bool is_loss = key.len > skip && memcmp(key.data, lost_prefix, skip) == 0;
        (void)printf("      %s ", is_loss ? "lost" : "with");
        otp_show_text(stdout, is_loss ? otp_text_make(key.data + skip, key.len - skip) : key);
        (void)printf(" ");
        otp_show_attribute(stdout, m, &a->value);
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

/* What the samples add up to, and how they are written. */
struct sums {
    int64_t total;
    uint64_t values;
    uint64_t timestamps;
};

static struct sums sum_up(const struct otp_profiles *m, const struct otp_profile *p)
{
    struct sums s = {.total = 0};

    for (uint32_t i = 0; i < p->samples.count; i++) {
        const struct otp_sample *sample = otp_profiles_sample(m, p->samples.first + i);
        s.total = otp_add_clamped(s.total, otp_profiles_sample_total(m, sample));
        if ((sample->data & OTP_SAMPLE_LONG) == 0) {
            s.values++;
            continue;
        }
        struct otp_sample_data d;
        otp_profiles_sample_data(m, sample, &d);
        s.values += d.value_count;
        s.timestamps += d.timestamp_count;
    }
    return s;
}

static void print_profile(const struct otp_profiles *m, uint32_t i, uint32_t number)
{
    const struct otp_profile *p = otp_profiles_profile(m, i);
    struct sums s = sum_up(m, p);
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
    static const char *const names[OTP_TABLES] = {"",      "mappings", "locations",  "functions",
                                                  "links", "strings",  "attributes", "stacks"};

    (void)printf("  tables");
    for (int t = OTP_TABLE_MAPPING; t < OTP_TABLES; t++) {
        (void)printf("%s %u %s", t > OTP_TABLE_MAPPING ? "," : "", (unsigned)m->table[t].count,
                     names[t]);
    }
    (void)putchar('\n');
}

/* ---- what samples know besides their stack ---- */

static int compare_text(const void *left, const void *right)
{
    const struct otp_text *a = left;
    const struct otp_text *b = right;
    int diff = a->len == 0 || b->len == 0
                   ? 0
                   : memcmp(a->data, b->data, a->len < b->len ? a->len : b->len);
    return diff != 0 ? diff : (a->len > b->len) - (a->len < b->len);
}

/* How many of the texts are different; sorts them. */
static size_t count_different(struct otp_text *texts, size_t count)
{
    size_t different = 0;

    qsort(texts, count, sizeof(texts[0]), compare_text);
    for (size_t i = 0; i < count; i++) {
        different += i == 0 || compare_text(&texts[i - 1], &texts[i]) != 0;
    }
    return different;
}

/* Links that samples have: how many samples, different spans and traces. */
static void print_links(const struct otp_profiles *m, struct otp_text *texts, uint8_t *used)
{
    uint32_t links = m->table[OTP_TABLE_LINK].count;
    uint64_t samples = 0;
    size_t count = 0;

    memset(used, 0, links);
    for (uint32_t i = 0; i < m->samples.count; i++) {
        int32_t link = otp_profiles_sample(m, i)->link;
        if (link > 0 && (uint32_t)link < links) {
            used[link] = 1;
            samples++;
        }
    }
    if (samples == 0) {
        return;
    }
    for (uint32_t i = 0; i < links; i++) {
        if (used[i] != 0) {
            texts[count++] = otp_profiles_text(m, otp_profiles_link(m, (int32_t)i)->span_id);
        }
    }
    size_t spans = count_different(texts, count);
    count = 0;
    for (uint32_t i = 0; i < links; i++) {
        if (used[i] != 0) {
            texts[count++] = otp_profiles_text(m, otp_profiles_link(m, (int32_t)i)->trace_id);
        }
    }
    (void)printf("  links of %" PRIu64 " samples: %zu spans, %zu traces\n", samples, spans,
                 count_different(texts, count));
}

static void mark_attributes(const struct otp_profiles *m, uint8_t *used)
{
    uint32_t known = m->table[OTP_TABLE_ATTRIBUTE].count;

    memset(used, 0, known);
    for (uint32_t i = 0; i < m->samples.count; i++) {
        uint32_t count;
        const int32_t *list = otp_profiles_list(m, otp_profiles_sample(m, i)->attrs, &count);
        for (uint32_t k = 0; k < count; k++) {
            if (list[k] > 0 && (uint32_t)list[k] < known) {
                used[list[k]] = 1;
            }
        }
    }
}

/* Keys of the attributes that samples have, and how many values of each. */
static void print_labels(const struct otp_profiles *m, struct otp_text *keys, uint8_t *used)
{
    size_t count = 0;

    mark_attributes(m, used);
    for (uint32_t i = 0; i < m->table[OTP_TABLE_ATTRIBUTE].count; i++) {
        if (used[i] != 0) {
            keys[count++] = otp_profiles_string(m, otp_profiles_attribute(m, (int32_t)i)->key);
        }
    }
    if (count == 0) {
        return;
    }
    qsort(keys, count, sizeof(keys[0]), compare_text);
    (void)printf("  labels of samples:");
    for (size_t i = 0, same = 0; i < count; i++) {
        same++;
        if (i + 1 == count || compare_text(&keys[i], &keys[i + 1]) != 0) {
            (void)printf("%s ", i + 1 == same ? "" : ",");
            otp_show_text(stdout, keys[i]);
            (void)printf(" (%zu)", same);
            same = 0;
        }
    }
    (void)putchar('\n');
}

static void print_knowledge(const struct otp_profiles *m)
{
    size_t links = m->table[OTP_TABLE_LINK].count;
    size_t attributes = m->table[OTP_TABLE_ATTRIBUTE].count;
    size_t room = (links > attributes ? links : attributes) + 1;
    struct otp_text *texts = malloc(room * sizeof(texts[0]));
    uint8_t *used = malloc(room);

    if (texts == NULL || used == NULL) {
        (void)fprintf(stderr, "otelprof info: no memory\n");
    } else {
        print_links(m, texts, used);
        print_labels(m, texts, used);
    }
    free(texts);
    free(used);
}

static void print_message(const struct otp_profiles *m)
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
    print_knowledge(m);
}

/* The line that heads a file, and each message of it when there are several. */
static void print_head(const struct otp_profiles *m)
{
    const struct otp_blob *b = m->blob;

    if (m->number == 0) {
        otp_show_text(stdout, otp_text_of(b->name));
        (void)printf(": %s", b->format);
        if (m->source == OTP_SOURCE_OTLP) {
            (void)printf(", proto %s", version_text(m->version));
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

static int run_info(const struct otp_args *args)
{
    struct otp_profile_set set;

    otp_profile_set_init(&set);
    int status = otp_load_operands(&set, args, OTP_LOAD_LOOK);
    for (size_t i = 0; i < set.message_count; i++) {
        print_head(set.messages[i]);
        print_message(set.messages[i]);
    }
    otp_profile_set_fini(&set);
    return status;
}

const struct otp_command otp_command_info = {
    .name = "info",
    .operands = "FILE…",
    .summary = "show what is in a profile: resource, types, totals, table sizes, losses",
    .details = "A file that cannot be read is one line on the standard error, the others are\n"
               "shown, and the exit status is 3.\n",
    .run = run_info,
};
