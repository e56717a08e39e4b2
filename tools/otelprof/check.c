/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otelprof check: does a file keep to the format? Without --strict what every reader relies on,
 * with it also what good writers do. Each violation is one line with its place.
 */
#include "tools/otelprof/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sort.h"
#include "tools/otelprof/args.h"
#include "tools/otelprof/command.h"
#include "tools/otelprof/load.h"
#include "tools/otelprof/progress.h"
#include "tools/otelprof/show.h"

#define DEFAULT_LINES 1000

#define TEXT_MAX 1024

enum { CHECK_STRICT, CHECK_LINES, CHECK_JSON };

const char *const otp_check_tables[OTP_TABLES] = {
    "",           "mapping_table", "location_table",  "function_table",
    "link_table", "string_table",  "attribute_table", "stack_table"};

/* FILE: message[2].place.field: */
static void print_place(const struct otp_check *c, const char *field)
{
    char place[256];

    otp_show_text(stdout, otp_text_of(c->m->blob->name));
    (void)fputs(": ", stdout);
    if (c->m->blob->message_count > 1) {
        (void)printf("message[%u]%s", (unsigned)c->m->number, c->place.depth > 0 ? "." : "");
    }
    otp_place_format(&c->place, place, sizeof(place));
    (void)fputs(place, stdout);
    if (field != NULL) {
        (void)printf("%s%s", c->place.depth > 0 ? "." : "", field);
    }
    (void)fputs(c->place.depth > 0 || field != NULL ? ": " : "", stdout);
}

static void put_violation(const struct otp_check *c, const char *field, const char *text)
{
    char place[256];
    char whole[sizeof(place) + 64];

    otp_place_format(&c->place, place, sizeof(place));
    (void)snprintf(whole, sizeof(whole), "%s%s%s", place,
                   c->place.depth > 0 && field != NULL ? "." : "", field != NULL ? field : "");
    otp_jsonout_row(c->json, NULL);
    otp_jsonout_string(c->json, "place", whole);
    otp_jsonout_string(c->json, "text", text);
    otp_jsonout_close(c->json);
}

void otp_check_report(struct otp_check *c, const char *field, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list args;

    c->violations++;
    if (c->shown == c->show_max) {
        if (!c->quiet_over_limit && c->json == NULL) {
            (void)printf("(more violations are counted but not shown: --lines N shows N)\n");
        }
        c->quiet_over_limit = true;
        return;
    }
    c->shown++;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (c->json != NULL) {
        put_violation(c, field, text);
    } else {
        print_place(c, field);
        (void)printf("%s\n", text);
    }
}

bool otp_check_index(struct otp_check *c, enum otp_table table, int32_t index, const char *field)
{
    uint32_t count = c->m->table[table].count;

    if (index >= 0 && (uint32_t)index < count) {
        return true;
    }
    otp_check_report(c, field, "%d is outside %s of %u entries", (int)index,
                     otp_check_tables[table], (unsigned)count);
    return false;
}

/* The key of an attribute of the table, or NULL: there is none, which the table's own check
 * reports. */
static const struct otp_piece *key_of(const struct otp_profiles *m, int32_t attribute)
{
    int32_t key = otp_profiles_attribute(m, attribute)->key;
    bool is_in = key >= 0 && (uint32_t)key < m->table[OTP_TABLE_STRING].count;
    return is_in ? OTP_ITEM(otp_piece, m->table[OTP_TABLE_STRING], key) : NULL;
}

static bool same_key(const struct otp_profiles *m, int32_t a, int32_t b)
{
    const struct otp_piece *x = key_of(m, a);
    const struct otp_piece *y = key_of(m, b);

    if (x == NULL || y == NULL) {
        return false;
    }
    return x->len == y->len && memcmp(m->bytes + x->off, m->bytes + y->off, x->len) == 0;
}

/* Lists longer than this are compared by their neighbours in a sorted copy. */
#define LIST_SHORT 32U

struct list_sort {
    const struct otp_profiles *m;
};

static int compare_keys(const void *left, const void *right, void *arg)
{
    const struct list_sort *s = arg;
    const int32_t *a = left;
    const int32_t *b = right;
    const struct otp_piece *x = key_of(s->m, *a);
    const struct otp_piece *y = key_of(s->m, *b);

    if (x == NULL || y == NULL) {
        return (x != NULL) - (y != NULL);
    }
    uint32_t len = x->len < y->len ? x->len : y->len;
    int diff = memcmp(s->m->bytes + x->off, s->m->bytes + y->off, len);
    return diff != 0 ? diff : (x->len > y->len) - (x->len < y->len);
}

static void report_key(struct otp_check *c, int32_t attribute)
{
    otp_check_report(c, "attribute_indices", "attribute %d has the key of another one of the list",
                     (int)attribute);
}

