/* SPDX-License-Identifier: Apache-2.0 */
/* The pprof builder: each field, columns of several profiles, and the same content as OTLP. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode/pprof.h"
#include "core/encode/tee.h"
#include "tests/unit/encode_random.h"
#include "tests/unit/encode_view.h"
#include "tests/unit/run.h"

struct rig {
    struct otp_heap heap;
    struct otp_pprof_builder *builder;
    struct otp_visitor *v;
    struct otp_buf out;
    PPROF_PB(Profile) * p; /* the last message */
};

static void rig_init(struct rig *r, const struct otp_pprof_options *options)
{
    const struct otp_pprof_options none = {.keep_empty = false};
    memset(r, 0, sizeof(*r));
    otp_heap_init(&r->heap, (size_t)256 << 20);
    otp_buf_init(&r->out, &r->heap, (size_t)64 << 20);
    ck_assert_int_eq(
        otp_pprof_builder_create(&r->heap, options == NULL ? &none : options, &r->builder), OTP_OK);
    r->v = otp_pprof_builder_visitor(r->builder);
}

static void rig_finish(struct rig *r)
{
    if (r->p != NULL) {
        enc_pprof_free(r->p);
    }
    otp_buf_clear(&r->out);
    ck_assert_int_eq(otp_pprof_builder_finish(r->builder, &r->out), OTP_OK);
    r->p = enc_pprof_decode(r->out.data, r->out.len);
    enc_pprof_check(r->p);
}

static void rig_fini(struct rig *r)
{
    if (r->p != NULL) {
        enc_pprof_free(r->p);
    }
    otp_pprof_builder_destroy(r->builder);
    otp_buf_fini(&r->out);
    ck_assert_ptr_null(r->heap.large);
    otp_heap_reset(&r->heap);
}

static const char *text_of(const struct rig *r, int64_t idx)
{
    ck_assert_int_ge(idx, 0);
    ck_assert_uint_lt((size_t)idx, r->p->n_string_table);
    return r->p->string_table[idx];
}

static void tell_heap_and_time(struct otp_visitor *v)
{
    static const char *const both[] = {"both", "main", NULL};
    static const char *const other[] = {"other", "main", NULL};
    enc_begin(v, "samples", "count", "cpu", "nanoseconds");
    uint32_t stack = enc_stack(v, both);
    enc_sample_add(v, stack, 3, 30, 0);
    enc_end(v);
    enc_begin(v, "alloc_objects", "count", "alloc_space", "bytes");
    enc_sample_add(v, stack, 1, 4096, 0);
    enc_sample_add(v, enc_stack(v, other), 0, 64, 0);
    enc_end(v);
}

START_TEST(test_profiles_become_columns)
{
    const struct otp_pprof_options o = {.default_type = enc_text("cpu")};
    static const int64_t want[2][4] = {{3, 30, 1, 4096}, {0, 0, 0, 64}};
    static const char *const types[] = {"samples", "cpu", "alloc_objects", "alloc_space"};
    struct rig r;
    rig_init(&r, &o);
    tell_heap_and_time(r.v);
    rig_finish(&r);
    ck_assert_uint_eq(r.p->n_sample_type, 4);
    ck_assert_uint_eq(r.p->n_sample, 2);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_str_eq(text_of(&r, r.p->sample_type[i]->type), types[i]);
        ck_assert_int_eq(r.p->sample[0]->value[i], want[0][i]);
        ck_assert_int_eq(r.p->sample[1]->value[i], want[1][i]);
    }
    ck_assert_str_eq(text_of(&r, r.p->default_sample_type), "cpu");
    ck_assert_str_eq(text_of(&r, r.p->period_type->type), "samples"); /* of the first profile */
    ck_assert_int_eq(r.p->period, 10);
    ck_assert_int_eq(r.p->time_nanos, 1000);
    ck_assert_int_eq(r.p->duration_nanos, 1000);
    ck_assert_uint_eq(r.p->n_mapping, 0);
    rig_fini(&r);
}
END_TEST

START_TEST(test_default_type_must_be_there)
{
    const struct otp_pprof_options o = {.default_type = enc_text("wall")};
    struct rig r;
    rig_init(&r, &o);
    tell_heap_and_time(r.v);
    rig_finish(&r);
    ck_assert_int_eq(r.p->default_sample_type, 0);
    rig_fini(&r);
}
END_TEST

