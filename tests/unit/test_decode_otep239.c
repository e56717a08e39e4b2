/* SPDX-License-Identifier: Apache-2.0 */
/* Reading OTEP-0239's form: its example, what our builder writes, and refusals of what is broken.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/otep239.h"
#include "core/encode/otep239.h"
#include "tests/unit/decode_help.h"
#include "tests/unit/encode_random.h"
#include "tests/unit/encode_view.h"
#include "tests/unit/run.h"

static enum otp_status translate(const void *data, size_t len, struct otp_translation *t)
{
    uint8_t *copy = malloc(len + 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, data, len);
    memset(t, 0, sizeof(*t));
    t->budget_bytes = (uint64_t)64 << 20;
    otp_emit_init(&t->out, (size_t)64 << 20);
    enum otp_status status = otp_otep239_decode(copy, len, t);
    if (status != OTP_OK) {
        ck_assert_ptr_nonnull(t->fault.reason);
        ck_assert_uint_le((size_t)(t->fault.at - copy), len);
    }
    free(copy);
    return status;
}

static size_t read_golden(const char *path, unsigned char *out, size_t room)
{
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s cannot be opened (run from the top folder)", path);
    size_t len = fread(out, 1, room, f);
    fclose(f);
    return len;
}

START_TEST(test_example)
{
    unsigned char bytes[1024];
    struct otp_translation t;
    size_t len = read_golden("tests/golden/container.otep239", bytes, sizeof(bytes));
    ck_assert(otp_otep239_is(bytes, len));
    ck_assert_int_eq(translate(bytes, len, &t), OTP_OK);
    ENC_PB(ProfilesData) *data = enc_decode(t.out.data, t.out.len);
    const ENC_PB(ProfilesDictionary) *d = data->dictionary;
    ck_assert_str_eq(data->resource_profiles[0]->schema_url, "todo");
    const ENC_PB(ScopeProfiles) *scope = data->resource_profiles[0]->scope_profiles[0];
    ck_assert_uint_eq(scope->n_profiles, 1);
    const ENC_PB(Profile) *p = scope->profiles[0];
    ck_assert_uint_eq(p->time_unix_nano, 1687841520000000);
    ck_assert_uint_eq(p->duration_nano, 10000000);
    ck_assert_uint_eq(p->profile_id.len, 16);
    ck_assert_str_eq(d->string_table[p->sample_type->type_strindex], "cpu");
    ck_assert_str_eq(d->string_table[p->sample_type->unit_strindex], "samples");
    ck_assert_uint_eq(p->n_samples, 2);
    ck_assert_int_eq(p->samples[0]->values[0], 100);
    ck_assert_uint_eq(p->samples[0]->timestamps_unix_nano[0], 1687841528000000);
    ck_assert_int_eq(p->samples[1]->values[0], 200);
    ck_assert_uint_eq(p->samples[1]->n_timestamps_unix_nano, 0);
    static const char *const names[] = {"foo", "bar", "baz"};
    const ENC_PB(Stack) *stack = d->stack_table[p->samples[0]->stack_index];
    ck_assert_uint_eq(stack->n_location_indices, 3);
    for (size_t i = 0; i < 3; i++) {
        const ENC_PB(Location) *l = d->location_table[stack->location_indices[i]];
        const ENC_PB(Function) *f = d->function_table[l->lines[0]->function_index];
        ck_assert_str_eq(d->string_table[f->name_strindex], names[i]);
    }
    ck_assert_uint_eq(d->stack_table[p->samples[1]->stack_index]->n_location_indices, 2);
    ck_assert_uint_eq(d->n_attribute_table, 4);
    ck_assert_str_eq(d->attribute_table[3]->value->string_value, "us");
    enc_free(data);
    otp_emit_fini(&t.out);
}
END_TEST

START_TEST(test_round_trip)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        const struct enc_random random = {.seed = seed, .samples = 80};
        const struct otp_otep239_options o = {.keep_empty = false};
        struct otp_otep239_builder *b;
        struct otp_translation t;
        struct enc_rig otlp;
        struct otp_buf out;
        enc_rig_init(&otlp, NULL);
        otp_buf_init(&out, &otlp.heap, (size_t)64 << 20);
        ck_assert_int_eq(otp_otep239_builder_create(&otlp.heap, &o, &b), OTP_OK);
        ck_assert_int_eq(enc_random_tell(&random, otp_otep239_builder_visitor(b), NULL), OTP_OK);
        ck_assert_int_eq(enc_random_tell(&random, otlp.v, NULL), OTP_OK);
        if (otp_otep239_builder_finish(b, &out) == OTP_OK) {
            struct enc_view was;
            struct enc_view is;
            enc_rig_finish(&otlp);
            ck_assert(otp_otep239_is(out.data, out.len));
            ck_assert(!otp_otep239_is(otlp.out.data, otlp.out.len));
            ck_assert_int_eq(translate(out.data, out.len, &t), OTP_OK);
            ENC_PB(ProfilesData) *data = enc_decode(t.out.data, t.out.len);
            enc_view_otlp(&was, otlp.data, true);
            enc_view_otlp(&is, data, true);
            enc_view_forget(&was, "By"); /* keys with and without it: then it is left out */
            enc_view_forget(&is, "By");
            enc_view_compare(&is, &was);
            enc_view_fini(&was);
            enc_view_fini(&is);
            enc_free(data);
            otp_emit_fini(&t.out);
        }
        otp_otep239_builder_destroy(b);
        otp_buf_fini(&out);
        enc_rig_fini(&otlp);
    }
}
END_TEST

