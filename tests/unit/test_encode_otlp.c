/* SPDX-License-Identifier: Apache-2.0 */
/* The OTLP builder, rule by rule: each test tells a visit and reads the message with the generated
 * code. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/encode_help.h"
#include "tests/unit/run.h"

static const char *const foo_main[] = {"foo", "main", NULL};
static const char *const bar_main[] = {"bar", "main", NULL};

static const ENC_PB(ProfilesDictionary) * dict_of(const struct enc_rig *r)
{
    return r->data->dictionary;
}

static size_t profiles_of(const struct enc_rig *r)
{
    return r->data->resource_profiles[0]->scope_profiles[0]->n_profiles;
}

static const char *type_of(const struct enc_rig *r, size_t profile)
{
    return dict_of(r)->string_table[enc_rig_profile(r, profile)->sample_type->type_strindex];
}

/* The only sample of a profile. */
static const ENC_PB(Sample) * only_sample(const struct enc_rig *r, size_t profile)
{
    ck_assert_uint_eq(enc_rig_profile(r, profile)->n_samples, 1);
    return enc_rig_profile(r, profile)->samples[0];
}

static void expect_finish(struct enc_rig *r, enum otp_status status)
{
    otp_buf_clear(&r->out);
    ck_assert(otp_buf_add_str(&r->out, "before"));
    ck_assert_int_eq(otp_otlp_builder_finish(r->builder, &r->out), status);
    ck_assert_uint_eq(r->out.len, 6);
    ck_assert_mem_eq(r->out.data, "before", 6);
    ck_assert(otp_buf_ok(&r->out));
}

/* ---- samples ---- */

START_TEST(test_nothing_to_write)
{
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    expect_finish(&r, OTP_NOT_FOUND);
    enc_begin(r.v, "cpu", "nanoseconds", NULL, NULL);
    uint32_t s = enc_stack(r.v, foo_main);
    enc_sample_add(r.v, s, 0, 0, 0);
    enc_sample_add(r.v, s, 0, 0, 1500);
    enc_sample_add(r.v, s, 5, 0, 0);
    enc_sample_add(r.v, s, -5, 0, 0);
    expect_finish(&r, OTP_INVALID); /* still open */
    enc_end(r.v);
    expect_finish(&r, OTP_NOT_FOUND);
    enc_rig_fini(&r);
}
END_TEST

START_TEST(test_smallest_message)
{
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    enc_begin(r.v, "", "", NULL, NULL);
    enc_sample_add(r.v, 0, 7, 0, 0);
    enc_end(r.v);
    enc_rig_finish(&r);
    const ENC_PB(ProfilesDictionary) *d = dict_of(&r);
    ck_assert_uint_eq(d->n_mapping_table, 1);
    ck_assert_uint_eq(d->n_location_table, 1);
    ck_assert_uint_eq(d->n_function_table, 1);
    ck_assert_uint_eq(d->n_link_table, 1);
    ck_assert_uint_eq(d->n_string_table, 1);
    ck_assert_uint_eq(d->n_attribute_table, 1);
    ck_assert_uint_eq(d->n_stack_table, 1);
    ck_assert_uint_eq(d->link_table[0]->trace_id.len, 0);
    ck_assert_int_eq(only_sample(&r, 0)->stack_index, 0);
    ck_assert_int_eq(only_sample(&r, 0)->values[0], 7);
    enc_rig_fini(&r);
}
END_TEST