START_TEST(test_scope_says_order_and_default)
{
    static const int64_t places[] = {2, 0, 3, 1};
    static const char *const types[] = {"cpu", "alloc_space", "samples", "alloc_objects"};
    struct otp_attr items[4];
    for (size_t i = 0; i < 4; i++) {
        items[i] = enc_attr_int("", places[i]);
    }
    struct otp_attr scope[] = {
        {.key = enc_text("pprof.scope.sample_type_order"),
         .kind = OTP_ATTR_LIST,
         .items = items,
         .item_count = 4},
        enc_attr_string("pprof.scope.default_sample_type", "alloc_space"),
    };
    struct otp_pprof_options o = {
        .scope_attrs = scope, .scope_attr_count = 2, .default_type = enc_text("cpu")};
    struct rig r;
    rig_init(&r, &o);
    tell_heap_and_time(r.v);
    rig_finish(&r);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_str_eq(text_of(&r, r.p->sample_type[i]->type), types[i]);
    }
    ck_assert_int_eq(r.p->sample[0]->value[0], 30);
    ck_assert_int_eq(r.p->sample[0]->value[1], 4096);
    ck_assert_str_eq(text_of(&r, r.p->default_sample_type), "alloc_space");
    rig_fini(&r);

    items[3].number = 2; /* twice the same place: not an order */
    o.scope_attr_count = 1;
    rig_init(&r, &o);
    tell_heap_and_time(r.v);
    rig_finish(&r);
    ck_assert_str_eq(text_of(&r, r.p->sample_type[0]->type), "samples");
    ck_assert_int_eq(r.p->default_sample_type, 0); /* the source had none */
    rig_fini(&r);
}
END_TEST

static uint32_t tell_attr(struct otp_visitor *v, struct otp_attr a)
{
    uint32_t id;
    ck_assert_int_eq(v->attr(v, &a, &id), OTP_OK);
    return id;
}

START_TEST(test_labels)
{
    static const uint8_t trace[16] = {1, 2, 3};
    static const uint8_t span[8] = {0xab};
    static const char *const names[] = {"f", NULL};
    const struct otp_pprof_options o = {.timestamp_label = enc_text("end_timestamp_ns")};
    const int64_t values[] = {5};
    struct rig r;
    rig_init(&r, &o);
    enc_begin(r.v, "cpu", "nanoseconds", NULL, NULL);
    struct otp_attr bytes = enc_attr_int("bytes", 64);
    bytes.unit = enc_text("kilobytes");
    const struct otp_attr whole = {.key = enc_text("whole"), .kind = OTP_ATTR_DOUBLE, .real = -2};
    const struct otp_attr half = {.key = enc_text("half"), .kind = OTP_ATTR_DOUBLE, .real = 0.5};
    const struct otp_attr flag = {.key = enc_text("flag"), .kind = OTP_ATTR_BOOL, .number = 1};
    const struct otp_attr empty = {.key = enc_text("empty"), .kind = OTP_ATTR_EMPTY};
    const uint32_t attrs[] = {tell_attr(r.v, enc_attr_string("thread.name", "main")),
                              tell_attr(r.v, bytes),
                              tell_attr(r.v, whole),
                              tell_attr(r.v, half),
                              tell_attr(r.v, flag),
                              tell_attr(r.v, empty)};
    struct otp_visit_sample s = {.stack = enc_stack(r.v, names),
                                 .attrs = attrs,
                                 .attr_count = 6,
                                 .values = values,
                                 .timestamp_ns = 1234};
    ck_assert_int_eq(r.v->link(r.v, trace, span, &s.link), OTP_OK);
    ck_assert_int_eq(r.v->sample(r.v, &s), OTP_OK);
    enc_end(r.v);
    rig_finish(&r);
    static const struct {
        const char *key;
        const char *str;
        int64_t num;
        const char *unit;
    } want[] = {
        {"thread.name", "main", 0, ""},
        {"bytes", "", 64, "kilobytes"},
        {"whole", "", -2, ""},
        {"flag", "true", 0, ""},
        {"trace_id", "01020300000000000000000000000000", 0, ""},
        {"span_id", "ab00000000000000", 0, ""},
        {"end_timestamp_ns", "", 1234, "nanoseconds"},
    };
    ck_assert_uint_eq(r.p->sample[0]->n_label, 7);
    for (size_t i = 0; i < 7; i++) {
        const PPROF_PB(Label) *l = r.p->sample[0]->label[i];
        ck_assert_str_eq(text_of(&r, l->key), want[i].key);
        ck_assert_str_eq(text_of(&r, l->str), want[i].str);
        ck_assert_int_eq(l->num, want[i].num);
        ck_assert_str_eq(text_of(&r, l->num_unit), want[i].unit);
    }
    rig_fini(&r);
}
END_TEST

