/* SPDX-License-Identifier: Apache-2.0 */
/* Reading pprof: the same content as was written, every field, and refusals of what is broken. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/pprof.h"
#include "core/encode/pprof.h"
#include "tests/rows.h"
#include "tests/unit/decode_help.h"
#include "tests/unit/encode_random.h"
#include "tests/unit/encode_view.h"
#include "tests/unit/run.h"

#define BUDGET ((uint64_t)64 << 20)

static enum otp_status translate(const void *data, size_t len, struct otp_translation *t)
{
    uint8_t *copy = malloc(len + 1); /* exact, so that a read past the end is seen */
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, data, len);
    memset(t, 0, sizeof(*t));
    t->budget_bytes = BUDGET;
    otp_emit_init(&t->out, (size_t)64 << 20);
    enum otp_status status = otp_pprof_decode(copy, len, t);
    if (status != OTP_OK) {
        ck_assert_ptr_nonnull(t->fault.reason);
        ck_assert_uint_le((size_t)(t->fault.at - copy), len);
    }
    size_t samples;
    ck_assert(rows_both_ways(copy, len, BUDGET, &samples));
    free(copy);
    return status;
}

/* How many attributes of that key there are. */
static size_t count_key(const ENC_PB(ProfilesData) * data, const char *key)
{
    const ENC_PB(ProfilesDictionary) *d = data->dictionary;
    size_t count = 0;
    for (size_t i = 1; i < d->n_attribute_table; i++) {
        count += strcmp(d->string_table[d->attribute_table[i]->key_strindex], key) == 0;
    }
    return count;
}

/* A random visit written as pprof and read again says what it said; its links are links again. */
START_TEST(test_round_trip)
{
    size_t links = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        const struct enc_random random = {.seed = seed, .samples = 100};
        const struct otp_pprof_options o = {.keep_empty = seed % 2 == 0};
        struct otp_pprof_builder *b;
        struct otp_translation t;
        struct otp_heap heap;
        struct otp_buf out;
        otp_heap_init(&heap, (size_t)64 << 20);
        otp_buf_init(&out, &heap, (size_t)64 << 20);
        ck_assert_int_eq(otp_pprof_builder_create(&heap, &o, &b), OTP_OK);
        ck_assert_int_eq(enc_random_tell(&random, otp_pprof_builder_visitor(b), NULL), OTP_OK);
        if (otp_pprof_builder_finish(b, &out) == OTP_OK) {
            struct enc_view was;
            struct enc_view is;
            PPROF_PB(Profile) *p = enc_pprof_decode(out.data, out.len);
            enc_view_pprof(&was, p, NULL);
            ck_assert_int_eq(translate(out.data, out.len, &t), OTP_OK);
            ENC_PB(ProfilesData) *data = enc_decode(t.out.data, t.out.len);
            enc_view_otlp(&is, data, false);
            enc_view_compare(&is, &was);
            ck_assert_uint_eq(count_key(data, "trace_id") + count_key(data, "span_id"), 0);
            links += data->dictionary->n_link_table - 1;
            enc_view_fini(&was);
            enc_view_fini(&is);
            enc_free(data);
            enc_pprof_free(p);
            otp_emit_fini(&t.out);
        }
        otp_pprof_builder_destroy(b);
        otp_buf_fini(&out);
        otp_heap_reset(&heap);
    }
    ck_assert_uint_gt(links, 60);
}
END_TEST

/* ---- one profile with everything, by hand ---- */

static const char *const strings[] = {"",     "cpu",   "ns",  "samples", "count", "f",
                                      "_Zf",  "f.c",   "key", "value",   "kB",    "app",
                                      "abcd", "first", "url", "drop",    "keep",  "second"};

static void add_entry(struct dec_bytes *b, uint32_t field, const uint64_t *numbers, size_t count)
{
    struct dec_bytes m = {.data = NULL};
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] != 0) {
            dec_number(&m, i + 1, numbers[i]);
        }
    }
    dec_message(b, field, &m);
}

static void add_label(struct dec_bytes *sample, uint64_t str, uint64_t num, uint64_t unit)
{
    const uint64_t label[] = {8, str, num, unit};
    add_entry(sample, 3, label, 4);
}

