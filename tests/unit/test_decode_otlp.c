/* SPDX-License-Identifier: Apache-2.0 */
/* OTLP profiles to the model: each shape and version, and what is refused. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/decode_help.h"
#include "tests/unit/run.h"

static const struct dec_shape usual = {.with_attrs = true, .with_link = true, .with_values = true};

static bool text_is(struct otp_text t, const char *s)
{
    return t.len == strlen(s) && memcmp(t.data, s, t.len) == 0;
}

/* Checks everything that dec_profile has put in. */
static void assert_content(const struct otp_profiles *m, const struct dec_shape *s)
{
    ck_assert_int_eq(m->version, s->version);
    ck_assert_uint_eq(m->profiles.count, 1);
    const struct otp_profile *p = otp_profiles_profile(m, 0);
    ck_assert(text_is(otp_profiles_string(m, p->sample_type.type), "cpu"));
    ck_assert(text_is(otp_profiles_string(m, p->sample_type.unit), "nanoseconds"));
    ck_assert_uint_eq(p->time_ns, DEC_TIME);
    ck_assert_uint_eq(p->duration_ns, DEC_DURATION);
    ck_assert_int_eq(p->period, 10000000);
    ck_assert_uint_eq(p->dropped_attributes, 5);
    ck_assert(text_is(otp_profiles_text(m, p->profile_id), "0123456789abcdef"));
    ck_assert(
        text_is(otp_profiles_value_text(m, otp_profiles_find_attr(m, p->attrs, "note")), "a note"));
    ck_assert_uint_eq(p->samples.count, DEC_SAMPLES);
    for (uint32_t i = 0; i < DEC_SAMPLES; i++) {
        const struct otp_sample *sample = otp_profiles_sample(m, p->samples.first + i);
        struct otp_sample_data d;
        otp_profiles_sample_data(m, sample, &d);
        ck_assert_int_eq(sample->stack, (int)i + 1);
        ck_assert_int_eq(sample->link, s->with_link ? 1 : 0);
        ck_assert_uint_eq(d.value_count, s->with_values ? 1 : 0);
        ck_assert_uint_eq(d.timestamp_count, s->with_times ? 1 : 0);
        if (s->with_values) {
            ck_assert_int_eq(d.values[0], 100 + i);
        }
        if (s->with_times) {
            ck_assert_uint_eq((uint64_t)d.timestamps[0], DEC_TIME + i);
        }
        const struct otp_value *thread = otp_profiles_find_attr(m, sample->attrs, "thread.name");
        ck_assert_int_eq(thread != NULL, s->with_attrs);
        const struct otp_slice *stack = otp_profiles_stack(m, sample->stack);
        ck_assert_uint_eq(stack->count, 2);
        ck_assert_int_eq(otp_profiles_frames(m, stack)[0], (int)i + 1);
        ck_assert_uint_eq(otp_profiles_location(m, (int)i + 1)->address, 0x2000 + i);
    }
    ck_assert(text_is(otp_profiles_string(m, otp_profiles_function(m, 2)->name), "work"));
    const struct otp_value *name =
        otp_profiles_find_keyvalue(m, otp_profiles_resource(m, 0)->attrs, "service.name");
    ck_assert(text_is(otp_profiles_value_text(m, name), "a service"));
    ck_assert(text_is(otp_profiles_text(m, otp_profiles_scope(m, 0)->name), "tester"));
}

static enum otp_status add(struct otp_profile_set *set, const struct dec_bytes *b,
                           struct otp_input_fault *fault)
{
    otp_profile_set_init(set);
    return dec_add(set, b->data, b->len, false, fault);
}

