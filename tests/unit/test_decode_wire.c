/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of the protobuf encoding: each kind of field, and each way in which one can be broken.
 */
#include <check.h>
#include <string.h>

#include "core/decode/wire.h"
#include "tests/unit/decode_help.h"
#include "tests/unit/run.h"

static struct otp_wire wire_of(const struct dec_bytes *b, struct otp_wire_fault *fault)
{
    struct otp_wire w;
    memset(fault, 0, sizeof(*fault));
    otp_wire_init(&w, b->data, b->len, fault);
    return w;
}

START_TEST(test_varint_of_each_length)
{
    for (unsigned bits = 0; bits < 64; bits++) {
        uint64_t values[] = {(uint64_t)1 << bits, ((uint64_t)1 << bits) - 1,
                             (uint64_t)1 << bits | 1};
        for (size_t i = 0; i < OTP_ARRAY_LEN(values); i++) {
            struct dec_bytes b = {.data = NULL};
            struct otp_wire_fault fault;
            uint64_t got = 0;
            dec_varint(&b, values[i]);
            struct otp_wire w = wire_of(&b, &fault);
            ck_assert(otp_wire_varint(&w, &got));
            ck_assert_uint_eq(got, values[i]);
            ck_assert_ptr_eq(w.pos, w.end);
            /* Followed by something, the short ways are taken. */
            dec_raw(&b, "abcd", 4);
            w = wire_of(&b, &fault);
            ck_assert(otp_wire_varint(&w, &got));
            ck_assert_uint_eq(got, values[i]);
            ck_assert_uint_eq((size_t)(w.end - w.pos), 4);
            dec_free(&b);
        }
    }
}
END_TEST

START_TEST(test_varint_cut_off_is_a_fault)
{
    uint8_t bytes[10];
    memset(bytes, 0x80, sizeof(bytes));
    for (size_t len = 0; len < sizeof(bytes); len++) {
        struct otp_wire_fault fault = {.reason = NULL};
        struct otp_wire w;
        uint64_t value;
        otp_wire_init(&w, bytes, len, &fault);
        ck_assert(!otp_wire_varint(&w, &value));
        ck_assert_ptr_nonnull(fault.reason);
        ck_assert(!otp_wire_ok(&w));
    }
}
END_TEST