static void add_sample(struct dec_bytes *b, bool packed)
{
    static const uint64_t locations[] = {70, 90};
    static const uint64_t values[] = {5, 500};
    struct dec_bytes s = {.data = NULL};
    if (packed) {
        dec_packed(&s, 1, locations, 2);
        dec_packed(&s, 2, values, 2);
    } else {
        dec_number(&s, 1, 70);
        dec_number(&s, 1, 90);
        dec_number(&s, 2, 5);
        dec_number(&s, 2, 500);
    }
    add_label(&s, 9, 0, 0);
    add_label(&s, 0, 7, 10);
    dec_message(b, 2, &s);
}

/* Ids with gaps and out of order; the string table last. */
static struct dec_bytes full_profile(void)
{
    static const uint64_t types[2][2] = {{3, 4}, {1, 2}};
    static const uint64_t mapping[] = {3, 0x1000, 0x2000, 0x10, 11, 12, 1, 0, 1, 0};
    static const uint64_t function[] = {44, 5, 6, 7, 9};
    static const uint64_t numbers[][2] = {{7, 15},  {8, 16}, {9, 1111}, {10, 222},
                                          {12, 10}, {14, 3}, {15, 14}};
    static const uint64_t period[] = {1, 2};
    struct dec_bytes b = {.data = NULL};
    struct dec_bytes location = {.data = NULL};
    struct dec_bytes line = {.data = NULL};
    add_entry(&b, 1, types[0], 2);
    add_entry(&b, 1, types[1], 2);
    add_sample(&b, true);
    add_sample(&b, false);
    add_entry(&b, 3, mapping, 10);
    dec_number(&location, 1, 90);
    dec_number(&location, 2, 3);
    dec_number(&location, 3, 0x1234);
    dec_number(&location, 5, 1);
    dec_message(&b, 4, &location);
    dec_number(&location, 1, 70);
    dec_number(&line, 1, 44);
    dec_number(&line, 2, 12);
    dec_number(&line, 3, 4);
    dec_message(&location, 4, &line);
    dec_message(&b, 4, &location);
    add_entry(&b, 5, function, 5);
    for (size_t i = 0; i < OTP_ARRAY_LEN(numbers); i++) {
        dec_number(&b, (uint32_t)numbers[i][0], numbers[i][1]);
    }
    add_entry(&b, 11, period, 2);
    dec_number(&b, 13, 13);
    dec_packed(&b, 13, (const uint64_t[]){17}, 1);
    for (size_t i = 0; i < OTP_ARRAY_LEN(strings); i++) {
        dec_text(&b, 6, strings[i]);
    }
    return b;
}

static const char *str(const ENC_PB(ProfilesData) * data, int32_t i)
{
    ck_assert_uint_lt((size_t)i, data->dictionary->n_string_table);
    return data->dictionary->string_table[i];
}

/* The value of the attribute of that key; fails when it is not there. */
static const ENC_COMMON(AnyValue) *
    attr_of(const ENC_PB(ProfilesData) * data, const int32_t *list, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++) {
        const ENC_PB(KeyValueAndUnit) *a = data->dictionary->attribute_table[list[i]];
        if (strcmp(str(data, a->key_strindex), key) == 0) {
            return a->value;
        }
    }
    ck_abort_msg("no attribute %s", key);
}

static void check_full_dictionary(const ENC_PB(ProfilesData) * data)
{
    const ENC_PB(Mapping) *m = data->dictionary->mapping_table[1];
    ck_assert_uint_eq(m->memory_start, 0x1000);
    ck_assert_uint_eq(m->memory_limit, 0x2000);
    ck_assert_uint_eq(m->file_offset, 0x10);
    ck_assert_str_eq(str(data, m->filename_strindex), "app");
    ck_assert_uint_eq(m->n_attribute_indices, 3);
    ck_assert_str_eq(
        attr_of(data, m->attribute_indices, 3, "process.executable.build_id.gnu")->string_value,
        "abcd");
    ck_assert(attr_of(data, m->attribute_indices, 3, "pprof.mapping.has_functions")->bool_value);
    ck_assert(attr_of(data, m->attribute_indices, 3, "pprof.mapping.has_line_numbers")->bool_value);
    const ENC_PB(Location) *l = data->dictionary->location_table[1];
    ck_assert_int_eq(l->mapping_index, 1);
    ck_assert_uint_eq(l->address, 0x1234);
    ck_assert(
        attr_of(data, l->attribute_indices, l->n_attribute_indices, "pprof.location.is_folded")
            ->bool_value);
    l = data->dictionary->location_table[2];
    ck_assert_int_eq(l->lines[0]->line, 12);
    ck_assert_int_eq(l->lines[0]->column, 4);
    const ENC_PB(Function) *f = data->dictionary->function_table[l->lines[0]->function_index];
    ck_assert_str_eq(str(data, f->name_strindex), "f");
    ck_assert_str_eq(str(data, f->system_name_strindex), "_Zf");
    ck_assert_str_eq(str(data, f->filename_strindex), "f.c");
    ck_assert_int_eq(f->start_line, 9);
}