/* Every combination of parts that a sample may have, in each version. */
START_TEST(test_shapes_of_all_versions)
{
    int seen = 0;
    for (unsigned bits = 0; bits < 128; bits++) {
        struct dec_shape s = {.with_attrs = bits & 1,
                              .with_link = bits & 2,
                              .with_values = bits & 4,
                              .with_times = bits & 8,
                              .unpacked = bits & 16,
                              .dictionary_last = bits & 32,
                              .version = bits & 64 ? OTP_PROTO_1_8 : OTP_PROTO_1_10};
        struct otp_profile_set set;
        struct otp_input_fault fault;
        bool has_data = s.with_values || s.with_times;
        /* A value that is not packed looks like a link of 1.9. */
        bool is_unclear = s.unpacked && s.with_values && s.with_times && !s.with_link;
        if (!has_data || (s.unpacked && s.version == OTP_PROTO_1_8)) {
            continue;
        }
        struct dec_bytes b = dec_profile(&s);
        enum otp_status status = add(&set, &b, &fault);
        ck_assert_msg((status == OTP_OK) == !is_unclear, "shape %u: %s", bits, fault.reason);
        if (!is_unclear) {
            assert_content(set.messages[0], &s);
        }
        otp_profile_set_fini(&set);
        dec_free(&b);
        seen++;
    }
    ck_assert_int_gt(seen, 50);
}
END_TEST

START_TEST(test_version_1_9_is_told_from_1_10)
{
    for (unsigned bits = 0; bits < 16; bits++) {
        struct dec_shape s = {.version = OTP_PROTO_1_9,
                              .with_attrs = bits & 1,
                              .with_link = bits & 2,
                              .with_values = bits & 4,
                              .with_times = bits & 8};
        struct otp_profile_set set;
        struct otp_input_fault fault;
        if (!s.with_values && !s.with_times) {
            continue;
        }
        /* Nothing but timestamps: both versions write it alike. */
        bool is_alike = !s.with_attrs && !s.with_link && !s.with_values;
        /* A link and one time, or values and as many times: as 1.10 they would be odd, not wrong.
         */
        bool is_refused = !s.with_attrs && s.with_times && s.with_link != s.with_values;
        struct dec_bytes b = dec_profile(&s);
        enum otp_status status = add(&set, &b, &fault);
        if (is_refused) {
            ck_assert_int_ne(status, OTP_OK);
            ck_assert_ptr_nonnull(strstr(fault.reason, "1.9"));
        } else {
            ck_assert_msg(status == OTP_OK, "shape %u: %s", bits, fault.reason);
            s.version = is_alike ? OTP_PROTO_1_10 : s.version;
            assert_content(set.messages[0], &s);
        }
        otp_profile_set_fini(&set);
        dec_free(&b);
    }
}
END_TEST

/* Writers of lists of one that do not pack them: a link, which is no list, may be such a list. */
START_TEST(test_version_1_9_is_told_from_1_10_where_nothing_is_packed)
{
    int read = 0;
    for (unsigned bits = 0; bits < 16; bits++) {
        struct dec_shape s = {.version = bits & 8 ? OTP_PROTO_1_9 : OTP_PROTO_1_10,
                              .with_attrs = bits & 1,
                              .with_link = bits & 2,
                              .with_values = true,
                              .unpacked = true,
                              .dictionary_last = bits & 4};
        struct otp_profile_set set;
        struct otp_input_fault fault;
        struct dec_bytes b = dec_profile(&s);
        enum otp_status status = add(&set, &b, &fault);
        if (s.version == OTP_PROTO_1_9 && s.with_link) {
            ck_assert_int_ne(status, OTP_OK);
            ck_assert_ptr_nonnull(strstr(fault.reason, "1.9 or as in 1.10"));
        } else {
            ck_assert_msg(status == OTP_OK, "shape %u: %s", bits, fault.reason);
            assert_content(set.messages[0], &s);
            read++;
        }
        otp_profile_set_fini(&set);
        dec_free(&b);
    }
    ck_assert_int_eq(read, 12);
}
END_TEST

