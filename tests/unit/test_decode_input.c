/* SPDX-License-Identifier: Apache-2.0 */
/* Files as they come: packed, framed, of other formats, cut off, and bombs. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "core/decode/meter.h"
#include "core/decode/unpack.h"
#include "tests/unit/decode_help.h"
#include "tests/unit/run.h"

static const struct dec_shape usual = {.with_attrs = true, .with_link = true, .with_values = true};

static struct dec_bytes gzip_of(const void *data, size_t len)
{
    struct dec_bytes out = {.data = NULL};
    z_stream z;
    uint8_t room[2048];

    memset(&z, 0, sizeof(z));
    ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
    uint8_t *copy = malloc(len + 1);
    memcpy(copy, data, len);
    z.next_in = copy;
    z.avail_in = (uInt)len;
    int ret;
    do {
        z.next_out = room;
        z.avail_out = sizeof(room);
        ret = deflate(&z, Z_FINISH);
        dec_raw(&out, room, sizeof(room) - z.avail_out);
    } while (ret == Z_OK);
    ck_assert_int_eq(ret, Z_STREAM_END);
    deflateEnd(&z);
    free(copy);
    return out;
}

static struct dec_bytes zstd_of(const void *data, size_t len)
{
    struct dec_bytes out = {.data = NULL};
    size_t room = ZSTD_compressBound(len);
    uint8_t *packed = malloc(room);
    size_t size = ZSTD_compress(packed, room, data, len, 3);
    ck_assert(!ZSTD_isError(size));
    dec_raw(&out, packed, size);
    free(packed);
    return out;
}

static void add_frame(struct dec_bytes *b, const void *data, size_t len)
{
    uint8_t head[4] = {(uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                       (uint8_t)len};
    dec_raw(b, head, 4);
    dec_raw(b, data, len);
}

static enum otp_status add(struct otp_profile_set *set, const struct dec_bytes *b,
                           struct otp_input_fault *fault)
{
    otp_profile_set_init(set);
    return dec_add(set, b->data, b->len, false, fault);
}

static void assert_messages(const struct dec_bytes *b, size_t count)
{
    struct otp_profile_set set;
    struct otp_input_fault fault;

    ck_assert_msg(add(&set, b, &fault) == OTP_OK, "%s", fault.reason);
    ck_assert_uint_eq(set.message_count, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(set.messages[i]->samples.count, DEC_SAMPLES);
        ck_assert_uint_eq(set.messages[i]->number, i);
    }
    otp_profile_set_fini(&set);
}

START_TEST(test_packed_files)
{
    struct dec_bytes b = dec_profile(&usual);
    struct dec_bytes z = gzip_of(b.data, b.len);
    struct dec_bytes s = zstd_of(b.data, b.len);
    size_t half = b.len / 2;
    struct dec_bytes parts = gzip_of(b.data, half);
    struct dec_bytes rest = gzip_of(b.data + half, b.len - half);

    assert_messages(&b, 1);
    assert_messages(&z, 1);
    assert_messages(&s, 1);
    dec_raw(&parts, rest.data, rest.len); /* two members make one file */
    assert_messages(&parts, 1);
    dec_free(&rest);
    dec_free(&parts);
    struct dec_bytes frames = zstd_of(b.data, half);
    rest = zstd_of(b.data + half, b.len - half);
    dec_raw(&frames,
            "\x50\x2a\x4d\x18\x03\x00\x00\x00"
            "abc",
            11); /* one to be skipped */
    dec_raw(&frames, rest.data, rest.len);
    assert_messages(&frames, 1);
    dec_free(&rest);
    dec_free(&frames);
    dec_free(&b);
    dec_free(&z);
    dec_free(&s);
}
END_TEST

START_TEST(test_framed_files)
{
    struct dec_bytes b = dec_profile(&usual);
    struct dec_bytes z = gzip_of(b.data, b.len);
    struct dec_bytes s = zstd_of(b.data, b.len);
    struct dec_bytes frames = {.data = NULL};

    add_frame(&frames, b.data, b.len);
    add_frame(&frames, z.data, z.len);
    add_frame(&frames, s.data, s.len);
    add_frame(&frames, b.data, b.len);
    assert_messages(&frames, 4);
    struct dec_bytes packed = gzip_of(frames.data, frames.len);
    ck_assert_uint_gt(packed.len, 0);
    assert_messages(&packed, 4);
    /* Cut off anywhere but between two frames. */
    for (size_t cut = 1; cut < frames.len; cut += 7) {
        struct dec_bytes part = {.data = frames.data, .len = cut};
        struct otp_profile_set set;
        struct otp_input_fault fault;
        enum otp_status status = add(&set, &part, &fault);
        bool is_whole =
            cut == 4 + b.len || cut == 8 + b.len + z.len || cut == 12 + b.len + z.len + s.len;
        ck_assert_int_eq(status == OTP_OK, is_whole);
        otp_profile_set_fini(&set);
    }
    dec_free(&packed);
    dec_free(&frames);
    dec_free(&b);
    dec_free(&z);
    dec_free(&s);
}
END_TEST

