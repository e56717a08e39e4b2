/* SPDX-License-Identifier: Apache-2.0 */
/* The builder of OTEP-0239's form: the proposal's examples byte for byte, and random visits. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/otep239.pb-c.h"

#include "core/encode/otep239.h"
#include "tests/unit/encode_random.h"
#include "tests/unit/run.h"

#define PB(name) Otep239__##name

static void give_id(void *arg, uint8_t out_id[16])
{
    memcpy(out_id, arg, 16);
}

struct rig {
    struct otp_heap heap;
    struct otp_otep239_builder *builder;
    struct otp_visitor *v;
    struct otp_buf out;
};

static void rig_init(struct rig *r, const struct otp_otep239_options *options)
{
    memset(r, 0, sizeof(*r));
    otp_heap_init(&r->heap, (size_t)256 << 20);
    otp_buf_init(&r->out, &r->heap, (size_t)64 << 20);
    ck_assert_int_eq(otp_otep239_builder_create(&r->heap, options, &r->builder), OTP_OK);
    r->v = otp_otep239_builder_visitor(r->builder);
}

static void rig_fini(struct rig *r)
{
    otp_otep239_builder_destroy(r->builder);
    otp_buf_fini(&r->out);
    ck_assert_ptr_null(r->heap.large);
    otp_heap_reset(&r->heap);
}

static void expect_file(struct rig *r, const char *path)
{
    unsigned char want[1024];
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s cannot be opened (run from the top folder)", path);
    size_t len = fread(want, 1, sizeof(want), f);
    fclose(f);
    ck_assert_int_eq(otp_otep239_builder_finish(r->builder, &r->out), OTP_OK);
    ck_assert_uint_eq(r->out.len, len);
    ck_assert_mem_eq(r->out.data, want, len);
}

static void begin(struct otp_visitor *v, const char *type, const char *unit, uint64_t start,
                  uint64_t length)
{
    const struct otp_value_type t = {.type = enc_text(type), .unit = enc_text(unit)};
    const struct otp_visit_profile p = {
        .types = &t, .type_count = 1, .time_unix_ns = start, .duration_ns = length};
    ck_assert_int_eq(v->begin_profile(v, &p), OTP_OK);
}

START_TEST(test_example_of_the_container)
{
    uint8_t id[16];
    uint8_t trace[16];
    uint8_t span[8];
    uint32_t stacks[2];
    uint32_t frames[3];
    uint32_t attr;
    for (unsigned i = 0; i < 16; i++) {
        id[i] = (uint8_t)(i + 1);
        trace[i] = (uint8_t)(i % 4 + 1);
    }
    memset(span, 0x99, sizeof(span));
    struct otp_otep239_options o = {.keep_attrs = true, .make_id = give_id, .make_id_arg = id};
    o.envelope.resource_schema_url = enc_text("todo");
    struct otp_attr attrs[3] = {
        {.key = enc_text("trace_id"), .kind = OTP_ATTR_BYTES},
        {.key = enc_text("span_id"), .kind = OTP_ATTR_BYTES},
        enc_attr_string("region", "us"),
    };
    struct rig r;
    attrs[0].string = otp_text_make((const char *)trace, 16);
    attrs[1].string = otp_text_make((const char *)span, 8);
    rig_init(&r, &o);
    begin(r.v, "cpu", "samples", 1687841520000000, 10000000);
    frames[0] = enc_frame(r.v, "foo");
    frames[1] = enc_frame(r.v, "bar");
    frames[2] = enc_frame(r.v, "baz");
    ck_assert_int_eq(r.v->stack(r.v, frames, 3, &stacks[0]), OTP_OK);
    ck_assert_int_eq(r.v->stack(r.v, frames, 2, &stacks[1]), OTP_OK);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(r.v->attr(r.v, &attrs[i], &attr), OTP_OK);
    }
    enc_sample_add(r.v, stacks[0], 100, 0, 1687841528000000);
    enc_sample_add(r.v, stacks[1], 200, 0, 0);
    enc_end(r.v);
    expect_file(&r, "tests/golden/container.otep239");
    rig_fini(&r);
}
END_TEST

START_TEST(test_example_of_the_slices)
{
    static const char *const names[] = {"foo", "bar", "baz", "abc", "def"};
    uint8_t id[16] = {0};
    const struct otp_otep239_options o = {.make_id = give_id, .make_id_arg = id};
    uint32_t frames[5];
    uint32_t stacks[3];
    struct rig r;
    rig_init(&r, &o);
    begin(r.v, "", "", 0, 0);
    for (size_t i = 0; i < 5; i++) {
        frames[i] = enc_frame(r.v, names[i]);
    }
    ck_assert_int_eq(r.v->stack(r.v, frames, 3, &stacks[0]), OTP_OK);
    ck_assert_int_eq(r.v->stack(r.v, frames + 3, 2, &stacks[1]), OTP_OK);
    ck_assert_int_eq(r.v->stack(r.v, frames, 2, &stacks[2]), OTP_OK);
    for (size_t i = 0; i < 3; i++) {
        enc_sample_add(r.v, stacks[i], 100 * (int64_t)(i + 1), 0, 0);
    }
    enc_end(r.v);
    expect_file(&r, "tests/golden/slices.otep239");
    rig_fini(&r);
}
END_TEST

/* Every slice says the stack that was told: random ones, told deep before shallow and mixed. */
static void check_profile(const PB(Profile) * p)
{
    size_t n = p->n_location_indices;
    ck_assert_str_eq(p->string_table[0], "");
    for (size_t i = 0; i < p->n_sample; i++) {
        const PB(Sample) *s = p->sample[i];
        ck_assert_uint_eq(s->n_value, p->n_sample_type);
        ck_assert_uint_le(s->locations_length, n);
        ck_assert_uint_le(s->locations_start_index, n - s->locations_length);
        for (size_t k = 0; k < s->n_attributes; k++) {
            ck_assert_uint_lt(s->attributes[k], p->n_attribute_table);
        }
        ck_assert(s->link == 0 || s->link < p->n_link_table);
    }
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_lt((size_t)p->location_indices[i], p->n_location);
    }
    for (size_t i = 0; i < p->n_location; i++) {
        ck_assert(p->n_mapping == 0 || p->location[i]->mapping_index < p->n_mapping);
        for (size_t k = 0; k < p->location[i]->n_line; k++) {
            ck_assert_uint_lt(p->location[i]->line[k]->function_index, p->n_function);
        }
    }
}