/* A ProfilesData around one Profile (freed) and a dictionary (freed). */
static struct dec_bytes wrap(struct dec_bytes *profile, struct dec_bytes *dictionary)
{
    struct dec_bytes all = {.data = NULL};
    struct dec_bytes resource = {.data = NULL};
    struct dec_bytes scope = {.data = NULL};

    dec_message(&scope, 2, profile);
    dec_message(&resource, 2, &scope);
    dec_message(&all, 1, &resource);
    dec_message(&all, 2, dictionary);
    return all;
}

START_TEST(test_halves_of_versions_before_1_8_are_refused)
{
    struct dec_bytes profiles[6] = {{.data = NULL}};
    uint64_t indices[] = {1, 2, 3};

    dec_packed(&profiles[0], 3, indices, 3); /* 1.7: location_indices */
    dec_number(&profiles[1], 5, 1000);       /* 1.7: duration */
    dec_text(&profiles[2], 6, "");           /* 1.7: period type */
    dec_text(&profiles[2], 6, "\x08\x01");
    dec_text(&profiles[3], 1, "\x08\x01"); /* several sample types */
    dec_text(&profiles[3], 1, "\x08\x02");
    dec_text(&profiles[4], 1, "0123456789abcdef"); /* the container of 1.3 */
    dec_fixed64(&profiles[4], 2, 1);
    dec_fixed64(&profiles[4], 3, 2);
    for (size_t i = 0; i < 5; i++) {
        struct dec_bytes dictionary = {.data = NULL};
        struct otp_profile_set set;
        struct otp_input_fault fault;
        struct dec_bytes b = wrap(&profiles[i], &dictionary);
        /* What of it can be read is read; these are not whole. */
        ck_assert_int_ne(add(&set, &b, &fault), OTP_OK);
        ck_assert_ptr_nonnull(strstr(fault.reason, i == 4 ? "1.7 or older" : "of proto 1.7"));
        ck_assert_uint_eq(set.message_count, 0);
        otp_profile_set_fini(&set);
        dec_free(&b);
    }
}
END_TEST

START_TEST(test_each_prefix_is_refused_or_whole)
{
    struct dec_bytes b = dec_profile(&usual);
    size_t refused = 0;

    for (size_t len = 0; len < b.len; len++) {
        struct otp_profile_set set;
        struct otp_input_fault fault;
        otp_profile_set_init(&set);
        enum otp_status status = dec_add(&set, b.data, len, false, &fault);
        if (status != OTP_OK) {
            refused++;
            ck_assert_uint_le(fault.off, len);
            ck_assert_uint_gt(strlen(fault.reason), 0);
            ck_assert_uint_eq(set.message_count + set.blob_count, 0);
        }
        otp_profile_set_fini(&set);
    }
    /* One prefix ends where a field of the message ends: the dictionary, without its profiles. */
    ck_assert_uint_eq(refused, b.len - 1);
    dec_free(&b);
}
END_TEST

/* Follows each sample to its frames. */
static void walk(const struct otp_profile_set *set)
{
    for (size_t k = 0; k < set->message_count; k++) {
        const struct otp_profiles *m = set->messages[k];
        for (uint32_t i = 0; i < m->samples.count; i++) {
            const struct otp_sample *s = otp_profiles_sample(m, i);
            (void)otp_profiles_sample_total(m, s);
            (void)otp_profiles_frames(m, otp_profiles_stack(m, s->stack));
        }
    }
}

START_TEST(test_mutations_are_harmless)
{
    static const struct dec_shape shapes[] = {
        {.with_attrs = true, .with_link = true, .with_values = true},
        {.with_attrs = true, .with_times = true, .dictionary_last = true},
        {.version = OTP_PROTO_1_8, .with_attrs = true, .with_values = true, .with_times = true},
    };
    struct dec_bytes b = dec_profile(&shapes[_i]);
    size_t accepted = 0;
    size_t tried = 0;

    for (size_t at = 0; at < b.len; at++) {
        uint8_t old = b.data[at];
        for (unsigned value = 0; value < 256; value += 5) {
            struct otp_profile_set set;
            struct otp_input_fault fault;
            b.data[at] = (uint8_t)value;
            otp_profile_set_init(&set);
            enum otp_status status = dec_add(&set, b.data, b.len, true, &fault);
            accepted += status == OTP_OK;
            tried++;
            walk(&set);
            otp_profile_set_fini(&set);
        }
        b.data[at] = old;
    }
    ck_assert_uint_gt(accepted, tried / 10);
    ck_assert_uint_lt(accepted, tried);
    dec_free(&b);
}
END_TEST