START_TEST(test_varint_over_64_bits_is_a_fault)
{
    static const uint8_t most[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    static const uint8_t over[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    static const uint8_t long_one[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                       0x80, 0x80, 0x80, 0x80, 0x00};
    struct otp_wire_fault fault = {.reason = NULL};
    struct otp_wire w;
    uint64_t value = 0;

    otp_wire_init(&w, most, sizeof(most), &fault);
    ck_assert(otp_wire_varint(&w, &value));
    ck_assert_uint_eq(value, UINT64_MAX);
    otp_wire_init(&w, over, sizeof(over), &fault);
    ck_assert(!otp_wire_varint(&w, &value));
    memset(&fault, 0, sizeof(fault));
    otp_wire_init(&w, long_one, sizeof(long_one), &fault);
    ck_assert(!otp_wire_varint(&w, &value));
}
END_TEST

START_TEST(test_fields_of_each_type)
{
    struct dec_bytes b = {.data = NULL};
    struct otp_wire_fault fault;
    struct otp_field f;

    dec_number(&b, 1, 300);
    dec_fixed64(&b, 2, 0x0102030405060708U);
    dec_text(&b, 3, "text");
    dec_varint(&b, 4 << 3 | 5);
    dec_raw(&b, "\x01\x02\x03\x04", 4);
    dec_text(&b, (1U << 29) - 1, "");
    struct otp_wire w = wire_of(&b, &fault);
    ck_assert(otp_wire_next(&w, &f));
    ck_assert(f.number == 1 && f.type == OTP_WIRE_VARINT && f.value == 300);
    ck_assert(otp_wire_next(&w, &f));
    ck_assert(f.number == 2 && f.type == OTP_WIRE_I64 && f.value == 0x0102030405060708U);
    ck_assert(otp_wire_next(&w, &f));
    ck_assert(f.number == 3 && f.type == OTP_WIRE_LEN && f.len == 4);
    ck_assert_int_eq(memcmp(f.data, "text", 4), 0);
    ck_assert(otp_wire_next(&w, &f));
    ck_assert(f.number == 4 && f.type == OTP_WIRE_I32 && f.value == 0x04030201);
    ck_assert(otp_wire_next(&w, &f));
    ck_assert(f.number == (1U << 29) - 1 && f.len == 0);
    ck_assert(!otp_wire_next(&w, &f));
    ck_assert(otp_wire_ok(&w));
    dec_free(&b);
}
END_TEST

/* Each of these is broken; `at` is the offset that has to be named. */
static const struct {
    const char *bytes;
    size_t len;
    size_t at;
} broken[] = {
    {"\x00\x01", 2, 0}, /* field 0 */
    {"\x06", 1, 0},     /* wire type 6 */
    {"\x07", 1, 0},     /* wire type 7 */
    {"\x08", 1, 1},     /* no number */
    {"\x08\x80", 2, 1}, /* half a number */
    {"\x0a\x05"
     "abcd",
     6, 0},                                                  /* longer than what is there */
    {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, 0}, /* longer than anything */
    {"\x09"
     "1234567",
     8, 1}, /* seven of eight bytes */
    {"\x0d"
     "123",
     4, 1},                             /* three of four bytes */
    {"\x0c", 1, 0},                     /* a group ends that was not begun */
    {"\x0b\x08\x01", 3, 0},             /* a group without an end */
    {"\x0b\x14", 2, 1},                 /* the end of another group */
    {"\x80\x80\x80\x80\x10\x00", 6, 0}, /* field number of 30 bits */
};

START_TEST(test_broken_fields_are_faults)
{
    struct otp_wire_fault fault = {.reason = NULL};
    struct otp_wire w;
    struct otp_field f;

    otp_wire_init(&w, broken[_i].bytes, broken[_i].len, &fault);
    ck_assert(!otp_wire_next(&w, &f));
    ck_assert_ptr_nonnull(fault.reason);
    ck_assert_uint_eq((size_t)(fault.at - (const uint8_t *)broken[_i].bytes), broken[_i].at);
    ck_assert(!otp_wire_next(&w, &f));
}
END_TEST

START_TEST(test_groups_are_skipped)
{
    struct dec_bytes b = {.data = NULL};
    struct otp_wire_fault fault;
    struct otp_field f;

    for (unsigned depth = 1; depth <= OTP_WIRE_GROUP_DEPTH + 1; depth++) {
        dec_free(&b);
        for (unsigned i = 0; i < depth; i++) {
            dec_varint(&b, (i + 1) << 3 | 3);
            dec_text(&b, 9, "inside");
        }
        for (unsigned i = depth; i-- > 0;) {
            dec_varint(&b, (i + 1) << 3 | 4);
        }
        dec_number(&b, 2, 7);
        struct otp_wire w = wire_of(&b, &fault);
        bool fits = depth <= OTP_WIRE_GROUP_DEPTH;
        ck_assert_int_eq(otp_wire_next(&w, &f), fits);
        if (fits) {
            ck_assert(f.type == OTP_WIRE_GROUP && f.number == 1);
            ck_assert(otp_wire_next(&w, &f) && f.number == 2 && f.value == 7);
        }
    }
    dec_free(&b);
}
END_TEST

START_TEST(test_count_of_varints)
{
    struct dec_bytes b = {.data = NULL};
    for (uint64_t i = 0; i < 100; i++) {
        ck_assert_uint_eq(otp_wire_count_varints(b.data, b.len), i);
        dec_varint(&b, i * i * i * i * 977);
    }
    dec_free(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode_wire");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, test_varint_of_each_length);
    tcase_add_test(all, test_varint_cut_off_is_a_fault);
    tcase_add_test(all, test_varint_over_64_bits_is_a_fault);
    tcase_add_test(all, test_fields_of_each_type);
    tcase_add_loop_test(all, test_broken_fields_are_faults, 0, (int)OTP_ARRAY_LEN(broken));
    tcase_add_test(all, test_groups_are_skipped);
    tcase_add_test(all, test_count_of_varints);
    suite_add_tcase(suite, all);

    return unit_run(suite);
}