static void check_long_list(struct otp_check *c, const int32_t *items, uint32_t count)
{
    struct list_sort sort = {.m = c->m};
    int32_t *copy = malloc((size_t)count * sizeof(copy[0]));

    if (copy == NULL) {
        c->has_no_memory = true;
        return;
    }
    memcpy(copy, items, (size_t)count * sizeof(copy[0]));
    otp_sort(copy, count, sizeof(copy[0]), compare_keys, &sort);
    for (uint32_t i = 1; i < count; i++) {
        if (same_key(c->m, copy[i - 1], copy[i])) {
            report_key(c, copy[i]);
        }
    }
    free(copy);
}

static void check_short_list(struct otp_check *c, const int32_t *items, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (same_key(c->m, items[k], items[i])) {
                report_key(c, items[i]);
                break;
            }
        }
    }
}

void otp_check_list(struct otp_check *c, uint32_t list)
{
    uint32_t count;
    const int32_t *items = otp_profiles_list(c->m, list, &count);
    bool ok = true;

    for (uint32_t i = 0; i < count; i++) {
        ok = otp_check_index(c, OTP_TABLE_ATTRIBUTE, items[i], "attribute_indices") && ok;
    }
    if (ok && count > LIST_SHORT) {
        check_long_list(c, items, count);
    } else if (ok) {
        check_short_list(c, items, count);
    }
}

static void report_notes(struct otp_check *c)
{
    const struct otp_profiles *m = c->m;

    for (uint32_t i = 0; i < m->notes.count; i++) {
        const struct otp_note *n = OTP_ITEM(otp_note, m->notes, i);
        c->place = n->place;
        if (n->kind == OTP_NOTE_UTF8) {
            otp_check_report(c, NULL, "field %u at offset %" PRIu64 " is not valid UTF-8",
                             (unsigned)n->number, m->off + n->off);
        } else if (c->strict) {
            otp_check_report(c, NULL,
                             n->kind == OTP_NOTE_UNKNOWN_FIELD
                                 ? "field %u at offset %" PRIu64 " is not known"
                                 : "field %u at offset %" PRIu64
                                   " has another wire type than known",
                             (unsigned)n->number, m->off + n->off);
        }
    }
    memset(&c->place, 0, sizeof(c->place));
    if (c->strict && m->note_count > m->notes.count) {
        otp_check_report(c, NULL, "%" PRIu64 " more fields are unknown or not valid UTF-8",
                         m->note_count - m->notes.count);
    }
}

static void report_version(struct otp_check *c)
{
    if (c->m->source == OTP_SOURCE_OLD_OTLP) {
        otp_check_report(c, NULL,
                         "written as proto 1.4 to 1.7 defined it; receivers of 1.10 and later "
                         "misread it");
    } else if (c->m->version != OTP_PROTO_1_10) {
        otp_check_report(c, NULL,
                         "written with the field numbers of proto %s; receivers of 1.10 and later "
                         "misread them",
                         c->m->version == OTP_PROTO_1_9 ? "1.9" : "1.8");
    }
}

/* False: no memory. */
static bool check_message(struct otp_check *c)
{
    bool ok = true;

    memset(&c->place, 0, sizeof(c->place));
    report_version(c);
    report_notes(c);
    if (!c->m->has_dictionary) {
        otp_check_report(c, "dictionary", "it is missing");
    }
    if (c->m->resources.count == 0) {
        otp_check_report(c, "resource_profiles", "there are none");
    }
    otp_check_dictionary(c);
    ok = otp_check_equal(c);
    if (ok) {
        otp_check_profiles(c);
        if (otp_check_has_tables(c)) {
            otp_check_references(c);
        }
    }
    for (int t = 0; t < OTP_TABLES; t++) {
        free(c->first[t]);
        c->first[t] = NULL;
    }
    return ok && !c->has_no_memory;
}

static void print_result(const struct otp_check *c)
{
    const struct otp_profiles *m = c->m;

    otp_show_text(stdout, otp_text_of(m->blob->name));
    if (m->blob->message_count > 1) {
        (void)printf(" message %u", (unsigned)m->number);
    }
    if (m->source != OTP_SOURCE_OTLP) {
        (void)printf(" (%s, as OTLP)", m->blob->format);
    }
    (void)printf(": %u resources, %u scopes, %u profiles, %u samples", (unsigned)m->resources.count,
                 (unsigned)m->scopes.count, (unsigned)m->profiles.count,
                 (unsigned)m->samples.count);
    for (int t = OTP_TABLE_MAPPING; t < OTP_TABLES; t++) {
        (void)printf(", %u %s", (unsigned)m->table[t].count, otp_table_names[t]);
    }
    if (c->violations == 0) {
        (void)printf(" looked at: ok\n");
    } else {
        (void)printf(" looked at: %" PRIu64 " violation%s\n", c->violations,
                     c->violations == 1 ? "" : "s");
    }
}