START_TEST(test_index_outside_its_table_is_refused)
{
    struct dec_bytes profile = {.data = NULL};
    struct dec_bytes dictionary = {.data = NULL};
    struct otp_profile_set set;
    struct otp_input_fault fault;

    dec_text(&profile, 2, "\x08\x05\x22\x01\x01"); /* stack 5, value 1 */
    dec_text(&dictionary, 5, "");
    struct dec_bytes b = wrap(&profile, &dictionary);
    ck_assert_int_eq(add(&set, &b, &fault), OTP_MALFORMED);
    ck_assert_str_eq(fault.reason, "resource_profiles[0].scope_profiles[0].profiles[0].samples[0]."
                                   "stack_index: index 5 is outside its table of 1 entries");
    otp_profile_set_fini(&set);
    dec_free(&b);
}
END_TEST

START_TEST(test_missing_tables_mean_unset)
{
    struct dec_bytes profile = {.data = NULL};
    struct dec_bytes dictionary = {.data = NULL};
    struct otp_profile_set set;
    struct otp_input_fault fault;

    dec_text(&profile, 2, "\x22\x01\x01");
    struct dec_bytes b = wrap(&profile, &dictionary);
    ck_assert_int_eq(add(&set, &b, &fault), OTP_OK);
    const struct otp_profiles *m = set.messages[0];
    ck_assert_uint_eq(otp_profiles_stack(m, otp_profiles_sample(m, 0)->stack)->count, 0);
    ck_assert_uint_eq(otp_profiles_string(m, 0).len, 0);
    otp_profile_set_fini(&set);
    dec_free(&b);
}
END_TEST

START_TEST(test_notes_name_what_is_odd)
{
    struct dec_bytes profile = {.data = NULL};
    struct dec_bytes dictionary = {.data = NULL};
    struct otp_profile_set set;
    struct otp_input_fault fault;
    char place[100];

    dec_number(&profile, 77, 1);
    dec_text(&profile, 4, "x"); /* a number is known there */
    dec_text(&dictionary, 5, "");
    dec_text(&dictionary, 5, "\xff\xfe");
    struct dec_bytes b = wrap(&profile, &dictionary);
    otp_profile_set_init(&set);
    ck_assert_int_eq(dec_add(&set, b.data, b.len, true, &fault), OTP_OK);
    const struct otp_profiles *m = set.messages[0];
    ck_assert_uint_eq(m->note_count, 3);
    ck_assert_uint_eq(m->notes.count, 3);
    const struct otp_note *n = m->notes.items;
    ck_assert(n[0].kind == OTP_NOTE_UNKNOWN_FIELD && n[0].number == 77);
    otp_place_format(&n[0].place, place, sizeof(place));
    ck_assert_str_eq(place, "resource_profiles[0].scope_profiles[0].profiles[0]");
    ck_assert(n[1].kind == OTP_NOTE_WIRE_TYPE && n[1].number == 4);
    ck_assert(n[2].kind == OTP_NOTE_UTF8);
    otp_place_format(&n[2].place, place, sizeof(place));
    ck_assert_str_eq(place, "dictionary.string_table[1]");
    otp_profile_set_fini(&set);
    dec_free(&b);
}
END_TEST