START_TEST(test_broken_bytes)
{
    unsigned char bytes[1024];
    struct otp_translation t;
    size_t len = read_golden("tests/golden/container.otep239", bytes, sizeof(bytes));
    for (size_t i = 1; i < len; i++) {
        ck_assert_int_eq(translate(bytes, i, &t), OTP_MALFORMED);
        otp_emit_fini(&t.out);
    }
    for (size_t i = 0; i < len; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[i] ^= (unsigned char)(1U << bit);
            if (translate(bytes, len, &t) == OTP_OK) {
                struct otp_profile_set set;
                struct otp_input_fault fault;
                otp_profile_set_init(&set);
                (void)otp_otep239_is(bytes, len);
                enum otp_status status = dec_add(&set, bytes, len, false, &fault);
                ck_assert(status == OTP_OK || fault.reason[0] != '\0');
                otp_profile_set_fini(&set);
            }
            otp_emit_fini(&t.out);
            bytes[i] ^= (unsigned char)(1U << bit);
        }
    }
}
END_TEST

/* ---- small ones by hand ---- */

/* A message of one container with these fields of the profile in it. */
static struct dec_bytes wrap(struct dec_bytes *profile, uint64_t start, uint64_t end)
{
    struct dec_bytes container = {.data = NULL};
    struct dec_bytes scope = {.data = NULL};
    struct dec_bytes resource = {.data = NULL};
    struct dec_bytes all = {.data = NULL};
    dec_fixed64(&container, 2, start);
    dec_fixed64(&container, 3, end);
    dec_text(profile, 6, "");
    dec_message(&container, 8, profile);
    dec_message(&scope, 2, &container);
    dec_message(&resource, 2, &scope);
    dec_message(&all, 1, &resource);
    return all;
}

static void add_sample(struct dec_bytes *profile, uint64_t value, const uint64_t *times,
                       size_t count)
{
    struct dec_bytes s = {.data = NULL};
    dec_packed(&s, 2, &value, 1);
    if (count > 0) {
        dec_packed(&s, 13, times, count);
    }
    dec_message(profile, 2, &s);
}

START_TEST(test_times)
{
    static const uint64_t ms[] = {1687841528000, 1687841529000};
    static const uint64_t ns[] = {1687841528000000001};
    static const uint64_t three[] = {1687841528000, 1687841528001, 1687841528002};
    struct dec_bytes profile = {.data = NULL};
    struct otp_translation t;
    dec_field(&profile, 1, "", 0);
    add_sample(&profile, 2, ms, 2);     /* two observations of 1, in milliseconds */
    add_sample(&profile, 7, ns, 1);     /* one, in nanoseconds */
    add_sample(&profile, 10, three, 3); /* cannot be divided */
    struct dec_bytes b = wrap(&profile, 1687841520000000000, 1687841530000000000);
    ck_assert_int_eq(translate(b.data, b.len, &t), OTP_OK);
    ENC_PB(ProfilesData) *data = enc_decode(t.out.data, t.out.len);
    ENC_PB(Sample) **s = data->resource_profiles[0]->scope_profiles[0]->profiles[0]->samples;
    ck_assert_uint_eq(s[0]->n_values, 2);
    ck_assert_int_eq(s[0]->values[1], 1);
    ck_assert_uint_eq(s[0]->timestamps_unix_nano[1], 1687841529000000000);
    ck_assert_uint_eq(s[1]->timestamps_unix_nano[0], 1687841528000000001);
    ck_assert_int_eq(s[1]->values[0], 7);
    ck_assert_uint_eq(s[2]->n_timestamps_unix_nano, 0);
    ck_assert_int_eq(s[2]->values[0], 10);
    ck_assert_uint_eq(t.lost.odd_times, 1);
    enc_free(data);
    otp_emit_fini(&t.out);
    dec_free(&b);
}
END_TEST

