/* SPDX-License-Identifier: Apache-2.0 */
/* What a visit names, as the OTLP builder writes it: attributes, texts, frames, mappings, links. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/encode_help.h"
#include "tests/unit/run.h"

static const ENC_PB(ProfilesDictionary) * dict_of(const struct enc_rig *r)
{
    return r->data->dictionary;
}

/* ---- attributes ---- */

START_TEST(test_attribute_kinds)
{
    const struct otp_attr list_items[] = {enc_attr_string("", "x"), enc_attr_int("", -1)};
    const struct otp_attr map_items[] = {enc_attr_string("k2", "v"), enc_attr_int("k1", 1),
                                         enc_attr_int("k2", 2)};
    const struct otp_attr attrs[] = {
        enc_attr_string("string", "text"),
        enc_attr_int("int", INT64_MIN),
        {.key = enc_text("bool"), .kind = OTP_ATTR_BOOL, .number = 9},
        {.key = enc_text("double"), .kind = OTP_ATTR_DOUBLE, .real = 0.5, .unit = enc_text("s")},
        {.key = enc_text("bytes"), .kind = OTP_ATTR_BYTES, .string = otp_text_make("\0\xff", 2)},
        {.key = enc_text("list"),
         .kind = OTP_ATTR_LIST,
         .items = list_items,
         .item_count = OTP_ARRAY_LEN(list_items)},
        {.key = enc_text("map"),
         .kind = OTP_ATTR_MAP,
         .items = map_items,
         .item_count = OTP_ARRAY_LEN(map_items)},
        {.key = enc_text("empty"), .kind = OTP_ATTR_EMPTY},
    };
    const struct otp_value_type type = {.type = enc_text("a"), .unit = enc_text("b")};
    const struct otp_visit_profile p = {
        .types = &type, .type_count = 1, .attrs = attrs, .attr_count = OTP_ARRAY_LEN(attrs)};
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    ck_assert_int_eq(r.v->begin_profile(r.v, &p), OTP_OK);
    enc_sample_add(r.v, 0, 1, 0, 0);
    enc_end(r.v);
    enc_rig_finish(&r);
    const ENC_PB(ProfilesDictionary) *d = dict_of(&r);
    ENC_PB(KeyValueAndUnit) **t = d->attribute_table;
    ck_assert_uint_eq(d->n_attribute_table, 9);
    ck_assert_str_eq(d->string_table[t[1]->key_strindex], "string");
    ck_assert_str_eq(t[1]->value->string_value, "text");
    ck_assert_int_eq(t[2]->value->int_value, INT64_MIN);
    ck_assert_int_eq(t[3]->value->bool_value, 1);
    ck_assert_double_eq(t[4]->value->double_value, 0.5);
    ck_assert_str_eq(d->string_table[t[4]->unit_strindex], "s");
    ck_assert_uint_eq(t[5]->value->bytes_value.len, 2);
    ck_assert_uint_eq(t[6]->value->array_value->n_values, 2);
    ck_assert_int_eq(t[6]->value->array_value->values[1]->int_value, -1);
    const ENC_COMMON(KeyValueList) *map = t[7]->value->kvlist_value;
    ck_assert_uint_eq(map->n_values, 2);
    ck_assert_str_eq(map->values[0]->key, "k1");
    ck_assert_str_eq(map->values[1]->key, "k2");
    ck_assert_int_eq(map->values[1]->value->int_value, 2);
    ck_assert_int_eq(t[8]->value->value_case,
                     OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE__NOT_SET);
    enc_rig_fini(&r);
}
END_TEST

static uint32_t tell_attr(struct otp_visitor *v, const struct otp_attr *a)
{
    uint32_t id;
    ck_assert_int_eq(v->attr(v, a, &id), OTP_OK);
    return id;
}

START_TEST(test_attribute_identity)
{
    struct enc_rig r;
    enc_rig_init(&r, NULL);
    const struct otp_attr one[] = {enc_attr_int("a", 1), enc_attr_int("b", 2)};
    const struct otp_attr other[] = {enc_attr_int("b", 2), enc_attr_int("a", 1)};
    struct otp_attr x = {.key = enc_text("k"), .kind = OTP_ATTR_MAP, .items = one, .item_count = 2};
    struct otp_attr y = x;
    y.items = other;
    uint32_t id = tell_attr(r.v, &x);
    ck_assert_uint_ne(id, 0);
    ck_assert_uint_eq(tell_attr(r.v, &y), id); /* a map's order does not count */
    y.unit = enc_text("By");
    ck_assert_uint_ne(tell_attr(r.v, &y), id);
    x.kind = OTP_ATTR_LIST;
    y = x;
    y.items = other;
    ck_assert_uint_ne(tell_attr(r.v, &x), tell_attr(r.v, &y)); /* a list's does */
    const struct otp_attr number = enc_attr_int("n", 1);
    struct otp_attr truth = number;
    truth.kind = OTP_ATTR_BOOL;
    ck_assert_uint_ne(tell_attr(r.v, &number), tell_attr(r.v, &truth));
    const struct otp_attr nameless = enc_attr_int("", 1);
    ck_assert_uint_eq(tell_attr(r.v, &nameless), 0);
    enc_rig_fini(&r);
}
END_TEST