/* With the label each observation is a sample; without it they are one. */
START_TEST(test_times)
{
    static const char *const names[] = {"f", NULL};
    for (int with = 0; with < 2; with++) {
        const struct otp_pprof_options o = {.timestamp_label = enc_text(with ? "t" : "")};
        struct rig r;
        rig_init(&r, &o);
        enc_begin(r.v, "cpu", "nanoseconds", NULL, NULL);
        uint32_t stack = enc_stack(r.v, names);
        for (uint64_t t = 1001; t < 1004; t++) {
            enc_sample_add(r.v, stack, 10, 0, t);
        }
        enc_sample_add(r.v, stack, 7, 0, 0);
        enc_end(r.v);
        rig_finish(&r);
        ck_assert_uint_eq(r.p->n_sample, with ? 4 : 1);
        ck_assert_int_eq(r.p->sample[with ? 3 : 0]->value[0], with ? 7 : 37);
        rig_fini(&r);
    }
}
END_TEST

static uint32_t tell_frame_in(struct otp_visitor *v, const struct otp_visit_mapping *m,
                              uint64_t address, const struct otp_visit_line *lines, size_t count)
{
    uint32_t id;
    struct otp_visit_frame f = {.address = address, .lines = lines, .line_count = count};
    if (m != NULL) {
        ck_assert_int_eq(v->mapping(v, m, &f.mapping), OTP_OK);
    }
    ck_assert_int_eq(v->frame(v, &f, &id), OTP_OK);
    return id;
}

static void tell_mapped(struct otp_visitor *v)
{
    const struct otp_attr ids[] = {enc_attr_string("process.executable.build_id.go", "go-id"),
                                   enc_attr_string("process.executable.build_id.gnu", "abcd")};
    const struct otp_attr flag = {
        .key = enc_text("pprof.mapping.has_filenames"), .kind = OTP_ATTR_BOOL, .number = 1};
    const struct otp_visit_mapping lib = {.start = 0x1000,
                                          .limit = 0x9000,
                                          .file_offset = 0x1000,
                                          .filename = enc_text("/lib/libc.so.6"),
                                          .attrs = ids,
                                          .attr_count = 2};
    const struct otp_visit_mapping app = {.start = 0x400000,
                                          .limit = 0x500000,
                                          .filename = enc_text("/bin/app"),
                                          .attrs = ids,
                                          .attr_count = 1};
    const struct otp_visit_mapping said = {
        .filename = enc_text("/lib/said.so"), .attrs = &flag, .attr_count = 1};
    const struct otp_visit_line lines[] = {
        {.name = enc_text("inner"), .filename = enc_text("a.c"), .line = 3, .column = 9},
        {.name = enc_text("outer"), .system_name = enc_text("_Z5outerv"), .start_line = 70}};
    enc_begin(v, "cpu", "nanoseconds", NULL, NULL);
    const uint32_t frames[] = {
        tell_frame_in(v, &lib, 0x2000, lines, 1), tell_frame_in(v, &lib, 0x2010, NULL, 0),
        tell_frame_in(v, &app, 0x400100, lines, 2), tell_frame_in(v, &said, 1, lines, 1),
        tell_frame_in(v, NULL, 0xffff, NULL, 0)};
    uint32_t stack;
    ck_assert_int_eq(v->stack(v, frames, 5, &stack), OTP_OK);
    enc_sample_add(v, stack, 1, 0, 0);
    enc_end(v);
}

