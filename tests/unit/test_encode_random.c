/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random visits: the message says what a naive model says, keeps every rule, does not depend on
 * memory that was short, and is the same behind a tee. Seeds are fixed.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode/tee.h"
#include "tests/unit/encode_random.h"
#include "tests/unit/run.h"

#define VISITS 150

static void compare_lines(const struct enc_lines *got, const struct enc_lines *want)
{
    for (size_t i = 0; i < got->count && i < want->count; i++) {
        ck_assert_str_eq(got->text[i], want->text[i]);
    }
    ck_assert_uint_eq(got->count, want->count);
}

START_TEST(test_says_what_was_told)
{
    for (uint64_t seed = 1; seed <= VISITS; seed++) {
        const struct enc_random random = {
            .seed = seed, .samples = seed % 3 == 0 ? 8 : 100, .fold = seed % 2 == 0};
        const struct otp_otlp_options o = {.fold_counts = random.fold};
        struct enc_lines want = {.count = 0};
        struct enc_lines got = {.count = 0};
        struct enc_rig r;
        enc_rig_init(&r, &o);
        ck_assert_int_eq(enc_random_tell(&random, r.v, &want), OTP_OK);
        if (want.count > 0) {
            enc_rig_finish(&r);
            enc_dump(r.data, &got);
        } else {
            ck_assert_int_eq(otp_otlp_builder_finish(r.builder, &r.out), OTP_NOT_FOUND);
        }
        compare_lines(&got, &want);
        enc_lines_free(&got);
        enc_lines_free(&want);
        enc_rig_fini(&r);
    }
}
END_TEST

/* ---- compact ---- */

/* Finishes the rig and adds what its message says; false: there is none. */
static bool say(struct enc_rig *r, struct enc_lines *out)
{
    if (otp_otlp_builder_finish(r->builder, &r->out) == OTP_NOT_FOUND) {
        return false;
    }
    otp_buf_clear(&r->out);
    enc_rig_finish(r);
    enc_dump(r->data, out);
    enc_lines_sort(out);
    return true;
}

/* Another order of entries and samples, and nothing else; the same each time, and in parts. */
START_TEST(test_compact_says_the_same)
{
    size_t ordered = 0;
    for (uint64_t seed = 1; seed <= VISITS; seed++) {
        const struct enc_random random = {
            .seed = seed, .samples = seed % 3 == 0 ? 8 : 300, .fold = seed % 2 == 0};
        struct enc_lines lines[3] = {{.count = 0}};
        struct enc_rig rigs[3];
        bool is_there[3];
        for (size_t i = 0; i < 3; i++) {
            const struct otp_otlp_options o = {.fold_counts = random.fold, .compact = i > 0};
            enc_rig_init(&rigs[i], &o);
            ck_assert_int_eq(enc_random_tell(&random, rigs[i].v, NULL), OTP_OK);
            is_there[i] = say(&rigs[i], &lines[i]);
        }
        ck_assert(is_there[0] == is_there[1] && is_there[0] == is_there[2]);
        compare_lines(&lines[1], &lines[0]);
        ck_assert_uint_eq(rigs[1].out.len, rigs[2].out.len);
        if (is_there[0]) {
            ck_assert_mem_eq(rigs[1].out.data, rigs[2].out.data, rigs[1].out.len);
            ordered += rigs[0].out.len != rigs[1].out.len ||
                       memcmp(rigs[0].out.data, rigs[1].out.data, rigs[0].out.len) != 0;
        }
        for (size_t i = 0; i < 3; i++) {
            enc_lines_free(&lines[i]);
            enc_rig_fini(&rigs[i]);
        }
    }
    ck_assert_uint_gt(ordered, VISITS / 2);
}
END_TEST

