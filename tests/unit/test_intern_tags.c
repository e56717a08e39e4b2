/* SPDX-License-Identifier: Apache-2.0 */
/* Tags understood: names, equal ones, too many values, and bytes that nobody wrote properly. */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/counters.h"
#include "core/intern/timetable.h"
#include "tests/unit/run.h"
#include "tests/unit/tags_help.h"

static bool name_of(void *arg, uint8_t idx, struct otp_text *out)
{
    static const char *const names[] = {"zero", "one", "label"};
    (void)arg;
    if (idx >= sizeof(names) / sizeof(names[0])) {
        return false;
    }
    *out = otp_text_of(names[idx]);
    return true;
}

static void set_up(void)
{
    tags_begin(name_of);
}

static void set_span(struct otp_tag *t, uint64_t number)
{
    memset(t, 0, sizeof(*t));
    t->trace_id[0] = 1;
    memcpy(t->span_id, &number, sizeof(number));
}

static void add_attr(struct otp_tag *t, uint8_t idx, const char *value)
{
    uint8_t *to = t->data + t->attr_bytes;
    to[0] = idx;
    to[1] = (uint8_t)strlen(value);
    memcpy(to + 2, value, to[1]);
    t->attr_bytes = (uint16_t)(t->attr_bytes + 2 + to[1]);
}

/* Labels come behind the attributes. */
static void add_label(struct otp_tag *t, const char *key, const char *value)
{
    struct otp_tag_label head = {.key_len = (uint8_t)strlen(key),
                                 .value_len = (uint8_t)strlen(value)};
    uint8_t *to = t->data + t->attr_bytes + t->label_bytes;
    size_t body = (size_t)head.key_len + head.value_len;
    memcpy(to, &head, sizeof(head));
    memcpy(to + sizeof(head), key, head.key_len);
    memcpy(to + sizeof(head) + head.key_len, value, head.value_len);
    t->label_bytes = (uint16_t)(t->label_bytes + sizeof(head) + body + (body & 1));
}

static struct otp_tags_result add(const struct otp_tag *t)
{
    return otp_tags_add(&tags, t, otp_tag_bytes(t), true);
}

/* The text of an attribute, NULL when there is none of that key. */
static const char *text_of(uint32_t number, const char *key)
{
    static char out[300];
    const struct otp_tags_entry *e = otp_tags_get(&tags, number);
    for (uint32_t i = 0; i < e->attr_count; i++) {
        struct otp_text k;
        struct otp_text v;
        (void)otp_tags_attr(&tags, e, i, &k, &v);
        if (k.len == strlen(key) && memcmp(k.data, key, k.len) == 0) {
            memcpy(out, v.data, v.len);
            out[v.len] = '\0';
            return out;
        }
    }
    return NULL;
}

START_TEST(test_nothing_is_no_number)
{
    struct otp_tag t;
    memset(&t, 0, sizeof(t));
    ck_assert_uint_eq(add(&t).number, OTP_TAGS_NONE);
    add_attr(&t, 200, "of an unknown key");
    ck_assert_uint_eq(add(&t).number, OTP_TAGS_NONE);
}
END_TEST

START_TEST(test_last_of_equal_keys_and_labels_win)
{
    struct otp_tag t;
    set_span(&t, 5);
    add_attr(&t, 0, "old");
    add_attr(&t, 1, "other");
    add_attr(&t, 0, "new");
    add_attr(&t, 2, "of the context");
    add_label(&t, "label", "outer");
    add_label(&t, "label", "inner");
    struct otp_tags_result r = add(&t);
    ck_assert_uint_ne(r.number, OTP_TAGS_NONE);
    ck_assert_uint_eq(r.dropped_attrs, 0);
    ck_assert_str_eq(text_of(r.number, "zero"), "new");
    ck_assert_str_eq(text_of(r.number, "one"), "other");
    ck_assert_str_eq(text_of(r.number, "label"), "inner");
    ck_assert_uint_eq(otp_tags_get(&tags, r.number)->attr_count, 3);
}
END_TEST

START_TEST(test_order_makes_no_difference)
{
    struct otp_tag a;
    struct otp_tag b;
    set_span(&a, 7);
    set_span(&b, 7);
    add_label(&a, "x", "1");
    add_label(&a, "y", "2");
    add_label(&b, "y", "2");
    add_label(&b, "x", "1");
    ck_assert_uint_eq(add(&a).number, add(&b).number);
    set_span(&b, 8);
    ck_assert_uint_ne(add(&a).number, add(&b).number);
    otp_tags_clear(&tags);
    ck_assert_uint_eq(add(&b).number, 1);
}
END_TEST

