/* SPDX-License-Identifier: Apache-2.0 */
/* The foundation: allocator, buffer, hash index, sorting, numbers, bounded reader, symbol look-up.
 */
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/dynsym.h"
#include "core/base/fmt.h"
#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/base/reader.h"
#include "core/base/sort.h"
#include "core/base/status.h"
#include "core/base/sys.h"
#include "tests/unit/run.h"

#define SEED 20261130U

static uint64_t random_state = SEED;

static uint64_t next_random(void)
{
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return random_state >> 17;
}

static bool holds_only(const unsigned char *p, size_t len, unsigned char value)
{
    for (size_t k = 0; k < len; k++) {
        if (p[k] != value) {
            return false;
        }
    }
    return true;
}

START_TEST(test_heap_blocks_keep_their_content)
{
    enum { COUNT = 400 };
    struct otp_heap h;
    static unsigned char *blocks[COUNT];
    static size_t sizes[COUNT];
    otp_heap_init(&h, (size_t)64 << 20);
    for (int round = 0; round < 20000; round++) {
        size_t i = next_random() % COUNT;
        ck_assert(holds_only(blocks[i], sizes[i], (unsigned char)i));
        size_t size = next_random() % (round % 50 == 0 ? 40000 : 600);
        unsigned char *p;
        if (round % 3 == 0) {
            p = otp_heap_realloc(&h, blocks[i], size);
            ck_assert(holds_only(p, size < sizes[i] ? size : sizes[i], (unsigned char)i));
        } else {
            otp_heap_free(&h, blocks[i]);
            p = otp_heap_alloc(&h, size);
        }
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq((uintptr_t)p % 16, 0);
        memset(p, (int)i, size);
        blocks[i] = p;
        sizes[i] = size;
    }
    otp_heap_reset(&h);
    ck_assert_uint_eq(h.mapped_bytes, 0);
}
END_TEST

START_TEST(test_heap_refuses_past_its_limit)
{
    struct otp_heap h;
    otp_heap_init(&h, (size_t)1 << 20);
    size_t got = 0;
    while (otp_heap_alloc(&h, 5000) != NULL) {
        got++;
        ck_assert_uint_lt(got, 1000);
    }
    ck_assert_uint_gt(got, 100);
    ck_assert_uint_le(h.mapped_bytes, (size_t)1 << 20);
    ck_assert_uint_gt(h.failures, 0);
    ck_assert_ptr_null(otp_heap_alloc(&h, SIZE_MAX - 8));
    ck_assert_ptr_null(otp_heap_calloc(&h, SIZE_MAX / 2, 3));
    otp_heap_reset(&h);
    ck_assert_ptr_nonnull(otp_heap_alloc(&h, 5000));
    otp_heap_reset(&h);
}
END_TEST

/* Who is told that a limit is reached raises it. */
START_TEST(test_a_refusal_of_the_system_is_no_limit)
{
    struct otp_heap h;
    otp_heap_init(&h, SIZE_MAX / 2);
    ck_assert_ptr_null(otp_heap_alloc(&h, (size_t)1 << 47)); /* as large as all addresses */
    ck_assert_str_eq(otp_status_text(OTP_NO_MEMORY), "the system gives no more memory");
    otp_heap_init(&h, (size_t)1 << 20);
    ck_assert_ptr_null(otp_heap_alloc(&h, (size_t)1 << 47));
    ck_assert_str_eq(otp_status_text(OTP_NO_MEMORY), "the memory limit is reached");
    otp_heap_reset(&h);
}
END_TEST

START_TEST(test_heap_gives_large_blocks_back)
{
    struct otp_heap h;
    otp_heap_init(&h, (size_t)1 << 20);
    for (int i = 0; i < 1000; i++) {
        void *p = otp_heap_alloc(&h, 300000);
        ck_assert_ptr_nonnull(p);
        otp_heap_free(&h, p);
    }
    ck_assert_uint_eq(h.mapped_bytes, 0);
}
END_TEST