static void check_full_profile(const ENC_PB(ProfilesData) * data, const ENC_PB(Profile) * p)
{
    size_t n = p->n_attribute_indices;
    ck_assert_uint_eq(p->time_unix_nano, 1111);
    ck_assert_uint_eq(p->duration_nano, 222);
    ck_assert_int_eq(p->period, 10);
    ck_assert_str_eq(str(data, p->period_type->type_strindex), "cpu");
    ck_assert_uint_eq(n, 4);
    const ENC_COMMON(AnyValue) *c = attr_of(data, p->attribute_indices, n, "pprof.profile.comment");
    ck_assert_uint_eq(c->array_value->n_values, 2);
    ck_assert_str_eq(c->array_value->values[0]->string_value, "first");
    ck_assert_str_eq(c->array_value->values[1]->string_value, "second");
    ck_assert_str_eq(attr_of(data, p->attribute_indices, n, "pprof.profile.doc_url")->string_value,
                     "url");
    ck_assert_str_eq(
        attr_of(data, p->attribute_indices, n, "pprof.profile.drop_frames")->string_value, "drop");
    ck_assert_str_eq(
        attr_of(data, p->attribute_indices, n, "pprof.profile.keep_frames")->string_value, "keep");
    ck_assert_uint_eq(p->n_samples, 2);
    for (size_t i = 0; i < 2; i++) {
        const ENC_PB(Sample) *s = p->samples[i];
        ck_assert_uint_eq(s->n_attribute_indices, 1);
        const ENC_PB(KeyValueAndUnit) *a =
            data->dictionary->attribute_table[s->attribute_indices[0]];
        ck_assert_str_eq(str(data, a->key_strindex), "key");
        ck_assert_str_eq(str(data, a->unit_strindex), "kB");
        ck_assert_str_eq(a->value->array_value->values[0]->string_value, "value");
        ck_assert_int_eq(a->value->array_value->values[1]->int_value, 7);
        const ENC_PB(Stack) *stack = data->dictionary->stack_table[s->stack_index];
        ck_assert_uint_eq(stack->n_location_indices, 2);
        ck_assert_int_eq(stack->location_indices[0], 2);
        ck_assert_int_eq(stack->location_indices[1], 1);
    }
}

START_TEST(test_all_fields)
{
    struct dec_bytes b = full_profile();
    struct otp_translation t;
    ck_assert_int_eq(translate(b.data, b.len, &t), OTP_OK);
    ENC_PB(ProfilesData) *data = enc_decode(t.out.data, t.out.len);
    const ENC_PB(ScopeProfiles) *scope = data->resource_profiles[0]->scope_profiles[0];
    check_full_dictionary(data);
    ck_assert_uint_eq(scope->n_profiles, 2);
    /* "samples" is the default: it stays first; what it was in pprof is in the order. */
    ck_assert_str_eq(str(data, scope->profiles[0]->sample_type->type_strindex), "samples");
    ck_assert_int_eq(scope->profiles[0]->samples[0]->values[0], 5);
    ck_assert_int_eq(scope->profiles[1]->samples[1]->values[0], 500);
    check_full_profile(data, scope->profiles[0]);
    check_full_profile(data, scope->profiles[1]);
    ck_assert_uint_eq(scope->scope->n_attributes, 2);
    ck_assert_str_eq(scope->scope->attributes[1]->value->string_value, "samples");
    ck_assert_uint_eq(t.lost.label_units, 0);
    ck_assert_uint_eq(t.lost.zero_samples, 0);
    enc_free(data);
    otp_emit_fini(&t.out);
    dec_free(&b);
}
END_TEST