/* The first payload example of the format's page on profiles: its tables, told in its order. */
START_TEST(test_published_example)
{
    static const char *const strings[] = {"",       "samples", "count", "cpu", "nanoseconds",
                                          "main",   "foo",     "bar",   "baz", "main.go",
                                          "foo.go", "bar.go",  "baz.go"};
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    const struct otp_value_type type = {.type = enc_text("samples"), .unit = enc_text("count")};
    const struct otp_visit_profile p = {
        .types = &type,
        .type_count = 1,
        .period_type = {.type = enc_text("cpu"), .unit = enc_text("nanoseconds")},
        .period = 50000000,
        .time_unix_ns = 1234567890000000000U,
        .duration_ns = 1000000000,
    };
    ck_assert_int_eq(r.v->begin_profile(r.v, &p), OTP_OK);
    uint32_t frames[4];
    for (size_t i = 0; i < 4; i++) {
        const struct otp_visit_line line = {.name = enc_text(strings[5 + i]),
                                            .filename = enc_text(strings[9 + i]),
                                            .line = (int64_t)(10 * (i + 1))};
        const struct otp_visit_frame f = {.lines = &line, .line_count = 1};
        ck_assert_int_eq(r.v->frame(r.v, &f, &frames[i]), OTP_OK);
    }
    const uint32_t first[] = {frames[2], frames[1], frames[0]};
    const uint32_t second[] = {frames[3], frames[0]};
    uint32_t stacks[2];
    ck_assert_int_eq(r.v->stack(r.v, first, 3, &stacks[0]), OTP_OK);
    ck_assert_int_eq(r.v->stack(r.v, second, 2, &stacks[1]), OTP_OK);
    enc_sample_add(r.v, stacks[0], 3, 0, 0);
    enc_sample_add(r.v, stacks[1], 2, 0, 0);
    enc_end(r.v);
    enc_rig_finish(&r);

    const ENC_PB(ProfilesDictionary) *d = dict_of(&r);
    ck_assert_uint_eq(d->n_string_table, 13);
    for (size_t i = 0; i < 13; i++) {
        ck_assert_str_eq(d->string_table[i], strings[i]);
    }
    ck_assert_uint_eq(d->n_location_table, 5);
    for (int i = 1; i <= 4; i++) {
        ck_assert_int_eq(d->function_table[i]->name_strindex, 4 + i);
        ck_assert_int_eq(d->function_table[i]->filename_strindex, 8 + i);
        ck_assert_int_eq(d->location_table[i]->lines[0]->function_index, i);
        ck_assert_int_eq(d->location_table[i]->lines[0]->line, 10 * i);
    }
    const int32_t want[] = {3, 2, 1};
    ck_assert_uint_eq(d->stack_table[1]->n_location_indices, 3);
    ck_assert_mem_eq(d->stack_table[1]->location_indices, want, sizeof(want));
    const ENC_PB(Profile) *out = enc_rig_profile(&r, 0);
    ck_assert_uint_eq(out->time_unix_nano, 1234567890000000000U);
    ck_assert_uint_eq(out->duration_nano, 1000000000);
    ck_assert_int_eq(out->period, 50000000);
    ck_assert_int_eq(out->period_type->type_strindex, 3);
    ck_assert_int_eq(out->samples[1]->stack_index, 2);
    ck_assert_int_eq(out->samples[1]->values[0], 2);
    enc_rig_fini(&r);
}
END_TEST

START_TEST(test_zero_value_leaves_type)
{
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    enc_begin(r.v, "wall", "nanoseconds", "cpu", "nanoseconds");
    uint32_t foo = enc_stack(r.v, foo_main);
    uint32_t bar = enc_stack(r.v, bar_main);
    enc_sample_add(r.v, foo, 10, 0, 0);
    enc_sample_add(r.v, bar, 20, 5, 0);
    enc_end(r.v);
    enc_begin(r.v, "a", "b", "c", "d");
    enc_sample_add(r.v, foo, 0, 1, 0);
    enc_end(r.v);
    enc_rig_finish(&r);
    ck_assert_uint_eq(profiles_of(&r), 3); /* the type "a" has none */
    ck_assert_str_eq(type_of(&r, 0), "wall");
    ck_assert_str_eq(type_of(&r, 1), "cpu");
    ck_assert_str_eq(type_of(&r, 2), "c");
    ck_assert_uint_eq(enc_rig_profile(&r, 0)->n_samples, 2);
    ck_assert_int_eq(only_sample(&r, 1)->values[0], 5);
    enc_rig_fini(&r);
}
END_TEST