/* field, content of it (of one byte pair), what is said */
static const struct {
    uint32_t field;
    const char *content;
    size_t len;
    const char *says;
} bad[] = {
    {1, "\x08\x05", 2, "string table"},
    {2, "", 0, "one value for each"},
    {2, "\x10\x01\x40\x01", 4, "slice is not inside"},
    {2, "\x10\x01\x08\x00", 4, "location that is not there"},
    {2, "\x10\x01\x52\x01\x00", 5, "attribute is not in the table"},
    {2, "\x10\x01\x60\x01", 4, "link is not in the table"},
    {3, "\x28\x09", 2, "string table"},
    {4, "\x10\x01", 2, "mapping that is not there"},
    {4, "\x22\x00", 2, "function that is not there"},
    {6, "x", 1, "not empty"},
};

START_TEST(test_refusals)
{
    struct dec_bytes profile = {.data = NULL};
    struct otp_translation t;
    if (bad[_i].field != 1) {
        dec_field(&profile, 1, "", 0);
    }
    dec_field(&profile, bad[_i].field, bad[_i].content, bad[_i].len);
    struct dec_bytes b = wrap(&profile, 1, 2);
    ck_assert_int_eq(translate(b.data, b.len, &t), OTP_MALFORMED);
    ck_assert_msg(strstr(t.fault.reason, bad[_i].says) != NULL, "%s", t.fault.reason);
    otp_emit_fini(&t.out);
    dec_free(&b);
}
END_TEST

/* What the attribute of ids holds; how many of two profiles have one; is it an attribute still? */
static const struct {
    const char *value; /* AnyValue */
    size_t len;
    uint32_t ids;
    bool is_attr;
} id_lists[] = {
    {"\x2a\x14\x0a\x12\x3a\x10"
     "0123456789abcdef",
     22, 2, false},
    {"\x2a\x04\x0a\x02\x3a\x00", 6, 1, false}, /* the second has none */
    {"\x3a\x10"
     "0123456789abcdef",
     18, 1, true},            /* no array */
    {"\x2a\x00", 2, 1, true}, /* too few */
    {"\x2a\x28\x0a\x12\x3a\x10"
     "0123456789abcdef"
     "\x0a\x12\x3a\x10"
     "0123456789abcdef",
     42, 1, true},                               /* too many */
    {"\x2a\x07\x0a\x05\x3a\x03xyz", 9, 1, true}, /* too short */
    {"\x2a\x05\x0a\x03\x0a\x01x", 7, 1, true},   /* a text */
    {"\x2a\x04\x0a\x02\x18\x07", 6, 1, true},    /* a number */
};

START_TEST(test_ids_of_the_other_types)
{
    struct dec_bytes parts[5] = {{.data = NULL}}; /* attribute, profile, container and so on */
    struct dec_bytes all = {.data = NULL};
    struct otp_translation t;
    dec_text(&parts[0], 1, "otelprof.profile_ids");
    dec_field(&parts[0], 2, id_lists[_i].value, id_lists[_i].len);
    dec_field(&parts[1], 1, "", 0);
    dec_field(&parts[1], 1, "", 0);
    dec_text(&parts[1], 6, "");
    dec_text(&parts[2], 1, "fedcba9876543210");
    dec_message(&parts[2], 4, &parts[0]);
    dec_message(&parts[2], 8, &parts[1]);
    dec_message(&parts[3], 2, &parts[2]);
    dec_message(&parts[4], 2, &parts[3]);
    dec_message(&all, 1, &parts[4]);
    ck_assert_int_eq(translate(all.data, all.len, &t), OTP_OK);
    ENC_PB(ProfilesData) *data = enc_decode(t.out.data, t.out.len);
    ENC_PB(Profile) **p = data->resource_profiles[0]->scope_profiles[0]->profiles;
    ck_assert_uint_eq(data->resource_profiles[0]->scope_profiles[0]->n_profiles, 2);
    ck_assert_mem_eq(p[0]->profile_id.data, "fedcba9876543210", 16);
    ck_assert_uint_eq(p[1]->profile_id.len, id_lists[_i].ids == 2 ? 16 : 0);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(p[i]->n_attribute_indices, id_lists[_i].is_attr ? 1 : 0);
    }
    enc_free(data);
    otp_emit_fini(&t.out);
    dec_free(&all);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode_otep239");
    TCase *t = tcase_create("otep239");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_example);
    tcase_add_test(t, test_round_trip);
    tcase_add_test(t, test_broken_bytes);
    tcase_add_test(t, test_times);
    tcase_add_loop_test(t, test_refusals, 0, (int)OTP_ARRAY_LEN(bad));
    tcase_add_loop_test(t, test_ids_of_the_other_types, 0, (int)OTP_ARRAY_LEN(id_lists));
    suite_add_tcase(suite, t);
    return unit_run(suite);
}