/* Each prefix of a good profile, and each one with a byte changed: refused or read, never worse. */
START_TEST(test_broken_bytes)
{
    struct dec_bytes b = full_profile();
    struct otp_translation t;
    unsigned refused = 0;
    for (size_t len = 0; len < b.len; len++) {
        refused += translate(b.data, len, &t) != OTP_OK;
        otp_emit_fini(&t.out);
    }
    ck_assert_uint_gt(refused, b.len / 2);
    for (size_t i = 0; i < b.len; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            b.data[i] ^= (uint8_t)(1U << bit);
            if (translate(b.data, b.len, &t) == OTP_OK) {
                ENC_PB(ProfilesData) *data = enc_decode(t.out.data, t.out.len);
                enc_free(data);
            }
            otp_emit_fini(&t.out);
            b.data[i] ^= (uint8_t)(1U << bit);
        }
    }
    dec_free(&b);
}
END_TEST

static const struct {
    const char *bytes;
    size_t len;
    const char *says;
} bad[] = {
    {"\x0a\x02\x08\x05\x32\x00", 6, "string table"},
    {"\x0a\x02\x08\x00\x32\x01x", 7, "not empty"},
    {"\x32\x00", 2, "no sample type"},
    {"\x0a\x00\x12\x02\x08\x01\x32\x00", 8, "location that is not there"},
    {"\x0a\x00\x12\x00\x32\x00", 6, "one value for each"},
    {"\x0a\x00\x22\x02\x10\x03\x32\x00", 8, "no id"},
    {"\x0a\x00\x22\x02\x08\x02\x22\x02\x08\x02\x32\x00", 12, "one id"},
    {"\x0a\x00\x22\x04\x08\x01\x10\x09\x32\x00", 10, "mapping that is not there"},
    {"\x0a\x00\x22\x06\x08\x01\x22\x02\x08\x07\x32\x00", 12, "function that is not there"},
    {"\x0a\x00\x38\x02\x32\x00", 6, "text of the profile"},
    {"\x0a\x05\x32\x00", 4, "longer than the message"},
};

START_TEST(test_refusals)
{
    struct otp_translation t;
    ck_assert_int_eq(translate(bad[_i].bytes, bad[_i].len, &t), OTP_MALFORMED);
    ck_assert_msg(strstr(t.fault.reason, bad[_i].says) != NULL, "%s", t.fault.reason);
    otp_emit_fini(&t.out);
}
END_TEST

/* ---- labels of spans ---- */

#define TRACE "0102030405060708090a0b0c0d0e0fff"
#define SPAN "a1b2c3d4e5f60718"
#define ZEROS "00000000000000000000000000000000"

/* Labels of one sample: texts by turns key and value. What is no link stays as it is. */
static const struct {
    const char *labels[9];
    bool is_link;
    size_t attributes;
} spans[] = {
    {{"trace_id", TRACE, "span_id", SPAN, NULL}, true, 0},
    {{"span_id", SPAN, "trace_id", TRACE, NULL}, true, 0},
    {{"a", "b", "span_id", SPAN, "c", "d", "trace_id", TRACE, NULL}, true, 2},
    {{"trace_id", ZEROS, "span_id", SPAN, NULL}, false, 2},
    {{"trace_id", TRACE, "span_id", "0000000000000000", NULL}, false, 2},
    {{"trace_id", "0102030405060708090A0B0C0D0E0FFF", "span_id", SPAN, NULL}, false, 2},
    {{"trace_id", TRACE, "span_id", "a1b2c3d4e5f6071g", NULL}, false, 2},
    {{"trace_id", TRACE, "span_id", "a1b2c3d4e5f6071", NULL}, false, 2},
    {{"trace_id", TRACE "00", "span_id", SPAN, NULL}, false, 2},
    {{"trace_id", TRACE, NULL}, false, 1},
    {{"span_id", SPAN, NULL}, false, 1},
    {{"trace_id", TRACE, "span_id", SPAN, "span_id", SPAN, NULL}, false, 2},
    {{"trace_id", TRACE, "span_id", SPAN, "trace_id", "", NULL}, false, 2},
    {{"trace_id", "", "span_id", "", NULL}, false, 2},
    {{"trace_id", SPAN, "span_id", TRACE, NULL}, false, 2},
    {{"traceid", TRACE, "span_ids", SPAN, NULL}, false, 2},
};

/* The string of that text: equal ones are one. */
static uint64_t string_at(const char *const *labels, uint64_t k)
{
    uint64_t first = 0;
    while (strcmp(labels[first], labels[k]) != 0) {
        first++;
    }
    return first + 1;
}

/* A profile of `samples` samples, each with these labels; `number` is put into the first of them.
 */