START_TEST(test_no_orphans)
{
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    const struct otp_attr build = enc_attr_string("build", "unused");
    const struct otp_attr used = enc_attr_string("used", "value");
    const struct otp_attr *attrs[] = {&build, &used};
    const uint8_t id[16] = {1};
    enc_begin(r.v, "cpu", "nanoseconds", "unseen", "unseen");
    uint32_t stacks[2];
    for (size_t i = 0; i < 2; i++) {
        uint32_t mapping;
        uint32_t frame;
        const struct otp_visit_mapping m = {
            .start = 1, .limit = 2 + i, .attrs = attrs[i], .attr_count = 1};
        ck_assert_int_eq(r.v->mapping(r.v, &m, &mapping), OTP_OK);
        const struct otp_visit_line line = {.name = enc_text(i == 0 ? "never" : "real")};
        const struct otp_visit_frame f = {.mapping = mapping, .lines = &line, .line_count = 1};
        ck_assert_int_eq(r.v->frame(r.v, &f, &frame), OTP_OK);
        ck_assert_int_eq(r.v->stack(r.v, &frame, 1, &stacks[i]), OTP_OK);
    }
    uint32_t link;
    ck_assert_int_eq(r.v->link(r.v, id, id, &link), OTP_OK);
    ck_assert_uint_ne(link, 0);
    enc_sample_add(r.v, stacks[0], 0, 0, 0);
    enc_sample_add(r.v, stacks[0], 0, 0, 1500);
    enc_sample_add(r.v, stacks[0], 5, 0, 0);
    enc_sample_add(r.v, stacks[0], -5, 0, 0);
    enc_sample_add(r.v, stacks[1], 1, 0, 0);
    enc_end(r.v);
    enc_rig_finish(&r); /* looks for orphans */
    const ENC_PB(ProfilesDictionary) *d = dict_of(&r);
    ck_assert_uint_eq(d->n_mapping_table, 2);
    ck_assert_uint_eq(d->mapping_table[1]->memory_limit, 3);
    ck_assert_uint_eq(d->n_function_table, 2);
    ck_assert_uint_eq(d->n_stack_table, 2);
    ck_assert_uint_eq(d->n_link_table, 1);
    ck_assert_uint_eq(d->n_attribute_table, 2);
    enc_rig_fini(&r);
}
END_TEST

START_TEST(test_equal_samples_merge)
{
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    const struct otp_attr a = enc_attr_string("a", "1");
    const struct otp_attr b = enc_attr_string("b", "1");
    const struct otp_attr later = enc_attr_string("a", "2");
    const int64_t one[] = {1};
    uint32_t ia;
    uint32_t ib;
    uint32_t ilater;
    enc_begin(r.v, "cpu", "nanoseconds", NULL, NULL);
    uint32_t foo = enc_stack(r.v, foo_main);
    ck_assert_uint_eq(foo, enc_stack(r.v, foo_main));
    ck_assert_int_eq(r.v->attr(r.v, &b, &ib), OTP_OK);
    ck_assert_int_eq(r.v->attr(r.v, &a, &ia), OTP_OK);
    ck_assert_int_eq(r.v->attr(r.v, &later, &ilater), OTP_OK);
    const uint32_t lists[][4] = {{ia, ib, 0, 0}, {ib, ia, 0, ia}, {ilater, ia, ib, 0}};
    for (size_t i = 0; i < 3; i++) {
        const struct otp_visit_sample s = {
            .stack = foo, .attrs = lists[i], .attr_count = 4, .values = one};
        ck_assert_int_eq(r.v->sample(r.v, &s), OTP_OK);
    }
    enc_end(r.v);
    enc_rig_finish(&r);
    ck_assert_int_eq(only_sample(&r, 0)->values[0], 3);
    ck_assert_uint_eq(only_sample(&r, 0)->n_attribute_indices, 2);
    ck_assert_uint_eq(dict_of(&r)->n_attribute_table, 3); /* without the overridden one */
    enc_rig_fini(&r);
}
END_TEST

START_TEST(test_different_samples_stay_apart)
{
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    const uint8_t trace[16] = {0, 1};
    const uint8_t span[8] = {9};
    const struct otp_attr x = enc_attr_int("k", 1);
    const struct otp_attr y = enc_attr_string("k", "1");
    const int64_t one[] = {1};
    uint32_t link;
    uint32_t attrs[2];
    enc_begin(r.v, "cpu", "nanoseconds", NULL, NULL);
    ck_assert_int_eq(r.v->link(r.v, trace, span, &link), OTP_OK);
    ck_assert_int_eq(r.v->attr(r.v, &x, &attrs[0]), OTP_OK);
    ck_assert_int_eq(r.v->attr(r.v, &y, &attrs[1]), OTP_OK);
    uint32_t stacks[] = {0, enc_stack(r.v, foo_main), enc_stack(r.v, bar_main)};
    for (size_t i = 0; i < 3 * 3 * 2; i++) {
        const struct otp_visit_sample s = {.stack = stacks[i % 3],
                                           .attrs = &attrs[i / 3 % 3 - (i / 3 % 3 == 2)],
                                           .attr_count = i / 3 % 3 != 2,
                                           .link = i / 9 != 0 ? link : 0,
                                           .values = one};
        ck_assert_int_eq(r.v->sample(r.v, &s), OTP_OK);
    }
    enc_end(r.v);
    enc_rig_finish(&r);
    ck_assert_uint_eq(enc_rig_profile(&r, 0)->n_samples, 18);
    ck_assert_mem_eq(dict_of(&r)->link_table[1]->trace_id.data, trace, 16);
    ck_assert_mem_eq(dict_of(&r)->link_table[1]->span_id.data, span, 8);
    enc_rig_fini(&r);
}
END_TEST