/* Where there is no memory for an order the message says the same, or there is none. */
START_TEST(test_compact_with_little_memory)
{
    const struct enc_random random = {.seed = 9, .samples = 2000};
    const struct otp_otlp_options o = {.compact = true};
    struct enc_lines want = {.count = 0};
    struct enc_rig full;
    struct otp_heap elsewhere; /* where messages are, which are larger than what orders them */
    size_t ordered = 0;
    otp_heap_init(&elsewhere, (size_t)64 << 20);
    enc_rig_init(&full, &o);
    ck_assert_int_eq(enc_random_tell(&random, full.v, NULL), OTP_OK);
    size_t least = full.heap.mapped_bytes;
    ck_assert(say(&full, &want));
    size_t most = full.heap.peak_bytes + ((size_t)64 << 10);
    for (size_t limit = least; limit <= most; limit += 65536) {
        struct enc_lines got = {.count = 0};
        struct enc_rig r;
        enc_rig_init(&r, &o);
        otp_buf_init(&r.out, &elsewhere, (size_t)64 << 20);
        ck_assert_int_eq(enc_random_tell(&random, r.v, NULL), OTP_OK);
        r.heap.limit_bytes = limit;
        enum otp_status status = otp_otlp_builder_finish(r.builder, &r.out);
        ck_assert(status == OTP_OK || status == OTP_NO_MEMORY);
        if (status == OTP_OK) {
            r.heap.limit_bytes = (size_t)64 << 20;
            ordered += r.out.len == full.out.len &&
                       memcmp(r.out.data, full.out.data, full.out.len) == 0;
            ENC_PB(ProfilesData) *data = enc_decode(r.out.data, r.out.len);
            enc_check_rules(data);
            enc_dump(data, &got);
            enc_lines_sort(&got);
            compare_lines(&got, &want);
            enc_free(data);
        }
        enc_lines_free(&got);
        enc_rig_fini(&r);
    }
    ck_assert_uint_gt(ordered, 0);
    enc_lines_free(&want);
    enc_rig_fini(&full);
    otp_heap_reset(&elsewhere);
}
END_TEST

/* ---- rows ---- */

/* Finishes both, which must say the same; how many bytes. */
static size_t compare_rigs(struct enc_rig *a, struct enc_rig *b)
{
    enum otp_status status = otp_otlp_builder_finish(a->builder, &a->out);
    ck_assert_int_eq(otp_otlp_builder_finish(b->builder, &b->out), status);
    ck_assert_uint_eq(a->out.len, b->out.len);
    if (status == OTP_OK) {
        ck_assert_mem_eq(a->out.data, b->out.data, a->out.len);
    }
    return a->out.len;
}

/* Rows mean what the same samples mean one by one, to the byte. */
START_TEST(test_rows_say_what_samples_say)
{
    size_t bytes = 0;
    size_t profiles = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        const struct otp_otlp_options o = {.fold_counts = seed % 2 == 0};
        unsigned samples = seed % 5 == 0 ? 3000 : seed % 5 == 1 ? 5 : 60;
        struct otp_visit_row *space = calloc(4 * (samples + 1), sizeof(space[0]));
        struct enc_random random = {.seed = seed, .samples = samples, .one_type = true};
        struct enc_rig rigs[2];
        enc_rig_init(&rigs[0], &o);
        ck_assert_int_eq(enc_random_tell(&random, rigs[0].v, NULL), OTP_OK);
        random.rows = true;
        random.row_space = space;
        random.row_profiles = &profiles;
        enc_rig_init(&rigs[1], &o);
        ck_assert_int_eq(enc_random_tell(&random, rigs[1].v, NULL), OTP_OK);
        bytes += compare_rigs(&rigs[0], &rigs[1]);
        enc_rig_fini(&rigs[0]);
        enc_rig_fini(&rigs[1]);
        free(space);
    }
    ck_assert_uint_gt(bytes, 0);
    ck_assert_uint_gt(profiles, 50);
}
END_TEST

struct row_case {
    int64_t count; /* samples that differ */
    int64_t again; /* how many of them are told once more */
    size_t left;   /* how many samples there are then, and the bare one */
};

