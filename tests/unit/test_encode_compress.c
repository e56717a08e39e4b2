/* SPDX-License-Identifier: Apache-2.0 */
/* Compression: what comes out is read back by the libraries' own readers; memory is bounded. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "core/encode/compress.h"
#include "tests/unit/run.h"

static enum otp_status (*const both[])(struct otp_heap *heap, const void *in, size_t len, int level,
                                       struct otp_buf *out) = {otp_gzip, otp_zstd};

/* Half text that repeats, half noise. */
static unsigned char *make_input(size_t len)
{
    unsigned char *p = malloc(len + 1);
    uint32_t state = 12345;
    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < len; i++) {
        state = state * 1664525U + 1013904223U;
        p[i] = i / 1000 % 2 == 0 ? (unsigned char)("stack of frames "[i % 16])
                                 : (unsigned char)(state >> 24);
    }
    return p;
}

static void expect_gzip(const struct otp_buf *out, const unsigned char *in, size_t len)
{
    static const unsigned char head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0};
    unsigned char *back = malloc(len + 1);
    z_stream z;
    memset(&z, 0, sizeof(z));
    ck_assert_uint_ge(out->len, 18);
    ck_assert_mem_eq(out->data, head, sizeof(head)); /* no flags, time 0 */
    ck_assert_int_eq(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
    z.next_in = out->data;
    z.avail_in = (unsigned)out->len;
    z.next_out = back;
    z.avail_out = (unsigned)len + 1;
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    ck_assert_uint_eq(z.total_out, len);
    ck_assert_uint_eq(z.avail_in, 0);
    ck_assert(len == 0 || memcmp(back, in, len) == 0);
    ck_assert_int_eq(inflateEnd(&z), Z_OK);
    free(back);
}

static void expect_zstd(const struct otp_buf *out, const unsigned char *in, size_t len)
{
    unsigned char *back = malloc(len + 1);
    ck_assert_uint_eq(ZSTD_getFrameContentSize(out->data, out->len), len);
    ck_assert_uint_eq(ZSTD_findFrameCompressedSize(out->data, out->len), out->len);
    ck_assert_uint_eq(ZSTD_decompress(back, len + 1, out->data, out->len), len);
    ck_assert(len == 0 || memcmp(back, in, len) == 0);
    ck_assert_uint_ne(out->data[4] & 4, 0); /* has a checksum */
    free(back);
}

START_TEST(test_round_trip)
{
    static const size_t sizes[] = {0, 1, 100, 32768, 65536, 1000000, 5000000};
    for (size_t i = 0; i < OTP_ARRAY_LEN(sizes); i++) {
        unsigned char *in = make_input(sizes[i]);
        for (int level = -1; level <= 30; level += sizes[i] > 100000 ? 7 : 1) {
            struct otp_heap heap;
            struct otp_buf out;
            otp_heap_init(&heap, (size_t)64 << 20);
            otp_buf_init(&out, &heap, (size_t)16 << 20);
            ck_assert_int_eq(both[_i](&heap, in, sizes[i], level, &out), OTP_OK);
            (_i == 0 ? expect_gzip : expect_zstd)(&out, in, sizes[i]);
            ck_assert(sizes[i] < 1000 || out.len < sizes[i] * 3 / 4);
            otp_buf_fini(&out);
            ck_assert_ptr_null(heap.large);
            otp_heap_reset(&heap);
        }
        free(in);
    }
}
END_TEST

/* What zlib makes of it by itself. */
static size_t plain_gzip_len(const unsigned char *in, size_t len)
{
    static unsigned char out[100000];
    z_stream z;
    memset(&z, 0, sizeof(z));
    ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (z_const Bytef *)(uintptr_t)in;
    z.avail_in = (unsigned)len;
    z.next_out = out;
    z.avail_out = sizeof(out);
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    ck_assert_int_eq(deflateEnd(&z), Z_OK);
    return z.total_out;
}

/* Parts of different kinds get codes of their own; what is of one kind costs no byte more. */
START_TEST(test_blocks_follow_the_content)
{
    static unsigned char in[40000];
    const size_t part = sizeof(in) / 10;
    for (size_t kinds = 1; kinds <= 10; kinds += 9) {
        uint32_t state = 99;
        struct otp_heap heap;
        struct otp_buf out;
        otp_heap_init(&heap, (size_t)16 << 20);
        otp_buf_init(&out, &heap, (size_t)1 << 20);
        for (size_t i = 0; i < sizeof(in); i++) {
            state = state * 1664525U + 1013904223U;
            in[i] = (unsigned char)((state >> 24) % 16 + (i / part % kinds) * 16);
        }
        size_t plain = plain_gzip_len(in, sizeof(in));
        ck_assert_int_eq(otp_gzip(&heap, in, sizeof(in), 6, &out), OTP_OK);
        expect_gzip(&out, in, sizeof(in));
        ck_assert_uint_le(out.len, kinds == 1 ? plain : plain * 9 / 10);
        otp_heap_reset(&heap);
    }
}
END_TEST