START_TEST(test_observations_append)
{
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    enc_begin(r.v, "cpu", "nanoseconds", NULL, NULL);
    uint32_t foo = enc_stack(r.v, foo_main);
    enc_sample_add(r.v, foo, 30, 0, 1300);
    enc_sample_add(r.v, foo, 10, 0, 1100);
    enc_sample_add(r.v, foo, 31, 0, 1300);
    enc_sample_add(r.v, foo, 20, 0, 1200);
    enc_end(r.v);
    enc_rig_finish(&r);
    const int64_t values[] = {10, 20, 30, 31};
    const uint64_t times[] = {1100, 1200, 1300, 1300};
    const ENC_PB(Sample) *s = only_sample(&r, 0);
    ck_assert_uint_eq(s->n_values, 4);
    ck_assert_mem_eq(s->values, values, sizeof(values));
    ck_assert_mem_eq(s->timestamps_unix_nano, times, sizeof(times));
    enc_rig_fini(&r);
}
END_TEST

/* Sums and observations of one type never share a sample, nor a profile: a profile has one shape.
 */
START_TEST(test_sums_and_observations_apart)
{
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    enc_begin(r.v, "cpu", "nanoseconds", NULL, NULL);
    uint32_t foo = enc_stack(r.v, foo_main);
    enc_sample_add(r.v, foo, 30, 0, 1300);
    enc_sample_add(r.v, foo, 10, 0, 0);
    enc_sample_add(r.v, foo, 12, 0, 0);
    enc_end(r.v);
    enc_rig_finish(&r);
    ck_assert_uint_eq(profiles_of(&r), 2);
    ck_assert_int_eq(only_sample(&r, 0)->values[0], 22);
    ck_assert_uint_eq(only_sample(&r, 0)->n_timestamps_unix_nano, 0);
    ck_assert_int_eq(only_sample(&r, 1)->values[0], 30);
    ck_assert_uint_eq(only_sample(&r, 1)->n_timestamps_unix_nano, 1);
    ck_assert_mem_ne(enc_rig_profile(&r, 0)->profile_id.data,
                     enc_rig_profile(&r, 1)->profile_id.data, 16);
    enc_rig_fini(&r);
}
END_TEST

START_TEST(test_ones_are_implied)
{
    const struct otp_otlp_options keep = {.keep_ones = true};
    for (size_t i = 0; i < 2; i++) {
        struct enc_rig r;
        enc_rig_init(&r, i == 0 ? NULL : &keep);
        enc_begin(r.v, "samples", "count", "cpu", "nanoseconds");
        uint32_t foo = enc_stack(r.v, foo_main);
        enc_sample_add(r.v, foo, 1, 100, 1300);
        enc_sample_add(r.v, foo, 1, 100, 1400);
        enc_end(r.v);
        enc_rig_finish(&r);
        ck_assert_uint_eq(only_sample(&r, 0)->n_timestamps_unix_nano, 2);
        ck_assert_uint_eq(only_sample(&r, 0)->n_values, i == 0 ? 0 : 2);
        ck_assert_uint_eq(only_sample(&r, 1)->n_values, 2);
        enc_rig_fini(&r);
    }
}
END_TEST

START_TEST(test_sums_saturate)
{
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    enc_begin(r.v, "up", "count", "down", "count");
    enc_sample_add(r.v, 0, INT64_MAX, INT64_MIN, 0);
    enc_sample_add(r.v, 0, 5, -5, 0);
    enc_end(r.v);
    enc_rig_finish(&r);
    ck_assert_int_eq(only_sample(&r, 0)->values[0], INT64_MAX);
    ck_assert_int_eq(only_sample(&r, 1)->values[0], INT64_MIN);
    enc_rig_fini(&r);
}
END_TEST

/* ---- folding of the sample count ---- */

struct told {
    int64_t count;
    int64_t wall;
    uint64_t time;
};

/* Tells samples of (samples, count) and (wall, nanoseconds) with period type wall; counts profiles.
 */