START_TEST(test_too_many_values_of_a_key)
{
    struct otp_tag t;
    char value[16];
    uint32_t dropped = 0;
    tags.max_values = 10;
    for (unsigned i = 0; i < 50; i++) {
        set_span(&t, 1);
        (void)snprintf(value, sizeof(value), "v%u", i % 25);
        add_label(&t, "key", value);
        add_label(&t, "few", i % 2 == 0 ? "a" : "b");
        struct otp_tags_result r = add(&t);
        dropped += r.dropped_attrs;
        ck_assert_ptr_nonnull(text_of(r.number, "few"));
        ck_assert(!r.is_dropped);
        ck_assert_int_eq(text_of(r.number, "key") != NULL, i % 25 < 10);
    }
    ck_assert_uint_eq(dropped, 30);
}
END_TEST

START_TEST(test_too_many_tags)
{
    struct otp_tag t;
    tags.max_entries = 3;
    for (uint64_t i = 1; i < 10; i++) {
        set_span(&t, i);
        struct otp_tags_result r = add(&t);
        ck_assert_int_eq(r.is_dropped, i > 3);
        ck_assert_int_eq(r.number == OTP_TAGS_NONE, i > 3);
    }
}
END_TEST

START_TEST(test_any_bytes_do_no_harm)
{
    struct otp_tag t;
    srand(3);
    for (unsigned round = 0; round < 20000; round++) {
        unsigned char *bytes = (unsigned char *)&t;
        for (size_t i = 0; i < sizeof(t); i++) {
            bytes[i] = (unsigned char)(rand() >> 7);
        }
        t.attr_bytes = (uint16_t)(t.attr_bytes % (round % 3 == 0 ? 2000 : 300));
        t.label_bytes = (uint16_t)(t.label_bytes % (round % 5 == 0 ? 2000 : 300));
        size_t len = (size_t)rand() % (sizeof(t) + 8);
        unsigned char *exact = malloc(len == 0 ? 1 : len);
        ck_assert_ptr_nonnull(exact);
        memcpy(exact, &t, len < sizeof(t) ? len : sizeof(t));
        if (len <= sizeof(t)) {
            (void)otp_tags_add(&tags, exact, len, true);
        }
        free(exact);
        if (round % 500 == 0) {
            otp_tags_clear(&tags);
        }
    }
}
END_TEST

START_TEST(test_samples_beyond_the_limit_go_to_their_stack)
{
    struct otp_timetable table;
    struct otp_tag t;
    uint64_t frames[2][3] = {{1, 2, 3}, {4, 5, 6}};
    struct otp_timetable_budget budget = {.max_bytes = SIZE_MAX};
    otp_timetable_init(&table, &heap, &budget, &tags, OTP_OF_CPU);
    tags.max_uses = 10; /* the other half is for what is live */
    otp_counters[OTP_OF_CPU][OTP_COUNT_LINKS] = 0;
    for (uint64_t i = 0; i < 40; i++) {
        set_span(&t, 1 + i / 2);
        struct otp_time_sample s = {
            .frames = frames[i % 2], .depth = 3, .tag = add(&t).number, .count = 1, .cpu_ns = 10};
        ck_assert(otp_timetable_add(&table, &s));
    }
    uint64_t count = 0;
    size_t tagged = 0;
    for (size_t i = 0; i < table.entry_count; i++) {
        const struct otp_time_entry *e = &table.entries[i];
        const uint64_t *f = otp_timetable_frames(&table, e);
        ck_assert(memcmp(f, frames[0], sizeof(frames[0])) == 0 ||
                  memcmp(f, frames[1], sizeof(frames[1])) == 0);
        count += e->count;
        tagged += e->tag != OTP_TAGS_NONE;
    }
    ck_assert_uint_eq(count, 40);
    ck_assert_uint_eq(tagged, 5);
    ck_assert_uint_eq(table.entry_count, 7);
    ck_assert_uint_eq(table.frame_count, 6); /* each stack once */
    ck_assert_uint_eq(otp_counters[OTP_OF_CPU][OTP_COUNT_LINKS], 35);
    for (unsigned i = 0; i < 6; i++) {
        ck_assert_int_eq(otp_tags_use(&tags, true), i < 5);
        ck_assert(!otp_tags_use(&tags, false));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("intern_tags");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, test_nothing_is_no_number);
    tcase_add_test(tc, test_last_of_equal_keys_and_labels_win);
    tcase_add_test(tc, test_order_makes_no_difference);
    tcase_add_test(tc, test_too_many_values_of_a_key);
    tcase_add_test(tc, test_too_many_tags);
    tcase_add_test(tc, test_any_bytes_do_no_harm);
    tcase_add_test(tc, test_samples_beyond_the_limit_go_to_their_stack);
    tcase_set_timeout(tc, 120);
    suite_add_tcase(suite, tc);
    return unit_run(suite);
}