START_TEST(test_deep_values_are_refused)
{
    struct dec_bytes value = {.data = NULL};
    struct otp_profile_set set;
    struct otp_input_fault fault;

    dec_text(&value, 1, "deep");
    for (int i = 0; i < 1000; i++) { /* a value in an array in a value … */
        struct dec_bytes array = {.data = NULL};
        struct dec_bytes outer = {.data = NULL};
        dec_message(&array, 1, &value);
        dec_message(&outer, 5, &array);
        value = outer;
    }
    struct dec_bytes attribute = {.data = NULL};
    struct dec_bytes dictionary = {.data = NULL};
    struct dec_bytes all = {.data = NULL};
    dec_message(&attribute, 2, &value);
    dec_message(&dictionary, 6, &attribute);
    dec_message(&all, 2, &dictionary);
    ck_assert_int_eq(add(&set, &all, &fault), OTP_MALFORMED);
    ck_assert_ptr_nonnull(strstr(fault.reason, "too deep"));
    otp_profile_set_fini(&set);
    dec_free(&all);
}
END_TEST

START_TEST(test_values_of_all_kinds)
{
    struct dec_bytes dictionary = {.data = NULL};
    struct dec_bytes all = {.data = NULL};
    struct otp_profile_set set;
    struct otp_input_fault fault;
    double real = 0.5;
    uint64_t bits;

    memcpy(&bits, &real, sizeof(bits));
    for (int i = 0; i <= 8; i++) {
        struct dec_bytes value = {.data = NULL};
        struct dec_bytes attribute = {.data = NULL};
        struct dec_bytes inner = {.data = NULL};
        switch (i) {
        case 1:
            dec_text(&value, 1, "text");
            break;
        case 2:
        case 3:
        case 8:
            dec_number(&value, (uint32_t)i, i == 3 ? (uint64_t)-5 : 1);
            break;
        case 4:
            dec_fixed64(&value, 4, bits);
            break;
        case 5:
        case 6:
            dec_text(&inner, 1, "");
            dec_message(&value, (uint32_t)i, &inner);
            break;
        case 7:
            dec_text(&value, 7, "\xff");
            break;
        default:
            break;
        }
        dec_message(&attribute, 2, &value);
        dec_message(&dictionary, 6, &attribute);
    }
    dec_text(&dictionary, 5, "");
    dec_text(&dictionary, 5, "by index");
    dec_message(&all, 2, &dictionary);
    ck_assert_int_eq(add(&set, &all, &fault), OTP_OK);
    const struct otp_profiles *m = set.messages[0];
    for (int i = 0; i <= 8; i++) {
        ck_assert_int_eq(otp_profiles_attribute(m, i)->value.kind, i);
    }
    ck_assert(text_is(otp_profiles_value_text(m, &otp_profiles_attribute(m, 1)->value), "text"));
    ck_assert_int_eq(otp_profiles_attribute(m, 3)->value.of.number, -5);
    ck_assert(otp_profiles_attribute(m, 4)->value.of.real == 0.5);
    ck_assert(
        text_is(otp_profiles_value_text(m, &otp_profiles_attribute(m, 8)->value), "by index"));
    otp_profile_set_fini(&set);
    dec_free(&all);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode_otlp");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_test(all, test_shapes_of_all_versions);
    tcase_add_test(all, test_version_1_9_is_told_from_1_10);
    tcase_add_test(all, test_version_1_9_is_told_from_1_10_where_nothing_is_packed);
    tcase_add_test(all, test_halves_of_versions_before_1_8_are_refused);
    tcase_add_test(all, test_each_prefix_is_refused_or_whole);
    tcase_add_loop_test(all, test_mutations_are_harmless, 0, 3);
    tcase_add_test(all, test_index_outside_its_table_is_refused);
    tcase_add_test(all, test_missing_tables_mean_unset);
    tcase_add_test(all, test_notes_name_what_is_odd);
    tcase_add_test(all, test_deep_values_are_refused);
    tcase_add_test(all, test_values_of_all_kinds);
    suite_add_tcase(suite, all);

    return unit_run(suite);
}