static void fold(struct enc_rig *r, bool option, const struct told *told, size_t count)
{
    const struct otp_otlp_options o = {.fold_counts = option};
    const struct otp_value_type types[] = {
        {.type = enc_text("samples"), .unit = enc_text("count")},
        {.type = enc_text("wall"), .unit = enc_text("nanoseconds")},
    };
    const struct otp_visit_profile p = {.types = types,
                                        .type_count = 2,
                                        .period_type = types[1],
                                        .period = 10,
                                        .time_unix_ns = 1000,
                                        .duration_ns = 1000};
    enc_rig_init(r, &o);
    ck_assert_int_eq(r->v->begin_profile(r->v, &p), OTP_OK);
    for (size_t i = 0; i < count; i++) {
        enc_sample_add(r->v, 0, told[i].count, told[i].wall, told[i].time);
    }
    enc_end(r->v);
    enc_rig_finish(r);
}

START_TEST(test_fold_keeps_idle_events)
{
    static const struct told told[] = {{1, 10, 1001}, {1, 0, 1002}, {1, 30, 1003}};
    const int64_t values[] = {10, 0, 30};
    struct enc_rig r;
    fold(&r, true, told, 3);
    ck_assert_uint_eq(profiles_of(&r), 1);
    ck_assert_str_eq(type_of(&r, 0), "wall");
    ck_assert_uint_eq(only_sample(&r, 0)->n_values, 3);
    ck_assert_mem_eq(only_sample(&r, 0)->values, values, sizeof(values));
    enc_rig_fini(&r);
    fold(&r, false, told, 3);
    ck_assert_uint_eq(profiles_of(&r), 2);
    ck_assert_uint_eq(only_sample(&r, 0)->n_timestamps_unix_nano, 3);
    ck_assert_uint_eq(only_sample(&r, 1)->n_timestamps_unix_nano, 2);
    enc_rig_fini(&r);
}
END_TEST

START_TEST(test_fold_refused)
{
    static const struct told cases[][2] = {
        {{1, 10, 1001}, {2, 20, 1002}}, /* two events at once */
        {{1, 10, 1001}, {1, 10, 0}},    /* an event without a time */
        {{1, 10, 1001}, {0, 5, 1002}},  /* an observation that is no event */
        {{1, 10, 1001}, {0, 5, 0}},
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(cases); i++) {
        struct enc_rig r;
        fold(&r, true, cases[i], 2);
        ck_assert_str_eq(type_of(&r, 0), "samples");
        ck_assert_uint_ge(profiles_of(&r), 2);
        enc_rig_fini(&r);
    }
}
END_TEST

/* ---- time ---- */

static void tell_span(struct otp_visitor *v, uint64_t time, uint64_t duration, uint64_t seen)
{
    const struct otp_value_type type = {.type = enc_text("a"), .unit = enc_text("b")};
    const struct otp_visit_profile p = {
        .types = &type, .type_count = 1, .time_unix_ns = time, .duration_ns = duration};
    ck_assert_int_eq(v->begin_profile(v, &p), OTP_OK);
    enc_sample_add(v, 0, 2, 0, seen);
    enc_end(v);
}

START_TEST(test_range_is_the_union)
{
    static const struct {
        uint64_t spans[3][3]; /* time, duration, time of an observation */
        uint64_t time;
        uint64_t duration;
    } cases[] = {
        {{{1000, 500, 0}, {2000, 0, 0}, {1200, 100, 0}}, 1000, 1000},
        {{{1000, 500, 0}, {1000, 500, 1500}, {1000, 500, 999}}, 999, 502},
        {{{0, 700, 0}, {1000, 500, 0}, {0, 0, 0}}, 1000, 700},
        {{{0, 0, 0}, {0, 30, 0}, {0, 20, 0}}, 0, 30},
        {{{0, 0, 5}, {0, 0, 9}, {0, 0, 0}}, 5, 5},
        {{{UINT64_MAX - 1, 50, 0}, {UINT64_MAX - 2, 0, 0}, {UINT64_MAX - 1, 0, UINT64_MAX - 1}},
         UINT64_MAX - 2,
         2},
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(cases); i++) {
        struct enc_rig r;
        enc_rig_init(&r, NULL);
        for (size_t k = 0; k < 3; k++) {
            tell_span(r.v, cases[i].spans[k][0], cases[i].spans[k][1], cases[i].spans[k][2]);
        }
        enc_rig_finish(&r); /* looks at all profiles and times */
        ck_assert_uint_eq(profiles_of(&r), 3);
        ck_assert_uint_eq(enc_rig_profile(&r, 0)->time_unix_nano, cases[i].time);
        ck_assert_uint_eq(enc_rig_profile(&r, 0)->duration_nano, cases[i].duration);
        enc_rig_fini(&r);
    }
}
END_TEST