static struct dec_bytes labelled(const char *const *labels, unsigned samples, uint64_t number)
{
    struct dec_bytes b = {.data = NULL};
    struct dec_bytes none = {.data = NULL};
    dec_message(&b, 1, &none);
    for (unsigned i = 0; i < samples; i++) {
        struct dec_bytes sample = {.data = NULL};
        dec_number(&sample, 2, i + 1);
        for (uint64_t k = 0; labels[k] != NULL; k += 2) {
            struct dec_bytes label = {.data = NULL};
            dec_number(&label, 1, string_at(labels, k));
            if (k == 0 && number != 0) {
                dec_number(&label, 3, number);
            } else {
                dec_number(&label, 2, string_at(labels, k + 1));
            }
            dec_message(&sample, 3, &label);
        }
        dec_message(&b, 2, &sample);
    }
    dec_text(&b, 6, "");
    for (size_t k = 0; labels[k] != NULL; k++) {
        dec_text(&b, 6, labels[k]);
    }
    return b;
}

START_TEST(test_links)
{
    struct dec_bytes b = labelled(spans[_i].labels, 2, 0);
    struct otp_translation t;
    ck_assert_int_eq(translate(b.data, b.len, &t), OTP_OK);
    ENC_PB(ProfilesData) *data = enc_decode(t.out.data, t.out.len);
    const ENC_PB(ProfilesDictionary) *d = data->dictionary;
    const ENC_PB(Profile) *p = data->resource_profiles[0]->scope_profiles[0]->profiles[0];
    ck_assert_uint_eq(d->n_link_table, spans[_i].is_link ? 2 : 1);
    ck_assert_uint_eq(p->n_samples, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(p->samples[i]->link_index, spans[_i].is_link);
        ck_assert_uint_eq(p->samples[i]->n_attribute_indices, spans[_i].attributes);
    }
    if (spans[_i].is_link) {
        static const uint8_t trace[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xff};
        static const uint8_t span[] = {0xa1, 0xb2, 0xc3, 0xd4, 0xe5, 0xf6, 0x07, 0x18};
        ck_assert_uint_eq(d->link_table[1]->trace_id.len, sizeof(trace));
        ck_assert_mem_eq(d->link_table[1]->trace_id.data, trace, sizeof(trace));
        ck_assert_uint_eq(d->link_table[1]->span_id.len, sizeof(span));
        ck_assert_mem_eq(d->link_table[1]->span_id.data, span, sizeof(span));
    }
    enc_free(data);
    otp_emit_fini(&t.out);
    dec_free(&b);
}
END_TEST

/* A number is no id. */
START_TEST(test_number_is_no_link)
{
    struct dec_bytes b = labelled(spans[0].labels, 1, 7);
    struct otp_translation t;
    ck_assert_int_eq(translate(b.data, b.len, &t), OTP_OK);
    ENC_PB(ProfilesData) *data = enc_decode(t.out.data, t.out.len);
    ck_assert_uint_eq(data->dictionary->n_link_table, 1);
    ck_assert_uint_eq(count_key(data, "trace_id") + count_key(data, "span_id"), 2);
    enc_free(data);
    otp_emit_fini(&t.out);
    dec_free(&b);
}
END_TEST

/* ---- samples that are like the one before ---- */

#define RUN_SAMPLES 60000U /* some megabytes: bytes of them are given back */
#define RUN_LOCATIONS 40U

enum { IN_ORDER, SHUFFLED }; /* shuffled: of no kind that is read in a way of its own */

/* The labels of sample i: none, a short or a long one, two, or one that says nothing. */
static void add_run_labels(struct dec_bytes *s, uint64_t i)
{
    uint64_t kind = i % 11;
    if (kind < 7) {
        add_label(s, 2 + i % 5, 0, 0);
    } else if (kind == 7) {
        add_label(s, 0, UINT64_MAX - i % 3, 0);
    } else if (kind == 8) {
        add_label(s, 9, 0, 0);
        add_label(s, 0, 7, 10);
    } else if (kind == 9) {
        add_entry(s, 3, (const uint64_t[]){0, 9}, 2);
    }
}