/* Tells them as rows into space, or one by one where that is NULL. Every third is large. */
static void tell_case(struct otp_visitor *v, const struct row_case *c, struct otp_visit_row *space,
                      int64_t *longs)
{
    const struct otp_value_type type = {.type = enc_text("cpu"), .unit = enc_text("nanoseconds")};
    const struct otp_visit_profile p = {.types = &type, .type_count = 1};
    struct otp_visit_rows rows = {.items = space, .longs = longs};
    static const char *const names[] = {"leaf", "root", NULL};
    ck_assert_int_eq(v->begin_profile(v, &p), OTP_OK);
    uint32_t stack = enc_stack(v, names);
    for (int64_t i = 0; i <= c->count + c->again; i++) {
        bool is_bare = i == c->count + c->again; /* the last: no stack, no attribute */
        struct otp_attr a = enc_attr_int("number", i < c->count ? i : (i - c->count) * 7);
        int64_t value = i % 3 == 0 ? INT64_MAX - i : i % 3 == 1 ? OTP_VISIT_ROW_LONG - 1 : 1 + i;
        uint32_t attr;
        ck_assert_int_eq(v->attr(v, &a, &attr), OTP_OK);
        const struct otp_visit_sample s = {
            .stack = is_bare ? 0 : stack, .attrs = &attr, .attr_count = !is_bare, .values = &value};
        if (space == NULL) {
            ck_assert_int_eq(v->sample(v, &s), OTP_OK);
            continue;
        }
        struct otp_visit_row *row = &rows.items[rows.count++];
        *row = (struct otp_visit_row){.stack = s.stack, .value = (uint32_t)value};
        ck_assert_int_eq(v->list(v, s.attrs, s.attr_count, &row->list), OTP_OK);
        if (value >= (int64_t)OTP_VISIT_ROW_LONG) {
            row->value = (uint32_t)rows.long_count | OTP_VISIT_ROW_LONG;
            longs[rows.long_count++] = value;
        }
    }
    ck_assert_int_eq(space == NULL ? OTP_OK : v->rows(v, &rows), OTP_OK);
    ck_assert_int_eq(v->end_profile(v), OTP_OK);
}

/* Sums of two short values that are long, of long ones, past the end of the range. */
START_TEST(test_equal_rows_are_merged)
{
    const struct row_case cases[] = {{0, 0, 1},       {1, 0, 2},       {1, 1, 2},
                                     {9000, 0, 9001}, {9000, 1, 9001}, {9000, 1200, 9001}};
    static struct otp_visit_row space[10300];
    static int64_t longs[10300];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct enc_rig rigs[2];
        enc_rig_init(&rigs[0], NULL);
        tell_case(rigs[0].v, &cases[i], NULL, NULL);
        enc_rig_init(&rigs[1], NULL);
        tell_case(rigs[1].v, &cases[i], space, longs);
        ck_assert_uint_gt(compare_rigs(&rigs[0], &rigs[1]), 0);
        otp_buf_clear(&rigs[1].out);
        enc_rig_finish(&rigs[1]);
        ck_assert_uint_eq(enc_rig_profile(&rigs[1], 0)->n_samples, cases[i].left);
        enc_rig_fini(&rigs[0]);
        enc_rig_fini(&rigs[1]);
    }
}
END_TEST