/* ---- around the samples ---- */

START_TEST(test_ids)
{
    const struct otp_otlp_options random = {.link0 = OTP_LINK0_EMPTY};
    struct otp_heap heap;
    struct otp_otlp_builder *b;
    struct otp_buf first;
    struct otp_buf second;
    otp_heap_init(&heap, (size_t)64 << 20);
    otp_buf_init(&first, &heap, (size_t)1 << 20);
    otp_buf_init(&second, &heap, (size_t)1 << 20);
    ck_assert_int_eq(otp_otlp_builder_create(&heap, &random, &b), OTP_OK);
    struct otp_visitor *v = otp_otlp_builder_visitor(b);
    enc_begin(v, "a", "b", "c", "d");
    enc_sample_add(v, 0, 1, 1, 0);
    enc_end(v);
    ck_assert_int_eq(otp_otlp_builder_finish(b, &first), OTP_OK);
    ck_assert_int_eq(otp_otlp_builder_finish(b, &second), OTP_OK);
    ck_assert_uint_eq(first.len, second.len);
    ck_assert_mem_eq(first.data, second.data, first.len);
    ENC_PB(ProfilesData) *data = enc_decode(first.data, first.len);
    enc_check_rules(data);
    ENC_PB(Profile) **p = data->resource_profiles[0]->scope_profiles[0]->profiles;
    ck_assert_uint_eq(p[0]->profile_id.len, 16);
    ck_assert_uint_eq(p[1]->profile_id.len, 16);
    ck_assert_mem_ne(p[0]->profile_id.data, p[1]->profile_id.data, 16);
    enc_free(data);
    otp_otlp_builder_destroy(b);
    otp_heap_reset(&heap);
}
END_TEST

static void no_id(void *arg, uint8_t out_id[16])
{
    (void)arg;
    memset(out_id, 0, 16);
}

START_TEST(test_zero_id_and_zero_link)
{
    const struct otp_otlp_options o = {.make_id = no_id, .link0 = OTP_LINK0_ZEROS};
    struct enc_rig r;
    enc_rig_init(&r, &o);
    enc_begin(r.v, "a", "b", NULL, NULL);
    enc_sample_add(r.v, 0, 1, 0, 0);
    enc_end(r.v);
    enc_rig_finish(&r);
    ck_assert_uint_eq(enc_rig_profile(&r, 0)->profile_id.len, 0);
    ck_assert_uint_eq(dict_of(&r)->link_table[0]->trace_id.len, 16);
    ck_assert_uint_eq(dict_of(&r)->link_table[0]->span_id.len, 8);
    enc_rig_fini(&r);
}
END_TEST

START_TEST(test_resource_and_scope)
{
    struct otp_attr resource[] = {enc_attr_string("service.name", "old"),
                                  enc_attr_int("process.pid", 42), enc_attr_string("", "no key"),
                                  enc_attr_string("service.name", "new")};
    const struct otp_attr scope[] = {enc_attr_string("s", "t")};
    resource[1].unit = enc_text("not written");
    const struct otp_otlp_options o = {
        .resource_attrs = resource,
        .resource_attr_count = 4,
        .resource_schema_url = enc_text("https://r"),
        .scope_name = enc_text("name"),
        .scope_version = enc_text("1.2"),
        .scope_attrs = scope,
        .scope_attr_count = 1,
        .scope_schema_url = enc_text("https://s"),
    };
    struct enc_rig r;
    enc_rig_init(&r, &o);
    enc_begin(r.v, "a", "b", NULL, NULL);
    enc_sample_add(r.v, 0, 1, 0, 0);
    enc_end(r.v);
    enc_rig_finish(&r);
    const ENC_PB(ResourceProfiles) *rp = r.data->resource_profiles[0];
    ck_assert_str_eq(rp->schema_url, "https://r");
    ck_assert_uint_eq(rp->resource->n_attributes, 2);
    ck_assert_str_eq(rp->resource->attributes[0]->key, "service.name");
    ck_assert_str_eq(rp->resource->attributes[0]->value->string_value, "new");
    ck_assert_int_eq(rp->resource->attributes[1]->value->int_value, 42);
    ck_assert_str_eq(rp->scope_profiles[0]->schema_url, "https://s");
    ck_assert_str_eq(rp->scope_profiles[0]->scope->name, "name");
    ck_assert_str_eq(rp->scope_profiles[0]->scope->version, "1.2");
    ck_assert_str_eq(rp->scope_profiles[0]->scope->attributes[0]->key, "s");
    ck_assert_uint_eq(dict_of(&r)->n_string_table, 3); /* nothing of all this */
    enc_rig_fini(&r);
}
END_TEST