START_TEST(test_packed_files_cut_off_or_damaged)
{
    struct dec_bytes b = dec_profile(&usual);
    struct dec_bytes packed[] = {gzip_of(b.data, b.len), zstd_of(b.data, b.len)};

    for (size_t k = 0; k < OTP_ARRAY_LEN(packed); k++) {
        struct otp_profile_set set;
        struct otp_input_fault fault;
        for (size_t len = 0; len < packed[k].len; len++) {
            struct dec_bytes part = {.data = packed[k].data, .len = len};
            ck_assert_int_ne(add(&set, &part, &fault), OTP_OK);
            ck_assert_uint_le(fault.off, len);
            otp_profile_set_fini(&set);
        }
        dec_raw(&packed[k], "behind", 6);
        ck_assert_int_ne(add(&set, &packed[k], &fault), OTP_OK);
        otp_profile_set_fini(&set);
        for (size_t at = 0; at < packed[k].len - 6; at++) {
            struct dec_bytes copy = {.data = NULL};
            dec_raw(&copy, packed[k].data, packed[k].len - 6);
            copy.data[at] ^= 0x55;
            (void)add(&set, &copy, &fault); /* whatever it says, it ends */
            otp_profile_set_fini(&set);
            dec_free(&copy);
        }
        dec_free(&packed[k]);
    }
    dec_free(&b);
}
END_TEST

START_TEST(test_unpacking_keeps_to_its_limit)
{
    size_t size = (size_t)3 << 20;
    uint8_t *zeros = calloc(size, 1);
    struct dec_bytes packed[] = {gzip_of(zeros, size), zstd_of(zeros, size)};

    for (size_t k = 0; k < OTP_ARRAY_LEN(packed); k++) {
        struct otp_unpacked out;
        ck_assert_uint_lt(packed[k].len, size / 100);
        ck_assert_int_eq(otp_unpack(packed[k].data, packed[k].len, size, &out), OTP_OK);
        ck_assert_uint_eq(out.size, size);
        ck_assert_int_eq(memcmp(out.bytes, zeros, size), 0);
        free(out.bytes);
        ck_assert_int_eq(otp_unpack(packed[k].data, packed[k].len, size - 1, &out), OTP_TOO_LARGE);
        ck_assert_ptr_null(out.bytes);
        ck_assert_int_eq(otp_unpack(packed[k].data, packed[k].len, 0, &out), OTP_TOO_LARGE);
        dec_free(&packed[k]);
    }
    free(zeros);
}
END_TEST

/* Formats that are known by their beginning; each refusal says which one it is. */
static const struct {
    const char *bytes;
    size_t len;
    const char *says;
} others[] = {
    {"", 0, "empty"},
    {"  {\"resourceSpans\": []}", 23, "JSON"},
    {"\x0a\x04\x08\x01\x10\x02\x12\x00", 8, "pprof"},
    {"\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\x27\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 40,
     "gperftools"},
    {"# a text", 8, "known format"},
    {"GET / HTTP/1.1\r\n", 16, "known format"},
    {"\x7f"
     "ELF\x02\x01\x01\0\0\0\0\0",
     12, "known format"},
};

START_TEST(test_other_formats_are_named)
{
    struct otp_profile_set set;
    struct otp_input_fault fault;

    otp_profile_set_init(&set);
    enum otp_status status = dec_add(&set, others[_i].bytes, others[_i].len, false, &fault);
    ck_assert_int_ne(status, OTP_OK);
    ck_assert_msg(strstr(fault.reason, others[_i].says) != NULL, "%s", fault.reason);
    ck_assert_uint_eq(set.blob_count, 0);
    otp_profile_set_fini(&set);
}
END_TEST

START_TEST(test_a_failed_file_leaves_the_others)
{
    struct dec_bytes b = dec_profile(&usual);
    struct otp_profile_set set;
    struct otp_input_fault fault;

    ck_assert_int_eq(add(&set, &b, &fault), OTP_OK);
    ck_assert_int_ne(dec_add(&set, b.data, b.len - 1, false, &fault), OTP_OK);
    ck_assert_int_eq(dec_add(&set, b.data, b.len, false, &fault), OTP_OK);
    ck_assert_uint_eq(set.message_count, 2);
    ck_assert_uint_eq(set.blob_count, 2);
    otp_profile_set_fini(&set);
    dec_free(&b);
}
END_TEST