START_TEST(test_mappings)
{
    struct otp_pprof_options o = {.main_file = enc_text("/bin/app"), .mark_symbols = true};
    struct rig r;
    rig_init(&r, &o);
    tell_mapped(r.v);
    rig_finish(&r);
    ck_assert_uint_eq(r.p->n_mapping, 3);
    const PPROF_PB(Mapping) *app = r.p->mapping[0];
    const PPROF_PB(Mapping) *lib = r.p->mapping[1];
    const PPROF_PB(Mapping) *said = r.p->mapping[2];
    ck_assert_str_eq(text_of(&r, app->filename), "/bin/app");
    ck_assert_str_eq(text_of(&r, app->build_id), "go-id");
    ck_assert(app->has_functions && app->has_filenames && app->has_line_numbers &&
              app->has_inline_frames);
    ck_assert_str_eq(text_of(&r, lib->filename), "/lib/libc.so.6");
    ck_assert_str_eq(text_of(&r, lib->build_id), "abcd");
    ck_assert_uint_eq(lib->memory_start, 0x1000);
    ck_assert_uint_eq(lib->memory_limit, 0x9000);
    ck_assert_uint_eq(lib->file_offset, 0x1000);
    ck_assert(!lib->has_functions && lib->has_filenames && lib->has_line_numbers &&
              !lib->has_inline_frames); /* one place has no name */
    ck_assert(!said->has_functions && said->has_filenames && !said->has_line_numbers);
    ck_assert_uint_eq(r.p->location[0]->mapping_id, 2);
    ck_assert_uint_eq(r.p->location[2]->mapping_id, 1);
    ck_assert_uint_eq(r.p->location[4]->mapping_id, 0);
    ck_assert_uint_eq(r.p->location[2]->n_line, 2);
    ck_assert_int_eq(r.p->location[2]->line[0]->column, 9);
    ck_assert_str_eq(text_of(&r, r.p->function[1]->system_name), "_Z5outerv");
    ck_assert_int_eq(r.p->function[1]->start_line, 70);
    rig_fini(&r);

    o.main_file = enc_text("/bin/elsewhere"); /* no sample is in it */
    o.mark_symbols = false;
    rig_init(&r, &o);
    tell_mapped(r.v);
    rig_finish(&r);
    ck_assert_uint_eq(r.p->n_mapping, 4);
    ck_assert_str_eq(text_of(&r, r.p->mapping[0]->filename), "/bin/elsewhere");
    ck_assert_str_eq(text_of(&r, r.p->mapping[1]->filename), "/lib/libc.so.6");
    ck_assert(!r.p->mapping[1]->has_filenames);
    ck_assert_uint_eq(r.p->location[0]->mapping_id, 2);
    rig_fini(&r);
}
END_TEST

/* Told thread by thread, written stack by stack, and of one stack as told. */
START_TEST(test_stacks_are_side_by_side)
{
    enum { THREADS = 5, STACKS = 7 };
    uint32_t stack[STACKS];
    struct rig r;
    rig_init(&r, NULL);
    enc_begin(r.v, "cpu", "ns", NULL, NULL);
    for (uint32_t i = 0; i < STACKS; i++) {
        const struct otp_visit_frame frame = {.address = 0x1000 + i};
        uint32_t id;
        ck_assert_int_eq(r.v->frame(r.v, &frame, &id), OTP_OK);
        ck_assert_int_eq(r.v->stack(r.v, &id, 1, &stack[i]), OTP_OK);
    }
    for (uint32_t i = 0; i < THREADS * STACKS; i++) {
        uint32_t thread = tell_attr(r.v, enc_attr_int("thread", i / STACKS));
        int64_t value = 100 + i;
        const struct otp_visit_sample sample = {
            .stack = stack[i % STACKS], .attrs = &thread, .attr_count = 1, .values = &value};
        ck_assert_int_eq(r.v->sample(r.v, &sample), OTP_OK);
    }
    enc_end(r.v);
    rig_finish(&r);
    ck_assert_uint_eq(r.p->n_sample, THREADS * STACKS);
    for (uint32_t i = 0; i < THREADS * STACKS; i++) {
        const PPROF_PB(Sample) *s = r.p->sample[i];
        ck_assert_uint_eq(s->location_id[0], r.p->sample[i / THREADS * THREADS]->location_id[0]);
        ck_assert_int_eq(s->value[0], 100 + i % THREADS * STACKS + i / THREADS);
        ck_assert_int_eq(s->label[0]->num, i % THREADS);
    }
    rig_fini(&r);
}
END_TEST