START_TEST(test_profile_fields)
{
    const struct otp_attr attrs[] = {enc_attr_int("otelprof.dropped.ring", 3)};
    const struct otp_value_type type = {.type = enc_text("a"), .unit = enc_text("b")};
    struct otp_visit_profile p = {.types = &type,
                                  .type_count = 1,
                                  .attrs = attrs,
                                  .attr_count = 1,
                                  .dropped_attributes = 7,
                                  .payload_format = enc_text("pprof"),
                                  .payload = otp_text_make("\0\1\2", 3)};
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    ck_assert_int_eq(r.v->begin_profile(r.v, &p), OTP_OK);
    enc_sample_add(r.v, 0, 1, 0, 0);
    enc_end(r.v);
    enc_rig_finish(&r);
    const ENC_PB(Profile) *out = enc_rig_profile(&r, 0);
    ck_assert_uint_eq(out->dropped_attributes_count, 7);
    ck_assert_str_eq(out->original_payload_format, "pprof");
    ck_assert_uint_eq(out->original_payload.len, 3);
    ck_assert_mem_eq(out->original_payload.data, "\0\1\2", 3);
    ck_assert_uint_eq(out->n_attribute_indices, 1);
    p.payload.len = 0;
    ck_assert_int_eq(r.v->begin_profile(r.v, &p), OTP_INVALID);
    enc_rig_fini(&r);
}
END_TEST

/* ---- misuse, reuse ---- */

static enum otp_status misuse(struct otp_visitor *v, int how)
{
    static const uint32_t wrong = 77;
    static const int64_t one[OTP_VISIT_MAX_TYPES + 1] = {1};
    static const struct otp_value_type types[OTP_VISIT_MAX_TYPES + 1];
    const struct otp_visit_profile p = {.types = types,
                                        .type_count = how == 0   ? 0
                                                      : how == 1 ? OTP_VISIT_MAX_TYPES + 1
                                                                 : 1};
    struct otp_visit_sample s = {.values = one};
    uint32_t id;
    if (how == 2) {
        return v->sample(v, &s); /* outside of a profile */
    }
    if (how == 3) {
        return v->end_profile(v);
    }
    if (how == 4) {
        return v->stack(v, &wrong, 1, &id);
    }
    if (how == 5) {
        const struct otp_visit_frame f = {.mapping = wrong};
        return v->frame(v, &f, &id);
    }
    enum otp_status status = v->begin_profile(v, &p);
    if (status != OTP_OK || how == 6) {
        return status != OTP_OK ? status : v->begin_profile(v, &p); /* inside of another */
    }
    s.stack = how == 7 ? wrong : 0;
    s.link = how == 8 ? wrong : 0;
    s.attrs = &wrong;
    s.attr_count = how == 9;
    s.timestamp_ns = how == 10 ? UINT64_MAX : 0;
    return v->sample(v, &s);
}

START_TEST(test_misuse_is_sticky)
{
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    ck_assert_int_eq(misuse(r.v, _i), OTP_INVALID);
    ck_assert_int_eq(r.v->end_profile(r.v), OTP_INVALID);
    expect_finish(&r, OTP_INVALID);
    otp_otlp_builder_clear(r.builder);
    expect_finish(&r, OTP_INVALID);
    enc_rig_fini(&r);
}
END_TEST

START_TEST(test_finish_again_after_more)
{
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    enc_begin(r.v, "a", "b", NULL, NULL);
    enc_sample_add(r.v, enc_stack(r.v, foo_main), 1, 0, 0);
    enc_end(r.v);
    enc_rig_finish(&r);
    ck_assert_uint_eq(profiles_of(&r), 1);
    enc_begin(r.v, "c", "d", NULL, NULL);
    enc_sample_add(r.v, enc_stack(r.v, bar_main), 1, 0, 0);
    enc_end(r.v);
    enc_rig_finish(&r);
    ck_assert_uint_eq(profiles_of(&r), 2);
    ck_assert_uint_eq(dict_of(&r)->n_function_table, 4);
    enc_rig_fini(&r);
}
END_TEST