START_TEST(test_buf_is_sticky_after_its_maximum)
{
    struct otp_heap h;
    struct otp_buf b;
    otp_heap_init(&h, (size_t)4 << 20);
    otp_buf_init(&b, &h, 100);
    for (int i = 0; i < 100; i++) {
        ck_assert(otp_buf_add_byte(&b, (unsigned char)i));
    }
    ck_assert(!otp_buf_add_byte(&b, 1));
    ck_assert(!otp_buf_ok(&b));
    ck_assert(!otp_buf_add(&b, "", 0));
    ck_assert_uint_eq(b.len, 100);
    otp_buf_clear(&b);
    ck_assert(otp_buf_add_str(&b, "n="));
    ck_assert(otp_buf_add_i64(&b, INT64_MIN));
    ck_assert(otp_buf_add_hex(&b, 0xabc, 5));
    ck_assert(otp_buf_add_u64(&b, UINT64_MAX));
    ck_assert_str_eq(otp_buf_str(&b), "n=-922337203685477580800abc18446744073709551615");
    otp_buf_fini(&b);
    otp_heap_reset(&h);
}
END_TEST

static bool equals(const void *ctx, uint32_t id, const void *key)
{
    return ((const uint64_t *)ctx)[id] == *(const uint64_t *)key;
}

START_TEST(test_map_finds_what_was_added_and_nothing_else)
{
    enum { COUNT = 20000 };
    static uint64_t items[COUNT];
    struct otp_heap h;
    struct otp_map m;
    otp_heap_init(&h, (size_t)16 << 20);
    otp_map_init(&m, &h);
    for (uint32_t i = 0; i < COUNT; i++) {
        items[i] = (uint64_t)i * 977 + 5;
        /* Few distinct hashes: equality must decide. */
        ck_assert(otp_map_add(&m, otp_hash_mix(0, items[i]) & (i % 2 == 0 ? 0xff : ~0ULL), i));
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t hash = otp_hash_mix(0, items[i]) & (i % 2 == 0 ? 0xff : ~0ULL);
        ck_assert_uint_eq(otp_map_find(&m, hash, &items[i], equals, items), i);
        uint64_t absent = items[i] + 1;
        ck_assert_uint_eq(otp_map_find(&m, hash, &absent, equals, items), OTP_MAP_NONE);
    }
    otp_map_clear(&m);
    ck_assert_uint_eq(otp_map_find(&m, otp_hash_mix(0, items[1]), &items[1], equals, items),
                      OTP_MAP_NONE);
    otp_map_fini(&m);
    otp_heap_reset(&h);
}
END_TEST

static int compare(const void *a, const void *b, void *arg)
{
    (*(size_t *)arg)++;
    uint64_t x = ((const uint64_t *)a)[0];
    uint64_t y = ((const uint64_t *)b)[0];
    return x < y ? -1 : x > y;
}

START_TEST(test_sort_orders_any_count)
{
    static uint64_t items[3000][2];
    for (size_t count = 0; count < 3000; count = count < 40 ? count + 1 : count * 2) {
        uint64_t sum = 0;
        size_t calls = 0;
        for (size_t i = 0; i < count; i++) {
            items[i][0] = next_random() % 500;
            items[i][1] = items[i][0] * 3;
            sum += items[i][0];
        }
        otp_sort(items, count, sizeof(items[0]), compare, &calls);
        for (size_t i = 0; i < count; i++) {
            ck_assert(i == 0 || items[i - 1][0] <= items[i][0]);
            ck_assert_uint_eq(items[i][1], items[i][0] * 3);
            sum -= items[i][0];
        }
        ck_assert_uint_eq(sum, 0);
        ck_assert(count < 2 || calls > 0);
    }
}
END_TEST