START_TEST(test_profile_texts)
{
    const struct otp_attr comments[] = {enc_attr_string("", "first"), enc_attr_int("", 3),
                                        enc_attr_string("", "second")};
    const struct otp_attr folded = {
        .key = enc_text("pprof.location.is_folded"), .kind = OTP_ATTR_BOOL, .number = 1};
    const struct otp_attr attrs[] = {
        {.key = enc_text("pprof.profile.comment"),
         .kind = OTP_ATTR_LIST,
         .items = comments,
         .item_count = 3},
        enc_attr_string("pprof.profile.doc_url", "https://example.org/"),
        enc_attr_string("pprof.profile.drop_frames", "malloc|free"),
        enc_attr_string("pprof.profile.keep_frames", "malloc"),
    };
    const struct otp_value_type type = {.type = enc_text("cpu"), .unit = enc_text("ns")};
    const struct otp_visit_profile p = {
        .types = &type, .type_count = 1, .attrs = attrs, .attr_count = 4, .time_unix_ns = 77};
    struct rig r;
    rig_init(&r, NULL);
    for (int i = 0; i < 2; i++) { /* told twice, said once */
        ck_assert_int_eq(r.v->begin_profile(r.v, &p), OTP_OK);
        const struct otp_visit_frame f = {.address = 9, .attrs = &folded, .attr_count = 1};
        uint32_t frame;
        uint32_t stack;
        ck_assert_int_eq(r.v->frame(r.v, &f, &frame), OTP_OK);
        ck_assert_int_eq(r.v->stack(r.v, &frame, 1, &stack), OTP_OK);
        enc_sample_add(r.v, stack, 1, 0, 0);
        enc_end(r.v);
    }
    rig_finish(&r);
    ck_assert_uint_eq(r.p->n_comment, 2);
    ck_assert_str_eq(text_of(&r, r.p->comment[0]), "first");
    ck_assert_str_eq(text_of(&r, r.p->comment[1]), "second");
    ck_assert_str_eq(text_of(&r, r.p->doc_url), "https://example.org/");
    ck_assert_str_eq(text_of(&r, r.p->drop_frames), "malloc|free");
    ck_assert_str_eq(text_of(&r, r.p->keep_frames), "malloc");
    ck_assert(r.p->location[0]->is_folded);
    ck_assert_ptr_null(r.p->period_type);
    ck_assert_int_eq(r.p->sample[0]->value[0], 2);
    rig_fini(&r);
}
END_TEST

START_TEST(test_nothing_and_empty)
{
    const struct otp_pprof_options keeps = {.keep_empty = true, .keep_mappings = true};
    const struct otp_visit_mapping m = {.filename = enc_text("/bin/app")};
    struct rig r;
    uint32_t id;
    rig_init(&r, NULL);
    enc_begin(r.v, "cpu", "nanoseconds", "samples", "count");
    ck_assert_int_eq(r.v->mapping(r.v, &m, &id), OTP_OK);
    ck_assert_int_eq(otp_pprof_builder_finish(r.builder, &r.out), OTP_INVALID);
    enc_end(r.v);
    ck_assert_int_eq(otp_pprof_builder_finish(r.builder, &r.out), OTP_NOT_FOUND);
    ck_assert_uint_eq(r.out.len, 0);
    rig_fini(&r);
    rig_init(&r, &keeps);
    enc_begin(r.v, "cpu", "nanoseconds", "samples", "count");
    ck_assert_int_eq(r.v->mapping(r.v, &m, &id), OTP_OK);
    enc_sample_add(r.v, 0, 0, 4, 0); /* no stack, no attributes */
    enc_end(r.v);
    rig_finish(&r);
    ck_assert_uint_eq(r.p->n_sample_type, 2);
    ck_assert_uint_eq(r.p->n_sample, 1);
    ck_assert_int_eq(r.p->sample[0]->value[1], 4);
    ck_assert_uint_eq(r.p->n_mapping, 1);
    rig_fini(&r);
}
END_TEST

/* The same visit to both builders, behind a tee: equal content, and the bytes of separate visits.
 */