START_TEST(test_clear_keeps_names)
{
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    enc_begin(r.v, "a", "b", NULL, NULL);
    uint32_t foo = enc_stack(r.v, foo_main);
    uint32_t bar = enc_stack(r.v, bar_main);
    enc_sample_add(r.v, foo, 1, 0, 0);
    otp_otlp_builder_clear(r.builder); /* even inside of a profile */
    expect_finish(&r, OTP_NOT_FOUND);
    enc_begin(r.v, "c", "d", NULL, NULL);
    enc_sample_add(r.v, bar, 5, 0, 0);
    enc_end(r.v);
    enc_rig_finish(&r);
    ck_assert_int_eq(only_sample(&r, 0)->values[0], 5);
    ck_assert_uint_eq(dict_of(&r)->n_function_table, 3); /* foo is no orphan of the past */
    enc_rig_fini(&r);
}
END_TEST

/* Many builders in a small heap: what is not given back would not fit. */
START_TEST(test_destroy_returns_memory)
{
    static const struct otp_otlp_options none;
    struct otp_heap heap;
    size_t after_first = 0;
    otp_heap_init(&heap, (size_t)8 << 20);
    for (size_t i = 0; i < 100; i++) {
        struct otp_otlp_builder *b;
        struct otp_buf out;
        otp_buf_init(&out, &heap, (size_t)1 << 20);
        ck_assert_int_eq(otp_otlp_builder_create(&heap, &none, &b), OTP_OK);
        struct otp_visitor *v = otp_otlp_builder_visitor(b);
        enc_begin(v, "a", "b", NULL, NULL);
        for (uint64_t k = 0; k < 200; k++) {
            const char name[] = {(char)('a' + k % 26), (char)('a' + k / 26), '\0'};
            const char *const names[] = {name, "main", NULL};
            enc_sample_add(v, enc_stack(v, names), 1, 0, k);
        }
        enc_end(v);
        ck_assert_int_eq(otp_otlp_builder_finish(b, &out), OTP_OK);
        otp_buf_fini(&out);
        otp_otlp_builder_destroy(b);
        after_first = i == 0 ? heap.mapped_bytes : after_first;
        ck_assert_uint_eq(heap.mapped_bytes, after_first);
    }
    otp_heap_reset(&heap);
}
END_TEST

START_TEST(test_buffer_too_small)
{
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    enc_begin(r.v, "a", "b", NULL, NULL);
    enc_sample_add(r.v, enc_stack(r.v, foo_main), 1, 0, 0);
    enc_end(r.v);
    enc_rig_finish(&r);
    size_t len = r.out.len;
    for (size_t max = 6; max <= len + 32; max++) {
        otp_buf_fini(&r.out);
        r.out.max = max;
        if (max < len + 6) {
            expect_finish(&r, OTP_TOO_LARGE);
        } else if (otp_otlp_builder_finish(r.builder, &r.out) == OTP_OK) {
            ck_assert_uint_eq(r.out.len, len);
            enc_rig_fini(&r);
            return;
        }
    }
    ck_abort_msg("a buffer with room to spare was too small");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("encode_otlp");
    TCase *t = tcase_create("rules");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_nothing_to_write);
    tcase_add_test(t, test_smallest_message);
    tcase_add_test(t, test_published_example);
    tcase_add_test(t, test_zero_value_leaves_type);
    tcase_add_test(t, test_no_orphans);
    tcase_add_test(t, test_equal_samples_merge);
    tcase_add_test(t, test_different_samples_stay_apart);
    tcase_add_test(t, test_observations_append);
    tcase_add_test(t, test_sums_and_observations_apart);
    tcase_add_test(t, test_ones_are_implied);
    tcase_add_test(t, test_sums_saturate);
    tcase_add_test(t, test_fold_keeps_idle_events);
    tcase_add_test(t, test_fold_refused);
    tcase_add_test(t, test_range_is_the_union);
    tcase_add_test(t, test_ids);
    tcase_add_test(t, test_zero_id_and_zero_link);
    tcase_add_test(t, test_resource_and_scope);
    tcase_add_test(t, test_profile_fields);
    tcase_add_loop_test(t, test_misuse_is_sticky, 0, 11);
    tcase_add_test(t, test_finish_again_after_more);
    tcase_add_test(t, test_clear_keeps_names);
    tcase_add_test(t, test_destroy_returns_memory);
    tcase_add_test(t, test_buffer_too_small);
    suite_add_tcase(suite, t);
    return unit_run(suite);
}