/* The counts behind the list of violations. */
static void put_result(const struct otp_check *c)
{
    const struct otp_profiles *m = c->m;

    otp_jsonout_uint(c->json, "violation_count", c->violations);
    otp_jsonout_string(c->json, "format", m->blob->format);
    otp_jsonout_row(c->json, "looked_at");
    otp_jsonout_uint(c->json, "resources", m->resources.count);
    otp_jsonout_uint(c->json, "scopes", m->scopes.count);
    otp_jsonout_uint(c->json, "profiles", m->profiles.count);
    otp_jsonout_uint(c->json, "samples", m->samples.count);
    for (int t = OTP_TABLE_MAPPING; t < OTP_TABLES; t++) {
        otp_jsonout_uint(c->json, otp_table_names[t], m->table[t].count);
    }
    otp_jsonout_close(c->json);
}

/* Checks a message and says what came of it. False: no memory. */
static bool check_and_print(struct otp_check *c)
{
    c->violations = 0;
    if (c->json == NULL) {
        bool ok = check_message(c);
        if (ok) {
            print_result(c);
        }
        return ok;
    }
    otp_jsonout_object(c->json, NULL);
    otp_jsonout_string(c->json, "file", c->m->blob->name);
    otp_jsonout_uint(c->json, "message", c->m->number);
    otp_jsonout_list(c->json, "violations");
    bool ok = check_message(c);
    otp_jsonout_close(c->json);
    if (ok) {
        put_result(c);
    }
    otp_jsonout_close(c->json);
    return ok;
}

/* Raises *status to what is worse: 3 before 1 before 0. */
static void check_file(struct otp_check *c, const char *path, int *status)
{
    struct otp_profile_set set;
    bool ok = true;

    c->has_no_memory = false;
    otp_profile_set_init(&set);
    if (!otp_load_file(&set, path, OTP_LOAD_CHECK)) {
        *status = OTP_EXIT_INPUT;
    }
    otp_progress_end();
    for (size_t k = 0; k < set.message_count && ok; k++) {
        c->m = set.messages[k];
        ok = check_and_print(c);
        if (c->violations > 0 && *status == OTP_EXIT_OK) {
            *status = OTP_EXIT_FOUND;
        }
    }
    otp_profile_set_fini(&set);
    if (!ok) {
        (void)fprintf(stderr, "otelprof check: %s: no memory\n", path);
        *status = OTP_EXIT_INPUT;
    }
}

static int run_check(const struct otp_args *args)
{
    struct otp_check c = {.strict = otp_args_has(args, CHECK_STRICT), .show_max = DEFAULT_LINES};
    struct otp_jsonout json;
    int status = OTP_EXIT_OK;

    if (otp_args_has(args, CHECK_LINES) &&
        !otp_args_number(args, CHECK_LINES, 0, UINT64_MAX, &c.show_max)) {
        return OTP_EXIT_USAGE;
    }
    if (args->operand_count == 0) {
        return otp_usage_error(args->command, "no file is named");
    }
    if (otp_args_has(args, CHECK_JSON)) {
        c.json = &json;
        otp_jsonout_begin(&json, stdout);
        otp_jsonout_list(&json, "messages");
    }
    for (int i = 0; i < args->operand_count; i++) {
        check_file(&c, args->operands[i], &status);
    }
    if (c.json != NULL) {
        otp_jsonout_close(&json);
        otp_jsonout_end(&json);
    }
    return status;
}

static const struct otp_option options[] = {
    [CHECK_STRICT] = {"strict", 's', NULL, "also ask for what good writers do"},
    [CHECK_LINES] = {"lines", 'n', "N", "show at most N violations (1000)"},
    [CHECK_JSON] = OTP_JSON_OPTION,
    {NULL, 0, NULL, NULL},
};

const struct otp_command otp_command_check = {
    .name = "check",
    .operands = "FILE…",
    .summary = "check the conformance to the format; exit status 1 when it is violated",
    .options = options,
    .details =
        "Other formats are checked as what they say in OTLP, but for the rules on what the tables\n"
        "hold. A file that cannot be read is one line on the standard error, the others are\n"
        "checked, and the exit status is 3.\n"
        "Checked are: a resource, scope and profile at least; indices inside their tables; entry 0 "
        "of\n"
        "each table; no equal strings and mappings; no entry that nothing refers to; keys of an\n"
        "attribute list unique; ranges of mappings, times and line numbers; lengths of ids; one "
        "shape\n"
        "for all samples of a profile; valid UTF-8.\n"
        "With --strict also: no equal entries in any table; no two samples of one identity; "
        "addresses\n"
        "inside their mappings; a build id for each mapping; a name for each function; payload "
        "and\n"
        "format together; profile ids of 16 bytes, not zero; ids of links not zero; one time "
        "range\n"
        "for all profiles of a message; no unknown fields; no negative values of samples, cpu,\n"
        "alloc_… and inuse_…; periods above zero, that of samples as that of cpu.\n",
    .run = run_check,
};