/* What is refused: numbers that were never given, several types, rows beside samples. */
START_TEST(test_rows_that_are_refused)
{
    const struct otp_visit_row good = {.value = 1};
    const struct otp_visit_row bad[] = {{.stack = 1, .value = 1},
                                        {.list = 1, .value = 1},
                                        {.link = 1, .value = 1},
                                        {.value = OTP_VISIT_ROW_LONG | 1}};
    const int64_t longs[] = {5};
    for (size_t i = 0; i < 4 + 3; i++) {
        struct enc_rig r;
        enc_rig_init(&r, NULL);
        enc_begin(r.v, "cpu", "nanoseconds", i == 4 ? "wall" : NULL, i == 4 ? "nanoseconds" : NULL);
        struct otp_visit_row row = i < 4 ? bad[i] : good;
        struct otp_visit_rows rows = {.items = &row, .count = 1, .longs = longs, .long_count = 1};
        if (i == 5) {
            enc_sample_add(r.v, 0, 1, 0, 0);
        }
        if (i == 6) {
            struct otp_visit_row first = good;
            struct otp_visit_rows other = {.items = &first, .count = 1};
            ck_assert_int_eq(r.v->rows(r.v, &other), OTP_OK);
        }
        ck_assert_int_eq(r.v->rows(r.v, &rows), OTP_INVALID);
        ck_assert_int_eq(r.v->end_profile(r.v), OTP_INVALID);
        enc_rig_fini(&r);
    }
}
END_TEST

/* ---- short memory ---- */

/* Bytes of the heap that are not in its own chunks of small blocks: all of it must come back. */
static bool has_large_blocks(const struct otp_heap *h)
{
    return h->large != NULL;
}

/* Under each limit the message is whole, or there is none. */
static void try_limits(bool rows)
{
    struct otp_visit_row *space = calloc(12004, sizeof(space[0]));
    size_t profiles = 0;
    const struct enc_random random = {.seed = 9,
                                      .samples = 3000,
                                      .one_type = rows,
                                      .rows = rows,
                                      .row_space = space,
                                      .row_profiles = &profiles};
    const struct otp_otlp_options none = {.scope_name = enc_text("test")};
    struct enc_rig full;
    size_t succeeded = 0;
    size_t failed = 0;
    enc_rig_init(&full, &none);
    ck_assert_int_eq(enc_random_tell(&random, full.v, NULL), OTP_OK);
    enc_rig_finish(&full);
    size_t most = full.heap.peak_bytes + ((size_t)64 << 10);
    for (size_t limit = 0; limit <= most; limit += most / 200) {
        struct otp_otlp_options o = none;
        struct otp_otlp_builder *b;
        struct otp_heap heap;
        struct otp_buf out;
        uint64_t ids = 0;
        o.make_id = enc_count_ids;
        o.make_id_arg = &ids;
        otp_heap_init(&heap, limit);
        otp_buf_init(&out, &heap, (size_t)64 << 20);
        enum otp_status status = otp_otlp_builder_create(&heap, &o, &b);
        if (status == OTP_OK) {
            struct otp_visitor *v = otp_otlp_builder_visitor(b);
            status = enc_random_tell(&random, v, NULL);
            if (status != OTP_OK) {
                ck_assert_int_eq(v->end_profile(v), status);
                ck_assert_int_eq(otp_otlp_builder_finish(b, &out), status);
            } else {
                status = otp_otlp_builder_finish(b, &out);
            }
            otp_otlp_builder_destroy(b);
        }
        ck_assert(status == OTP_OK || status == OTP_NO_MEMORY);
        if (status == OTP_OK) {
            ck_assert_uint_eq(out.len, full.out.len);
            ck_assert_mem_eq(out.data, full.out.data, out.len);
            succeeded++;
        } else {
            ck_assert_uint_eq(out.len, 0);
            failed++;
        }
        otp_buf_fini(&out);
        ck_assert(!has_large_blocks(&heap));
        otp_heap_reset(&heap);
    }
    ck_assert_uint_ge(succeeded, 1);
    ck_assert_uint_ge(failed, 100);
    ck_assert(!rows || profiles > 0);
    enc_rig_fini(&full);
    free(space);
}

START_TEST(test_memory_limit)
{
    try_limits(false);
    try_limits(true);
}
END_TEST

/* ---- tee ---- */

