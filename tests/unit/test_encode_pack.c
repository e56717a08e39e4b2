/* SPDX-License-Identifier: Apache-2.0 */
/* The hand-written pieces of the wire against what the generated code reads and writes. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode/value.h"
#include "core/encode/pack.h"
#include "tests/unit/encode_help.h"
#include "tests/unit/run.h"

#define ANY_UNPACK opentelemetry__proto__common__v1__any_value__unpack
#define ANY_FREE opentelemetry__proto__common__v1__any_value__free_unpacked

static struct otp_heap heap;
static struct otp_buf out;

static void setup(void)
{
    otp_heap_init(&heap, (size_t)64 << 20);
    otp_buf_init(&out, &heap, (size_t)32 << 20);
}

static void teardown(void)
{
    otp_buf_fini(&out);
    otp_heap_reset(&heap);
}

/* A Sample whose stack index and value are the number in question. */
START_TEST(test_numbers)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int step = -1; step <= 1; step++) {
            uint64_t v = ((uint64_t)1 << bit) + (uint64_t)step;
            otp_buf_clear(&out);
            otp_pack_uint(&out, 3, v);
            otp_pack_fixed64(&out, 4, v);
            ENC_COMMON(AnyValue) *a = ANY_UNPACK(NULL, out.len, out.data);
            ck_assert_ptr_nonnull(a); /* of a oneof the last one counts */
            uint64_t bits;
            memcpy(&bits, &a->double_value, sizeof(bits));
            ck_assert_uint_eq(bits, v);
            ANY_FREE(a, NULL);
            a = ANY_UNPACK(NULL, out.len - 9, out.data);
            ck_assert_ptr_nonnull(a);
            ck_assert_uint_eq((uint64_t)a->int_value, v);
            ck_assert_uint_eq(protobuf_c_message_get_packed_size(&a->base), out.len - 9);
            ANY_FREE(a, NULL);
        }
    }
}
END_TEST

/* Lengths around each step of the length's own length, also two fields inside each other. */
START_TEST(test_open_and_close)
{
    static const size_t edges[] = {0, 127, 16383, 2097151};
    char *text = calloc(1, 2097151 + 8);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < OTP_ARRAY_LEN(edges); i++) {
        for (size_t len = edges[i] < 8 ? 0 : edges[i] - 8; len < edges[i] + 4; len++) {
            memset(text, 'x', len);
            text[len] = '\0';
            otp_buf_clear(&out);
            size_t list = otp_pack_open(&out, 5);
            size_t value = otp_pack_open(&out, 1);
            size_t string = otp_pack_open(&out, 1);
            otp_buf_add(&out, text, len);
            otp_pack_close(&out, string);
            otp_pack_close(&out, value);
            otp_pack_close(&out, list);
            ck_assert(otp_buf_ok(&out));
            ENC_COMMON(AnyValue) *a = ANY_UNPACK(NULL, out.len, out.data);
            ck_assert_ptr_nonnull(a);
            ck_assert_str_eq(a->array_value->values[0]->string_value, text);
            ck_assert_uint_eq(protobuf_c_message_get_packed_size(&a->base), out.len);
            ANY_FREE(a, NULL);
        }
    }
    free(text);
}
END_TEST

START_TEST(test_full_buffer)
{
    for (size_t max = 0; max < 200; max++) {
        otp_buf_fini(&out);
        otp_buf_init(&out, &heap, max);
        size_t mark = otp_pack_open(&out, 1);
        for (unsigned i = 0; i < 20; i++) {
            otp_pack_fixed64(&out, 2, i);
        }
        otp_pack_close(&out, mark);
        ck_assert_uint_le(out.len, max);
        ck_assert(otp_buf_ok(&out) == (out.len == 20 * 9 + 3));
    }
}
END_TEST

/* The canonical bytes of a value are those that the generated code gives for it. */
START_TEST(test_values_repack)
{
    const struct otp_value_limits limits = {.heap = &heap, .max_string = 100};
    const struct otp_attr leaves[] = {
        enc_attr_string("b", ""),
        enc_attr_string("a", "text \xff"),
        enc_attr_int("c", 0),
        enc_attr_int("", -1),
        {.key = enc_text("d"), .kind = OTP_ATTR_BOOL},
        {.key = enc_text("e"), .kind = OTP_ATTR_DOUBLE, .real = -0.0},
        {.key = enc_text("f"), .kind = OTP_ATTR_BYTES},
        {.key = enc_text("g"), .kind = OTP_ATTR_LIST},
        {.key = enc_text("h"), .kind = OTP_ATTR_MAP},
        {.key = enc_text("i"), .kind = OTP_ATTR_EMPTY},
        enc_attr_string("b", "the last one"),
    };
    struct otp_attr inner = {
        .kind = OTP_ATTR_MAP, .items = leaves, .item_count = OTP_ARRAY_LEN(leaves)};
    struct otp_attr outer = {.kind = OTP_ATTR_LIST, .items = &inner, .item_count = 1};
    ck_assert_int_eq(otp_value_encode(&limits, &outer, &out), OTP_OK);
    ENC_COMMON(AnyValue) *a = ANY_UNPACK(NULL, out.len, out.data);
    ck_assert_ptr_nonnull(a);
    const ENC_COMMON(KeyValueList) *map = a->array_value->values[0]->kvlist_value;
    ck_assert_uint_eq(map->n_values, OTP_ARRAY_LEN(leaves) - 1);
    for (size_t i = 1; i < map->n_values; i++) {
        ck_assert_int_lt(strcmp(map->values[i - 1]->key, map->values[i]->key), 0);
    }
    ck_assert_str_eq(map->values[1]->value->string_value, "text \xef\xbf\xbd");
    ck_assert_str_eq(map->values[2]->value->string_value, "the last one");
    uint8_t *again = malloc(out.len);
    ck_assert_ptr_nonnull(again);
    ck_assert_uint_eq(protobuf_c_message_get_packed_size(&a->base), out.len);
    ck_assert_uint_eq(protobuf_c_message_pack(&a->base, again), out.len);
    ck_assert_mem_eq(again, out.data, out.len);
    free(again);
    ANY_FREE(a, NULL);

    struct otp_buf other;
    struct otp_attr turned[OTP_ARRAY_LEN(leaves)];
    otp_buf_init(&other, &heap, 10000);
    for (size_t i = 0; i < OTP_ARRAY_LEN(leaves); i++) {
        /* Any order in which the last "b" stays behind the first one. */
        turned[i] = leaves[(i + OTP_ARRAY_LEN(leaves) - 1) % OTP_ARRAY_LEN(leaves)];
    }
    struct otp_attr swap = turned[0];
    turned[0] = turned[1];
    turned[1] = swap;
    inner.items = turned;
    ck_assert_int_eq(otp_value_encode(&limits, &outer, &other), OTP_OK);
    ck_assert_uint_eq(other.len, out.len);
    ck_assert_mem_eq(other.data, out.data, out.len);
    otp_buf_fini(&other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("encode_pack");
    TCase *t = tcase_create("pack");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_numbers);
    tcase_add_test(t, test_open_and_close);
    tcase_add_test(t, test_full_buffer);
    tcase_add_test(t, test_values_repack);
    suite_add_tcase(suite, t);
    return unit_run(suite);
}