START_TEST(test_fmt_numbers_agree_with_libc)
{
    for (int i = 0; i < 20000; i++) {
        uint64_t v = i < 100 ? (uint64_t)i : next_random() << (i % 64);
        char own[OTP_FMT_NUMBER_MAX + 1];
        own[otp_fmt_u64(own, v)] = '\0';
        ck_assert_uint_eq(strtoull(own, NULL, 10), v);
        uint64_t back;
        ck_assert(otp_fmt_parse_u64(own, strlen(own), &back));
        ck_assert_uint_eq(back, v);
        own[otp_fmt_i64(own, (int64_t)v)] = '\0';
        ck_assert_int_eq(strtoll(own, NULL, 10), (int64_t)v);
        own[otp_fmt_hex(own, v, 1)] = '\0';
        ck_assert_uint_eq(strtoull(own, NULL, 16), v);
    }
    uint64_t out;
    ck_assert(!otp_fmt_parse_u64("18446744073709551616", 20, &out));
    ck_assert(!otp_fmt_parse_u64("", 0, &out));
    ck_assert(!otp_fmt_parse_u64("12a", 3, &out));
}
END_TEST

START_TEST(test_reader_never_leaves_its_bytes)
{
    unsigned char bytes[64];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)(i + 1);
    }
    for (uint64_t len = 0; len <= sizeof(bytes); len++) {
        struct otp_reader r;
        otp_reader_init(&r, bytes, len);
        ck_assert_uint_eq(otp_reader_u32_le(&r), len >= 4 ? 0x04030201U : 0);
        ck_assert_uint_eq(otp_reader_u64_le(&r), len >= 12 ? 0x0c0b0a0908070605U : 0);
        ck_assert_uint_eq(otp_reader_u8(&r), len >= 13 ? 13 : 0);
        ck_assert_int_eq(r.failed, len < 13);
        struct otp_reader all;
        otp_reader_init(&all, bytes, len);
        ck_assert(otp_reader_part(&all, len, 1).failed);
        ck_assert(otp_reader_part(&all, UINT64_MAX, 2).failed);
        ck_assert(!otp_reader_part(&all, 0, len).failed);
        size_t text_len;
        ck_assert_ptr_null(otp_reader_string_at(&all, 0, &text_len)); /* no NUL inside */
    }
}
END_TEST

START_TEST(test_dynsym_finds_what_the_loader_finds)
{
    struct otp_dynsym found = otp_dynsym_find("malloc", NULL);
    ck_assert_ptr_nonnull(found.addr);
    ck_assert_ptr_null(otp_dynsym_find("otp_no_such_function", NULL).addr);
    void *(*take)(size_t);
    memcpy(&take, &found.addr, sizeof(take));
    void *p = take(100);
    ck_assert_ptr_nonnull(p);
    free(p);
#ifndef OTP_SANITIZER
    /* strlen is an indirect function: not given, rather than given wrongly. */
    ck_assert_ptr_null(otp_dynsym_find("strlen", NULL).addr);
#endif
    int (*pid)(void);
    found = otp_dynsym_find("getpid", NULL);
    ck_assert_ptr_nonnull(found.addr);
    memcpy(&pid, &found.addr, sizeof(pid));
    ck_assert_int_eq(pid(), otp_sys_getpid());
}
END_TEST

START_TEST(test_hashes_of_short_keys_differ)
{
    static uint32_t seen[3 * 256];
    uint32_t count = 0;
    for (size_t len = 1; len <= 3; len++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            const unsigned char key[3] = {(unsigned char)byte, 'k', 'k'};
            seen[count++] = (uint32_t)otp_hash_bytes(key, len, 0);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            ck_assert_uint_ne(seen[i], seen[k]);
        }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("base_core");
    TCase *t = tcase_create("base");
    tcase_add_test(t, test_heap_blocks_keep_their_content);
    tcase_add_test(t, test_heap_refuses_past_its_limit);
    tcase_add_test(t, test_a_refusal_of_the_system_is_no_limit);
    tcase_add_test(t, test_heap_gives_large_blocks_back);
    tcase_add_test(t, test_buf_is_sticky_after_its_maximum);
    tcase_add_test(t, test_map_finds_what_was_added_and_nothing_else);
    tcase_add_test(t, test_sort_orders_any_count);
    tcase_add_test(t, test_fmt_numbers_agree_with_libc);
    tcase_add_test(t, test_reader_never_leaves_its_bytes);
    tcase_add_test(t, test_dynsym_finds_what_the_loader_finds);
    tcase_add_test(t, test_hashes_of_short_keys_differ);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return unit_run(s);
}