/* Tells random to builder alone (tee: false) or behind a tee with others; gives the bytes. */
/* Appends what part number of the message says to got; false: there is no such part. */
static bool add_part(struct enc_rig *r, size_t number, struct enc_lines *got)
{
    otp_buf_clear(&r->out);
    enum otp_status status = otp_otlp_builder_finish_part(r->builder, number, &r->out);
    if (status == OTP_NOT_FOUND) {
        ck_assert_uint_eq(r->out.len, 0);
        return false;
    }
    ck_assert_int_eq(status, OTP_OK);
    ENC_PB(ProfilesData) *part = enc_decode(r->out.data, r->out.len);
    enc_check_rules(part); /* among them: nothing in the dictionary that no sample needs */
    ck_assert_uint_eq(part->n_resource_profiles, 1);
    ck_assert_uint_eq(part->resource_profiles[0]->n_scope_profiles, 1);
    ck_assert_uint_eq(part->resource_profiles[0]->scope_profiles[0]->n_profiles, 1);
    const ENC_PB(Profile) *whole = enc_rig_profile(r, number - 1);
    const ENC_PB(Profile) *alone = part->resource_profiles[0]->scope_profiles[0]->profiles[0];
    ck_assert_uint_eq(alone->profile_id.len, 16);
    ck_assert_mem_eq(alone->profile_id.data, whole->profile_id.data, 16);
    ck_assert_uint_eq(alone->n_samples, whole->n_samples);
    enc_dump(part, got);
    enc_free(part);
    return true;
}

/* The parts of a message say together what it says, under the same ids, and change nothing. */
START_TEST(test_parts_say_what_the_whole_says)
{
    size_t parts = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        const struct enc_random random = {.seed = seed, .samples = 80, .fold = seed % 2 == 0};
        const struct otp_otlp_options options = {.fold_counts = random.fold};
        struct enc_lines want = {0};
        struct enc_lines got = {0};
        struct enc_rig r;
        enc_rig_init(&r, &options);
        ck_assert_int_eq(enc_random_tell(&random, r.v, NULL), OTP_OK);
        enc_rig_finish(&r);
        enc_dump(r.data, &want);
        size_t count = r.data->resource_profiles[0]->scope_profiles[0]->n_profiles;
        size_t number = 1;
        while (add_part(&r, number, &got)) {
            number++;
        }
        ck_assert_uint_eq(number - 1, count);
        enc_lines_sort(&want);
        enc_lines_sort(&got);
        ck_assert_uint_eq(got.count, want.count);
        for (size_t i = 0; i < want.count; i++) {
            ck_assert_str_eq(got.text[i], want.text[i]);
        }
        ck_assert_int_eq(otp_otlp_builder_finish_part(r.builder, 0, &r.out), OTP_INVALID);
        enc_rig_finish(&r);
        parts += count;
        enc_lines_free(&want);
        enc_lines_free(&got);
        enc_rig_fini(&r);
    }
    ck_assert_uint_gt(parts, 30);
}
END_TEST

static void tell_both_ways(const struct enc_random *random)
{
    const struct otp_otlp_options options[3] = {
        {.scope_name = enc_text("a")},
        {.keep_ones = true, .max_string_bytes = 4, .scope_name = enc_text("b")},
        {.fold_counts = true, .link0 = OTP_LINK0_ZEROS, .scope_name = enc_text("c")},
    };
    struct enc_rig alone[3];
    struct enc_rig teed[3];
    struct otp_visitor *visitors[3];
    struct otp_tee *tee;
    struct otp_heap heap;
    otp_heap_init(&heap, (size_t)64 << 20);
    for (size_t i = 0; i < 3; i++) {
        enc_rig_init(&alone[i], &options[i]);
        enc_rig_init(&teed[i], &options[i]);
        visitors[i] = teed[i].v;
        ck_assert_int_eq(enc_random_tell(random, alone[i].v, NULL), OTP_OK);
    }
    ck_assert_int_eq(otp_tee_create(&heap, visitors, 3, &tee), OTP_OK);
    ck_assert_int_eq(enc_random_tell(random, otp_tee_visitor(tee), NULL), OTP_OK);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(otp_tee_status(tee, i), OTP_OK);
        enum otp_status status = otp_otlp_builder_finish(alone[i].builder, &alone[i].out);
        ck_assert_int_eq(otp_otlp_builder_finish(teed[i].builder, &teed[i].out), status);
        ck_assert_uint_eq(teed[i].out.len, alone[i].out.len);
        if (status == OTP_OK) {
            ck_assert_mem_eq(teed[i].out.data, alone[i].out.data, alone[i].out.len);
        }
        enc_rig_fini(&alone[i]);
        enc_rig_fini(&teed[i]);
    }
    otp_tee_destroy(tee);
    otp_heap_reset(&heap);
}