START_TEST(test_appends)
{
    struct otp_heap heap;
    struct otp_buf out;
    otp_heap_init(&heap, (size_t)16 << 20);
    otp_buf_init(&out, &heap, (size_t)1 << 20);
    ck_assert(otp_buf_add_str(&out, "abc"));
    ck_assert_int_eq(both[_i](&heap, "xyz", 3, 5, &out), OTP_OK);
    ck_assert_mem_eq(out.data, "abc", 3);
    struct otp_buf rest = {.data = out.data + 3, .len = out.len - 3};
    (_i == 0 ? expect_gzip : expect_zstd)(&rest, (const unsigned char *)"xyz", 3);
    otp_heap_reset(&heap);
}
END_TEST

/* The working memory of every level, whatever the size of the input: the output is kept elsewhere.
 */
START_TEST(test_memory)
{
    static const size_t sizes[] = {1, 20000, 300000, 8000000};
    const size_t most[] = {(size_t)512 << 10, (size_t)4 << 20};
    for (size_t i = 0; i < OTP_ARRAY_LEN(sizes); i++) {
        unsigned char *in = make_input(sizes[i]);
        for (int level = 1; level <= 9; level += sizes[i] > 1000000 ? 4 : 1) {
            struct otp_heap heap;
            struct otp_heap out_heap;
            struct otp_buf out;
            otp_heap_init(&heap, (size_t)64 << 20);
            otp_heap_init(&out_heap, (size_t)64 << 20);
            otp_buf_init(&out, &out_heap, (size_t)16 << 20);
            ck_assert_int_eq(both[_i](&heap, in, sizes[i], level, &out), OTP_OK);
            ck_assert_uint_gt(heap.peak_bytes, 0);
            ck_assert_uint_lt(heap.peak_bytes, most[_i]);
            otp_heap_reset(&heap);
            otp_heap_reset(&out_heap);
        }
        free(in);
    }
}
END_TEST

START_TEST(test_limits)
{
    const size_t len = 300000;
    unsigned char *in = make_input(len);
    size_t refused = 0;
    size_t done = 0;
    for (size_t limit = 0; limit < (size_t)4 << 20; limit += 40000) {
        struct otp_heap heap;
        struct otp_buf out;
        otp_heap_init(&heap, limit);
        otp_buf_init(&out, &heap, (size_t)16 << 20);
        enum otp_status status = both[_i](&heap, in, len, 3, &out);
        ck_assert(status == OTP_OK || status == OTP_NO_MEMORY);
        if (status == OTP_OK) {
            (_i == 0 ? expect_gzip : expect_zstd)(&out, in, len);
            done++;
        } else {
            ck_assert_uint_eq(out.len, 0);
            ck_assert(otp_buf_ok(&out));
            refused++;
        }
        otp_buf_fini(&out);
        ck_assert_ptr_null(heap.large);
        otp_heap_reset(&heap);
    }
    ck_assert_uint_ge(refused, 5);
    ck_assert_uint_ge(done, 5);
    for (size_t max = 0; max < len / 4; max += 5000) {
        struct otp_heap heap;
        struct otp_buf out;
        otp_heap_init(&heap, (size_t)16 << 20);
        otp_buf_init(&out, &heap, max);
        ck_assert_int_eq(both[_i](&heap, in, len, 3, &out), OTP_TOO_LARGE);
        ck_assert_uint_eq(out.len, 0);
        ck_assert(otp_buf_ok(&out));
        otp_heap_reset(&heap);
    }
    free(in);
}
END_TEST

/* Where there is no memory for the usual tables, smaller ones do. */
START_TEST(test_little_memory)
{
    const size_t len = 20000;
    unsigned char *in = make_input(len);
    struct otp_heap heap;
    struct otp_buf out;
    otp_heap_init(&heap, (size_t)100 << 10);
    otp_buf_init(&out, &heap, (size_t)64 << 10);
    ck_assert_int_eq(both[_i](&heap, in, len, 6, &out), OTP_OK);
    ck_assert_uint_gt(heap.failures, 0);
    (_i == 0 ? expect_gzip : expect_zstd)(&out, in, len);
    ck_assert_uint_lt(out.len, len * 3 / 4);
    otp_buf_fini(&out);
    ck_assert_ptr_null(heap.large);
    otp_heap_reset(&heap);
    free(in);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("encode_compress");
    TCase *t = tcase_create("compress");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, test_round_trip, 0, 2);
    tcase_add_test(t, test_blocks_follow_the_content);
    tcase_add_loop_test(t, test_appends, 0, 2);
    tcase_add_loop_test(t, test_memory, 0, 2);
    tcase_add_loop_test(t, test_limits, 0, 2);
    tcase_add_loop_test(t, test_little_memory, 0, 2);
    suite_add_tcase(suite, t);
    return unit_run(suite);
}