START_TEST(test_attribute_depth)
{
    struct otp_attr nest[OTP_ATTR_MAX_DEPTH + 2];
    for (int odd = 0; odd < 2; odd++) {
        struct enc_rig r;
        uint32_t id;
        enc_rig_init(&r, NULL);
        nest[0] = enc_attr_int("k", 1);
        for (size_t i = 1; i < OTP_ARRAY_LEN(nest); i++) {
            nest[i] = nest[0];
            nest[i].kind = odd != 0 ? OTP_ATTR_LIST : OTP_ATTR_MAP;
            nest[i].items = &nest[i - 1];
            nest[i].item_count = 1;
        }
        ck_assert_int_eq(r.v->attr(r.v, &nest[OTP_ATTR_MAX_DEPTH], &id), OTP_OK);
        ck_assert_int_eq(r.v->attr(r.v, &nest[OTP_ATTR_MAX_DEPTH + 1], &id), OTP_TOO_LARGE);
        ck_assert_int_eq(r.v->attr(r.v, &nest[0], &id), OTP_TOO_LARGE); /* sticky */
        ck_assert_uint_eq(id, 0);
        ck_assert_int_eq(otp_otlp_builder_finish(r.builder, &r.out), OTP_TOO_LARGE);
        enc_rig_fini(&r);
    }
}
END_TEST

/* ---- names ---- */

START_TEST(test_texts_are_cleaned)
{
#define BAD "\xef\xbf\xbd"
    static const struct {
        struct otp_text in;
        const char *want;
    } cases[] = {
        {{"plain text of some length", 25}, "plain text of some length"},
        {{"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80", 11}, "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"},
        {{"a\0b", 3}, "a" BAD "b"},
        {{"12345678\0", 9}, "12345678" BAD},
        {{"\xff", 1}, BAD},
        {{"\xc0\xaf", 2}, BAD BAD},                 /* overlong */
        {{"\xe0\x9f\xbf", 3}, BAD BAD BAD},         /* overlong */
        {{"\xf0\x8f\xbf\xbf", 4}, BAD BAD BAD BAD}, /* overlong */
        {{"\xed\xa0\x80", 3}, BAD BAD BAD},         /* surrogate */
        {{"\xf4\x90\x80\x80", 4}, BAD BAD BAD BAD}, /* past U+10FFFF */
        {{"x\xe2\x82", 3}, "x" BAD BAD},            /* cut */
        {{"\xe2\x82\xac", 3}, "\xe2\x82\xac"},
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(cases); i++) {
        struct enc_rig r;
        enc_rig_init(&r, NULL);
        enc_begin(r.v, "a", "b", NULL, NULL);
        const struct otp_visit_line line = {.name = cases[i].in};
        const struct otp_visit_frame f = {.lines = &line, .line_count = 1};
        uint32_t frame;
        uint32_t stack;
        ck_assert_int_eq(r.v->frame(r.v, &f, &frame), OTP_OK);
        ck_assert_int_eq(r.v->stack(r.v, &frame, 1, &stack), OTP_OK);
        enc_sample_add(r.v, stack, 1, 0, 0);
        enc_end(r.v);
        enc_rig_finish(&r);
        const ENC_PB(ProfilesDictionary) *d = dict_of(&r);
        ck_assert_str_eq(d->string_table[d->function_table[1]->name_strindex], cases[i].want);
        enc_rig_fini(&r);
    }
}
END_TEST

START_TEST(test_texts_are_cut)
{
    static const struct {
        const char *in;
        const char *want;
    } cases[] = {
        {"12345678", "12345678"},
        {"123456789", "12345678"},
        {"1234567\xc3\xbc", "1234567"},
        {"123456\xc3\xbc", "123456\xc3\xbc"},
        {"12345\xff", "12345" BAD},
        {"123456\xff", "123456"},
        {"123\xff"
         "4567",
         "123" BAD "45"},
    };
#undef BAD
    const struct otp_otlp_options o = {.max_string_bytes = 8};
    for (size_t i = 0; i < OTP_ARRAY_LEN(cases); i++) {
        struct enc_rig r;
        enc_rig_init(&r, &o);
        enc_begin(r.v, "a", "b", NULL, NULL);
        const char *const names[] = {cases[i].in, NULL};
        enc_sample_add(r.v, enc_stack(r.v, names), 1, 0, 0);
        enc_end(r.v);
        enc_rig_finish(&r);
        const ENC_PB(ProfilesDictionary) *d = dict_of(&r);
        ck_assert_str_eq(d->string_table[d->function_table[1]->name_strindex], cases[i].want);
        enc_rig_fini(&r);
    }
}
END_TEST