/* What is told while something is decoded. */
static struct {
    const char *what;
    unsigned count;
    unsigned inside; /* neither nothing nor all */
    uint64_t last;
    uint64_t all;
    bool goes_back;
} told;

static void note_meter(const char *what, uint64_t done, uint64_t all)
{
    if (told.what == NULL || strcmp(told.what, what) != 0) {
        told.what = what;
        told.last = 0;
    }
    told.count++;
    told.inside += done > 0 && done < all;
    told.goes_back = told.goes_back || done < told.last || done > all;
    told.last = done;
    told.all = all;
}

static void add_told(const struct dec_bytes *b, otp_meter show)
{
    struct otp_profile_set set;
    struct otp_input_fault fault;

    memset(&told, 0, sizeof(told));
    otp_meter_show = show;
    ck_assert_msg(add(&set, b, &fault) == OTP_OK, "%s", fault.reason);
    otp_meter_show = NULL;
    otp_profile_set_fini(&set);
}

/* Far more samples than there are between two looks. */
#define METERED (OTP_METER_EVERY * 8)

static struct dec_bytes large_json(void)
{
    static const char head[] = "{\"dictionary\":{\"stringTable\":[\"\"],\"stackTable\":[{}]},"
                               "\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{"
                               "\"samples\":[{\"values\":[\"1\"]}";
    static const char more[] = ",\n{\"values\":[\"1\"]}";
    struct dec_bytes b = {.data = NULL};

    dec_raw(&b, head, sizeof(head) - 1);
    for (unsigned i = 0; i < METERED; i++) {
        dec_raw(&b, more, sizeof(more) - 1);
    }
    dec_raw(&b, "]}]}]}]}", 8);
    return b;
}

static struct dec_bytes large_pprof(void)
{
    struct dec_bytes b = {.data = NULL};
    struct dec_bytes type = {.data = NULL};

    dec_number(&type, 1, 1);
    dec_number(&type, 2, 2);
    dec_message(&b, 1, &type);
    for (unsigned i = 0; i < METERED; i++) {
        struct dec_bytes sample = {.data = NULL};
        dec_number(&sample, 2, 1);
        dec_message(&b, 2, &sample);
    }
    dec_text(&b, 6, "");
    dec_text(&b, 6, "samples");
    dec_text(&b, 6, "count");
    return b;
}

static void assert_told(const struct dec_bytes *b, const char *last, unsigned inside)
{
    add_told(b, note_meter);
    ck_assert_str_eq(told.what, last);
    ck_assert_msg(told.inside >= inside, "%u of %u", told.inside, told.count);
    ck_assert(!told.goes_back);
    ck_assert_uint_eq(told.all, b->len);
    add_told(b, NULL);
    ck_assert_uint_eq(told.count, 0);
}

START_TEST(test_who_asks_is_told_how_far_the_decoders_are)
{
    struct dec_bytes one = dec_profile(&usual);
    struct dec_bytes frames = {.data = NULL};
    struct dec_bytes json = large_json();
    struct dec_bytes pprof = large_pprof();
    struct dec_bytes packed;

    for (int i = 0; i < 30; i++) {
        add_frame(&frames, one.data, one.len);
    }
    assert_told(&frames, "reading", 29);
    assert_told(&json, "reading", 7);
    assert_told(&pprof, "reading samples", 14);
    while (json.len < (size_t)20 << 20) {
        dec_raw(&json, json.len % 2 == 0 ? " " : "\n", 1);
    }
    packed = gzip_of(json.data, json.len);
    add_told(&packed, note_meter);
    ck_assert_uint_gt(told.inside, 7 + 3); /* three pieces of what is packed, at least */
    ck_assert(!told.goes_back);
    dec_free(&packed);
    packed = zstd_of(json.data, json.len);
    add_told(&packed, note_meter);
    ck_assert_uint_gt(told.inside, 7);
    ck_assert(!told.goes_back);
    dec_free(&packed);
    dec_free(&pprof);
    dec_free(&json);
    dec_free(&frames);
    dec_free(&one);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode_input");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_test(all, test_packed_files);
    tcase_add_test(all, test_framed_files);
    tcase_add_test(all, test_packed_files_cut_off_or_damaged);
    tcase_add_test(all, test_unpacking_keeps_to_its_limit);
    tcase_add_loop_test(all, test_other_formats_are_named, 0, (int)OTP_ARRAY_LEN(others));
    tcase_add_test(all, test_a_failed_file_leaves_the_others);
    tcase_add_test(all, test_who_asks_is_told_how_far_the_decoders_are);
    suite_add_tcase(suite, all);

    return unit_run(suite);
}