START_TEST(test_tee_equals_separate_visits)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const struct enc_random random = {.seed = seed, .samples = 60};
        tell_both_ways(&random);
    }
}
END_TEST

/* A visitor that gives ids of its own and fails at its n-th call. */
struct frail {
    struct otp_visitor visitor;
    unsigned calls;
    unsigned fails_at;
};

static enum otp_status frail_call(struct otp_visitor *v, uint32_t *out_id)
{
    struct frail *f = (struct frail *)(void *)v;
    ck_assert_uint_lt(f->calls, f->fails_at); /* never called again after a failure */
    f->calls++;
    if (out_id != NULL) {
        *out_id = 1000000 - f->calls;
    }
    return f->calls == f->fails_at ? OTP_FULL : OTP_OK;
}

static enum otp_status frail_begin(struct otp_visitor *v, const struct otp_visit_profile *p)
{
    (void)p;
    return frail_call(v, NULL);
}

static enum otp_status frail_mapping(struct otp_visitor *v, const struct otp_visit_mapping *m,
                                     uint32_t *out_id)
{
    (void)m;
    return frail_call(v, out_id);
}

static enum otp_status frail_frame(struct otp_visitor *v, const struct otp_visit_frame *f,
                                   uint32_t *out_id)
{
    ck_assert(f->mapping == 0 || f->mapping > 500000);
    return frail_call(v, out_id);
}

static enum otp_status frail_stack(struct otp_visitor *v, const uint32_t *frames, size_t count,
                                   uint32_t *out_id)
{
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_gt(frames[i], 500000);
    }
    return frail_call(v, out_id);
}

static enum otp_status frail_attr(struct otp_visitor *v, const struct otp_attr *a, uint32_t *out_id)
{
    (void)a;
    return frail_call(v, out_id);
}

static enum otp_status frail_link(struct otp_visitor *v, const uint8_t trace_id[16],
                                  const uint8_t span_id[8], uint32_t *out_id)
{
    (void)trace_id;
    (void)span_id;
    return frail_call(v, out_id);
}

static enum otp_status frail_sample(struct otp_visitor *v, const struct otp_visit_sample *s)
{
    ck_assert_uint_gt(s->stack, 500000);
    for (size_t i = 0; i < s->attr_count; i++) {
        ck_assert_uint_gt(s->attrs[i], 500000);
    }
    return frail_call(v, NULL);
}

static enum otp_status frail_end(struct otp_visitor *v)
{
    return frail_call(v, NULL);
}

static struct frail make_frail(unsigned fails_at)
{
    struct frail f = {.visitor = {.begin_profile = frail_begin,
                                  .mapping = frail_mapping,
                                  .frame = frail_frame,
                                  .stack = frail_stack,
                                  .attr = frail_attr,
                                  .link = frail_link,
                                  .sample = frail_sample,
                                  .end_profile = frail_end},
                      .fails_at = fails_at};
    return f;
}