static int64_t total_of(const ENC_PB(ProfilesData) * data)
{
    int64_t sum = 0;
    const ENC_PB(ScopeProfiles) *scope = data->resource_profiles[0]->scope_profiles[0];
    for (size_t i = 0; i < scope->n_profiles; i++) {
        for (size_t k = 0; k < scope->profiles[i]->n_samples; k++) {
            const ENC_PB(Sample) *s = scope->profiles[i]->samples[k];
            for (size_t n = 0; n < s->n_values; n++) {
                sum += s->values[n];
            }
            sum += s->n_values == 0 ? (int64_t)s->n_timestamps_unix_nano : 0;
        }
    }
    return sum;
}

static int64_t check_message(const PB(ProfilesData) * data)
{
    int64_t sum = 0;
    const PB(ScopeProfiles) *scope = data->resource_profiles[0]->scope_profiles[0];
    for (size_t i = 0; i < scope->n_profiles; i++) {
        const PB(Profile) *p = scope->profiles[i]->profile;
        check_profile(p);
        for (size_t k = 0; k < p->n_sample; k++) {
            for (size_t n = 0; n < p->sample[k]->n_value; n++) {
                sum += p->sample[k]->value[n];
            }
        }
    }
    return sum;
}

START_TEST(test_random_visits)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        const struct enc_random random = {.seed = seed, .samples = 100};
        const struct otp_otep239_options o = {.keep_empty = false};
        struct enc_rig otlp;
        struct rig r;
        rig_init(&r, &o);
        enc_rig_init(&otlp, NULL);
        ck_assert_int_eq(enc_random_tell(&random, r.v, NULL), OTP_OK);
        ck_assert_int_eq(enc_random_tell(&random, otlp.v, NULL), OTP_OK);
        enum otp_status status = otp_otep239_builder_finish(r.builder, &r.out);
        if (status == OTP_OK) {
            enc_rig_finish(&otlp);
            PB(ProfilesData) *data = otep239__profiles_data__unpack(NULL, r.out.len, r.out.data);
            ck_assert_ptr_nonnull(data);
            ck_assert_int_eq(check_message(data), total_of(otlp.data));
            otep239__profiles_data__free_unpacked(data, NULL);
        } else {
            ck_assert_int_eq(status, OTP_NOT_FOUND);
        }
        enc_rig_fini(&otlp);
        rig_fini(&r);
    }
}
END_TEST

START_TEST(test_memory_limit)
{
    const struct enc_random random = {.seed = 9, .samples = 1500};
    const struct otp_otep239_options o = {.keep_empty = false};
    size_t succeeded = 0;
    size_t failed = 0;
    for (size_t limit = 0; limit <= (size_t)4 << 20; limit += 50000) {
        struct otp_otep239_builder *b = NULL;
        struct otp_heap heap;
        struct otp_buf out;
        otp_heap_init(&heap, limit);
        otp_buf_init(&out, &heap, (size_t)64 << 20);
        enum otp_status status = otp_otep239_builder_create(&heap, &o, &b);
        if (status == OTP_OK) {
            status = enc_random_tell(&random, otp_otep239_builder_visitor(b), NULL);
        }
        if (status == OTP_OK) {
            status = otp_otep239_builder_finish(b, &out);
        }
        ck_assert(status == OTP_OK || status == OTP_NO_MEMORY);
        ck_assert(status == OTP_OK || out.len == 0);
        succeeded += status == OTP_OK;
        failed += status != OTP_OK;
        otp_otep239_builder_destroy(b);
        otp_buf_fini(&out);
        ck_assert_ptr_null(heap.large);
        otp_heap_reset(&heap);
    }
    ck_assert_uint_ge(succeeded, 1);
    ck_assert_uint_ge(failed, 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("encode_otep239");
    TCase *t = tcase_create("otep239");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_example_of_the_container);
    tcase_add_test(t, test_example_of_the_slices);
    tcase_add_test(t, test_random_visits);
    tcase_add_test(t, test_memory_limit);
    suite_add_tcase(suite, t);
    return unit_run(suite);
}