static void compare_builders(uint64_t seed, const char *time_label)
{
    const struct enc_random random = {.seed = seed, .samples = 100};
    const struct otp_pprof_options o = {.timestamp_label = enc_text(time_label)};
    struct enc_rig otlp;
    struct rig pprof;
    struct rig alone;
    struct otp_tee *tee;
    enc_rig_init(&otlp, NULL);
    rig_init(&pprof, &o);
    rig_init(&alone, &o);
    struct otp_visitor *const visitors[] = {otlp.v, pprof.v};
    ck_assert_int_eq(otp_tee_create(&otlp.heap, visitors, 2, &tee), OTP_OK);
    ck_assert_int_eq(enc_random_tell(&random, otp_tee_visitor(tee), NULL), OTP_OK);
    ck_assert_int_eq(enc_random_tell(&random, alone.v, NULL), OTP_OK);
    enum otp_status status = otp_pprof_builder_finish(pprof.builder, &pprof.out);
    if (status == OTP_OK) {
        struct enc_view a;
        struct enc_view b;
        rig_finish(&pprof);
        rig_finish(&alone);
        ck_assert_uint_eq(pprof.out.len, alone.out.len);
        ck_assert_mem_eq(pprof.out.data, alone.out.data, alone.out.len);
        enc_rig_finish(&otlp);
        enc_view_otlp(&a, otlp.data, time_label != NULL);
        enc_view_pprof(&b, pprof.p, time_label);
        enc_view_compare(&b, &a);
        enc_view_fini(&a);
        enc_view_fini(&b);
        ck_assert_int_eq(pprof.p->time_nanos, (int64_t)enc_rig_profile(&otlp, 0)->time_unix_nano);
    } else {
        ck_assert_int_eq(status, OTP_NOT_FOUND);
        ck_assert_int_eq(otp_otlp_builder_finish(otlp.builder, &otlp.out), OTP_NOT_FOUND);
    }
    otp_tee_destroy(tee);
    rig_fini(&alone);
    rig_fini(&pprof);
    enc_rig_fini(&otlp);
}

START_TEST(test_says_what_otlp_says)
{
    for (uint64_t seed = 1; seed <= 80; seed++) {
        compare_builders(seed, seed % 2 == 0 ? "end_timestamp_ns" : NULL);
    }
}
END_TEST

START_TEST(test_memory_limit)
{
    const struct enc_random random = {.seed = 9, .samples = 2000};
    const struct otp_pprof_options o = {.timestamp_label = enc_text("t")};
    struct rig full;
    size_t succeeded = 0;
    size_t failed = 0;
    rig_init(&full, &o);
    ck_assert_int_eq(enc_random_tell(&random, full.v, NULL), OTP_OK);
    rig_finish(&full);
    size_t most = full.heap.peak_bytes + ((size_t)64 << 10);
    for (size_t limit = 0; limit <= most; limit += most / 100) {
        struct otp_pprof_builder *b = NULL;
        struct otp_heap heap;
        struct otp_buf out;
        otp_heap_init(&heap, limit);
        otp_buf_init(&out, &heap, (size_t)64 << 20);
        enum otp_status status = otp_pprof_builder_create(&heap, &o, &b);
        if (status == OTP_OK) {
            status = enc_random_tell(&random, otp_pprof_builder_visitor(b), NULL);
        }
        if (status == OTP_OK) {
            status = otp_pprof_builder_finish(b, &out);
        }
        ck_assert(status == OTP_OK || status == OTP_NO_MEMORY);
        ck_assert_uint_eq(out.len, status == OTP_OK ? full.out.len : 0);
        succeeded += status == OTP_OK;
        failed += status != OTP_OK;
        otp_pprof_builder_destroy(b);
        otp_buf_fini(&out);
        ck_assert_ptr_null(heap.large);
        otp_heap_reset(&heap);
    }
    ck_assert_uint_ge(succeeded, 1);
    ck_assert_uint_ge(failed, 50);
    rig_fini(&full);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("encode_pprof");
    TCase *t = tcase_create("pprof");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_profiles_become_columns);
    tcase_add_test(t, test_default_type_must_be_there);
    tcase_add_test(t, test_scope_says_order_and_default);
    tcase_add_test(t, test_labels);
    tcase_add_test(t, test_times);
    tcase_add_test(t, test_mappings);
    tcase_add_test(t, test_stacks_are_side_by_side);
    tcase_add_test(t, test_profile_texts);
    tcase_add_test(t, test_nothing_and_empty);
    tcase_add_test(t, test_says_what_otlp_says);
    tcase_add_test(t, test_memory_limit);
    suite_add_tcase(suite, t);
    return unit_run(suite);
}