START_TEST(test_tee_poisons_one_alone)
{
    const struct enc_random random = {.seed = 4, .samples = 40};
    struct enc_rig alone;
    enc_rig_init(&alone, NULL);
    ck_assert_int_eq(enc_random_tell(&random, alone.v, NULL), OTP_OK);
    enc_rig_finish(&alone);
    for (unsigned n = 1; n < 200; n++) {
        struct frail frail = make_frail(n);
        struct otp_heap heap;
        struct otp_tee *tee;
        struct enc_rig r;
        enc_rig_init(&r, NULL);
        struct otp_visitor *const visitors[] = {&frail.visitor, r.v};
        otp_heap_init(&heap, (size_t)16 << 20);
        ck_assert_int_eq(otp_tee_create(&heap, visitors, 2, &tee), OTP_OK);
        ck_assert_int_eq(enc_random_tell(&random, otp_tee_visitor(tee), NULL), OTP_OK);
        ck_assert_int_eq(otp_tee_status(tee, 0), OTP_FULL);
        ck_assert_int_eq(otp_tee_status(tee, 1), OTP_OK);
        ck_assert_int_eq(otp_otlp_builder_finish(r.builder, &r.out), OTP_OK);
        ck_assert_uint_eq(r.out.len, alone.out.len);
        ck_assert_mem_eq(r.out.data, alone.out.data, r.out.len);
        enc_rig_fini(&r);
        otp_tee_destroy(tee);
        otp_heap_reset(&heap);
    }
    enc_rig_fini(&alone);
}
END_TEST

START_TEST(test_tee_limits)
{
    struct frail frail = make_frail(1);
    struct otp_visitor *visitors[OTP_TEE_MAX + 1];
    struct otp_heap heap;
    struct otp_tee *tee;
    uint32_t id;
    for (size_t i = 0; i <= OTP_TEE_MAX; i++) {
        visitors[i] = &frail.visitor;
    }
    otp_heap_init(&heap, (size_t)1 << 20);
    ck_assert_int_eq(otp_tee_create(&heap, visitors, 0, &tee), OTP_INVALID);
    ck_assert_int_eq(otp_tee_create(&heap, visitors, OTP_TEE_MAX + 1, &tee), OTP_INVALID);
    ck_assert_int_eq(otp_tee_create(&heap, visitors, 1, &tee), OTP_OK);
    struct otp_visitor *v = otp_tee_visitor(tee);
    ck_assert_int_eq(v->stack(v, NULL, 0, &id), OTP_FULL); /* nobody listens any more */
    ck_assert_int_eq(v->end_profile(v), OTP_FULL);
    ck_assert_int_eq(otp_tee_status(tee, 1), OTP_INVALID);
    otp_tee_destroy(tee);

    frail = make_frail(100);
    ck_assert_int_eq(otp_tee_create(&heap, visitors, 1, &tee), OTP_OK);
    v = otp_tee_visitor(tee);
    const uint32_t wrong = 5;
    ck_assert_int_eq(v->stack(v, &wrong, 1, &id), OTP_INVALID); /* an id it never gave */
    ck_assert_int_eq(v->end_profile(v), OTP_INVALID);
    ck_assert_uint_eq(frail.calls, 0);
    otp_tee_destroy(tee);
    otp_heap_reset(&heap);

    otp_heap_init(&heap, 4096);
    ck_assert_int_eq(otp_tee_create(&heap, visitors, 1, &tee), OTP_NO_MEMORY);
    otp_heap_reset(&heap);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("encode_random");
    TCase *t = tcase_create("random");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_parts_say_what_the_whole_says);
    tcase_add_test(t, test_says_what_was_told);
    tcase_add_test(t, test_compact_says_the_same);
    tcase_add_test(t, test_compact_with_little_memory);
    tcase_add_test(t, test_rows_say_what_samples_say);
    tcase_add_test(t, test_equal_rows_are_merged);
    tcase_add_test(t, test_rows_that_are_refused);
    tcase_add_test(t, test_memory_limit);
    tcase_add_test(t, test_tee_equals_separate_visits);
    tcase_add_test(t, test_tee_poisons_one_alone);
    tcase_add_test(t, test_tee_limits);
    suite_add_tcase(suite, t);
    return unit_run(suite);
}