/* Sample i: mostly with the stack of the one before, whose locations may come in two fields. */
static void add_run_sample(struct dec_bytes *b, uint64_t i, int order)
{
    const uint64_t values[] = {i % 7 == 0 ? 0 : i, i % 5 == 0 ? 0 - i : i << (i % 40)};
    uint64_t locations[RUN_LOCATIONS];
    struct dec_bytes s = {.data = NULL};
    size_t half = i % 97 == 0 ? RUN_LOCATIONS / 2 : RUN_LOCATIONS;
    for (size_t k = 0; k < RUN_LOCATIONS; k++) {
        locations[k] = 1 + (k + i / 20) % 300;
    }
    if (order == SHUFFLED) {
        dec_packed(&s, 2, values, 2);
    }
    if (i % 89 != 0) {
        dec_packed(&s, 1, locations, half);
    }
    if (order == IN_ORDER) {
        dec_packed(&s, 2, values, 2);
    }
    if (half < RUN_LOCATIONS) {
        dec_packed(&s, 1, locations + half, RUN_LOCATIONS - half);
    }
    add_run_labels(&s, i);
    dec_message(b, 2, &s);
}

static struct dec_bytes run_profile(int order)
{
    struct dec_bytes b = {.data = NULL};
    add_entry(&b, 1, (const uint64_t[]){3, 4}, 2);
    add_entry(&b, 1, (const uint64_t[]){1, 2}, 2);
    for (uint64_t i = 0; i < RUN_SAMPLES; i++) {
        add_run_sample(&b, i, order);
        if (i % 200 == 0) { /* what is between samples must stay */
            add_entry(&b, 4, (const uint64_t[]){1 + i / 200, 0, 0x1000 + i}, 3);
        }
        if (i % 3000 == 0 && i / 3000 < OTP_ARRAY_LEN(strings)) {
            dec_text(&b, 6, strings[i / 3000]);
        }
    }
    return b;
}

static void translate_run(int order, bool is_consumed, struct otp_translation *t)
{
    struct dec_bytes b = run_profile(order);
    memset(t, 0, sizeof(*t));
    t->budget_bytes = BUDGET;
    t->is_consumed = is_consumed;
    otp_emit_init(&t->out, (size_t)64 << 20);
    ck_assert_int_eq(otp_pprof_decode(b.data, b.len, t), OTP_OK);
    dec_free(&b);
}

/* The order of a sample's fields, and whether its bytes are given back, make no difference. */
START_TEST(test_runs)
{
    struct otp_translation in_order;
    struct otp_translation other;
    struct dec_bytes b = run_profile(IN_ORDER);
    size_t samples;
    ck_assert(rows_both_ways(b.data, b.len, BUDGET, &samples));
    ck_assert_uint_gt(samples, RUN_SAMPLES);
    dec_free(&b);
    translate_run(SHUFFLED, false, &in_order);
    for (int consumed = 0; consumed < 2; consumed++) {
        translate_run(IN_ORDER, consumed == 1, &other);
        ck_assert_uint_eq(in_order.out.len, other.out.len);
        ck_assert_int_eq(memcmp(in_order.out.data, other.out.data, other.out.len), 0);
        ck_assert_mem_eq(&in_order.lost, &other.lost, sizeof(other.lost));
        ck_assert_uint_gt(other.lost.bare_labels, 1000);
        otp_emit_fini(&other.out);
    }
    otp_emit_fini(&in_order.out);
}
END_TEST

START_TEST(test_limits)
{
    struct dec_bytes b = full_profile();
    for (uint64_t budget = 0; budget < 8000; budget += 97) {
        struct otp_translation t = {.budget_bytes = budget};
        otp_emit_init(&t.out, (size_t)budget);
        enum otp_status status = otp_pprof_decode(b.data, b.len, &t);
        ck_assert(status == OTP_OK || status == OTP_MALFORMED);
        otp_emit_fini(&t.out);
    }
    struct otp_translation t = {.budget_bytes = 500};
    otp_emit_init(&t.out, (size_t)64 << 20);
    ck_assert_int_eq(otp_pprof_decode(b.data, b.len, &t), OTP_MALFORMED);
    ck_assert_ptr_nonnull(strstr(t.fault.reason, "memory limit"));
    otp_emit_fini(&t.out);
    dec_free(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode_pprof");
    TCase *t = tcase_create("pprof");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_round_trip);
    tcase_add_test(t, test_all_fields);
    tcase_add_test(t, test_broken_bytes);
    tcase_add_loop_test(t, test_refusals, 0, (int)OTP_ARRAY_LEN(bad));
    tcase_add_loop_test(t, test_links, 0, (int)OTP_ARRAY_LEN(spans));
    tcase_add_test(t, test_number_is_no_link);
    tcase_add_test(t, test_runs);
    tcase_add_test(t, test_limits);
    suite_add_tcase(suite, t);
    return unit_run(suite);
}