START_TEST(test_odd_frames)
{
    struct enc_rig r;
    uint32_t ids[3];
    uint32_t stack;
    enc_rig_init(&r, NULL);
    enc_begin(r.v, "a", "b", NULL, NULL);
    const struct otp_visit_line lines[] = {
        {.name = enc_text("inner"), .start_line = -1, .line = -5, .column = -1},
        {.start_line = 9},             /* says nothing */
        {.start_line = 9, .line = 12}, /* a line of no function */
        {.filename = enc_text("f.c")},
    };
    const struct otp_visit_frame frames[] = {
        {.address = 0x10, .lines = lines, .line_count = 4},
        {.lines = &lines[1], .line_count = 1}, /* nothing at all */
        {.address = 0x20},
    };
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(r.v->frame(r.v, &frames[i], &ids[i]), OTP_OK);
    }
    ck_assert_uint_eq(ids[1], 0);
    ck_assert_int_eq(r.v->stack(r.v, ids, 3, &stack), OTP_OK);
    enc_sample_add(r.v, stack, 1, 0, 0);
    enc_end(r.v);
    enc_rig_finish(&r);
    const ENC_PB(ProfilesDictionary) *d = dict_of(&r);
    ck_assert_uint_eq(d->n_location_table, 3);
    ck_assert_uint_eq(d->location_table[1]->n_lines, 3);
    ck_assert_int_eq(d->location_table[1]->lines[1]->function_index, 0);
    ck_assert_int_eq(d->location_table[1]->lines[1]->line, 12);
    ck_assert_uint_eq(d->stack_table[1]->n_location_indices, 2);
    enc_rig_fini(&r);
}
END_TEST

START_TEST(test_odd_mappings)
{
    struct enc_rig r;
    uint32_t id;
    uint32_t same;
    enc_rig_init(&r, NULL);
    const struct otp_visit_mapping none = {.start = 5, .limit = 5};
    const struct otp_visit_mapping bad = {.start = 9, .limit = 5, .filename = enc_text("/x")};
    const struct otp_visit_mapping unknown = {.filename = enc_text("/x")};
    ck_assert_int_eq(r.v->mapping(r.v, &none, &id), OTP_OK);
    ck_assert_uint_eq(id, 0);
    ck_assert_int_eq(r.v->mapping(r.v, &bad, &id), OTP_OK);
    ck_assert_int_eq(r.v->mapping(r.v, &unknown, &same), OTP_OK);
    ck_assert_uint_eq(id, same);
    enc_rig_fini(&r);
}
END_TEST

START_TEST(test_links)
{
    static const uint8_t zero[16];
    struct enc_rig r;
    uint8_t id[16] = {0};
    uint32_t link;
    uint32_t same;
    enc_rig_init(&r, NULL);
    id[15] = 1;
    ck_assert_int_eq(r.v->link(r.v, zero, id + 8, &link), OTP_OK);
    ck_assert_uint_eq(link, 0);
    ck_assert_int_eq(r.v->link(r.v, id, zero, &link), OTP_OK);
    ck_assert_uint_eq(link, 0);
    ck_assert_int_eq(r.v->link(r.v, id, id + 8, &link), OTP_OK);
    ck_assert_uint_ne(link, 0);
    enc_begin(r.v, "a", "b", NULL, NULL);
    const int64_t one[] = {1};
    const struct otp_visit_sample s = {.link = link, .values = one};
    ck_assert_int_eq(r.v->sample(r.v, &s), OTP_OK);
    id[15] = 2; /* what was given is a copy */
    enc_end(r.v);
    enc_rig_finish(&r);
    id[15] = 1;
    ck_assert_mem_eq(dict_of(&r)->link_table[1]->trace_id.data, id, 16);
    ck_assert_int_eq(r.v->link(r.v, id, id + 8, &same), OTP_OK);
    ck_assert_uint_eq(link, same);
    enc_rig_fini(&r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("encode_names");
    TCase *t = tcase_create("names");
    tcase_add_test(t, test_attribute_kinds);
    tcase_add_test(t, test_attribute_identity);
    tcase_add_test(t, test_attribute_depth);
    tcase_add_test(t, test_texts_are_cleaned);
    tcase_add_test(t, test_texts_are_cut);
    tcase_add_test(t, test_odd_frames);
    tcase_add_test(t, test_odd_mappings);
    tcase_add_test(t, test_links);
    suite_add_tcase(suite, t);
    return unit_run(suite);
}
