/* SPDX-License-Identifier: Apache-2.0 */
/* OTLP/JSON: exact texts of small messages, and numbers that must read back as they were. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode/decimal.h"
#include "core/encode/json.h"
#include "core/encode/pack.h"
#include "tests/unit/run.h"

static struct otp_heap heap;
static struct otp_buf message;
static struct otp_buf out;

static void set_up(void)
{
    otp_heap_init(&heap, (size_t)32 << 20);
    otp_buf_init(&message, &heap, (size_t)1 << 20);
    otp_buf_init(&out, &heap, (size_t)1 << 20);
}

static void tear_down(void)
{
    otp_heap_reset(&heap);
}

static enum otp_status convert(void)
{
    return otp_json_profiles(otp_text_make((const char *)message.data, message.len), &out);
}

START_TEST(test_empty_message)
{
    ck_assert_int_eq((int)convert(), OTP_OK);
    ck_assert_str_eq(otp_buf_str(&out), "{}\n");
}
END_TEST

static void add_sample(void)
{
    static const char indices[] = "\x00\xac\x02";
    static const char values[] = "\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    static const char times[] = "\x01\0\0\0\0\0\0\x80\x02\0\0\0\0\0\0\0";
    size_t sample = otp_pack_open(&message, 2);
    otp_pack_uint(&message, 1, 7);
    otp_pack_bytes(&message, 2, indices, 3);
    otp_pack_bytes(&message, 4, values, sizeof(values) - 1);
    otp_pack_bytes(&message, 5, times, sizeof(times) - 1);
    otp_pack_close(&message, sample);
}

START_TEST(test_profile)
{
    size_t rp = otp_pack_open(&message, 1);
    size_t sp = otp_pack_open(&message, 2);
    size_t p = otp_pack_open(&message, 2);
    size_t type = otp_pack_open(&message, 1);
    otp_pack_uint(&message, 1, 3);
    otp_pack_close(&message, type);
    add_sample();
    otp_pack_fixed64(&message, 3, UINT64_MAX);
    otp_pack_uint(&message, 6, (uint64_t)-1);
    otp_pack_bytes(&message, 7, "\x00\x1f\xff", 3);
    add_sample(); /* apart from the other, but in one array */
    otp_pack_bytes(&message, 10, "abcd", 4);
    otp_pack_close(&message, p);
    otp_pack_close(&message, sp);
    otp_pack_close(&message, rp);
    size_t d = otp_pack_open(&message, 2);
    otp_pack_bytes(&message, 1, "", 0);
    otp_pack_bytes(&message, 5, "", 0);
    otp_pack_bytes(&message, 5, "a\"\\\n\x01\xff\xc3\xa9", 8);
    otp_pack_bytes(&message, 99, "unknown", 7);
    otp_pack_close(&message, d);
    ck_assert_int_eq((int)convert(), OTP_OK);
#define SAMPLE                                                                                     \
    "{\"stackIndex\":7,\"attributeIndices\":[0,300],\"values\":[\"5\",\"-1\"],"                    \
    "\"timestampsUnixNano\":[\"9223372036854775809\",\"2\"]}"
    ck_assert_str_eq(otp_buf_str(&out),
                     "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"sampleType\":{"
                     "\"typeStrindex\":3},\"samples\":[" SAMPLE "," SAMPLE "],"
                     "\"timeUnixNano\":\"18446744073709551615\",\"period\":\"-1\","
                     "\"profileId\":\"001fff\",\"originalPayload\":\"YWJjZA==\"}]}]}],"
                     "\"dictionary\":{\"mappingTable\":[{}],"
                     "\"stringTable\":[\"\",\"a\\\"\\\\\\u000a\\u0001\xef\xbf\xbd\xc3\xa9\"]}}\n");
}
END_TEST

/* Samples of all kinds, the usual one and those that are nearly like it. */
START_TEST(test_samples)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *text;
    } kinds[] = {
#define KIND(bytes, text) {bytes, sizeof(bytes) - 1, text}
        KIND("", "{}"),
        KIND("\x08\x00", "{\"stackIndex\":0}"),
        KIND("\x08\xff\xff\xff\xff\x0f", "{\"stackIndex\":-1}"),
        KIND("\x08\x07\x12\x02\x01\x02\x18\x05\x22\x01\x09",
             "{\"stackIndex\":7,\"attributeIndices\":[1,2],\"linkIndex\":5,\"values\":[\"9\"]}"),
        KIND("\x22\x01\x09\x08\x07", "{\"stackIndex\":7,\"values\":[\"9\"]}"), /* not in order */
        KIND("\x22\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "{\"values\":[\"-1\"]}"),
        KIND("\x20\x03\x20\x04", "{\"values\":[\"3\",\"4\"]}"), /* not packed */
        KIND("\x22\x01\x03\x22\x01\x04", "{\"values\":[\"3\",\"4\"]}"),
        KIND("\x12\x00\x22\x01\x03", "{\"values\":[\"3\"]}"),
        KIND("\x12\x12\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1",
             "{\"attributeIndices\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}"),
        KIND("\x08\x07\x3a\x01x", "{\"stackIndex\":7}"), /* a field that nobody knows */
#undef KIND
    };
    struct otp_buf want;
    otp_buf_init(&want, &heap, (size_t)1 << 20);
    size_t rp = otp_pack_open(&message, 1);
    size_t sp = otp_pack_open(&message, 2);
    size_t p = otp_pack_open(&message, 2);
    otp_buf_add_str(&want,
                    "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"samples\":[");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        otp_pack_bytes(&message, 2, kinds[i].bytes, kinds[i].len);
        otp_buf_add_str(&want, i == 0 ? "" : ",");
        otp_buf_add_str(&want, kinds[i].text);
    }
    otp_buf_add_str(&want, "]}]}]}]}\n");
    otp_pack_close(&message, p);
    otp_pack_close(&message, sp);
    otp_pack_close(&message, rp);
    ck_assert_int_eq((int)convert(), OTP_OK);
    ck_assert_str_eq(otp_buf_str(&out), otp_buf_str(&want));
}
END_TEST

static void add_value(const void *bytes, size_t len)
{
    size_t kv = otp_pack_open(&message, 1);
    otp_pack_bytes(&message, 1, "k", 1);
    otp_pack_bytes(&message, 2, bytes, len);
    otp_pack_close(&message, kv);
}

START_TEST(test_values)
{
    static const char nested[] = "\x2a\x08\x0a\x02\x18\x05\x0a\x02\x10\x00";
    size_t rp = otp_pack_open(&message, 1);
    size_t r = otp_pack_open(&message, 1);
    add_value("\x0a\x00", 2);
    add_value("\x10\x00", 2);
    add_value("\x21\0\0\0\0\0\0\xf8\x3f", 9);
    add_value("\x21\0\0\0\0\0\0\xf8\x7f", 9);
    add_value("\x3a\x01\xff", 3);
    add_value(nested, sizeof(nested) - 1);
    add_value("", 0);
    otp_pack_close(&message, r);
    otp_pack_close(&message, rp);
    ck_assert_int_eq((int)convert(), OTP_OK);
    ck_assert_str_eq(otp_buf_str(&out),
                     "{\"resourceProfiles\":[{\"resource\":{\"attributes\":["
                     "{\"key\":\"k\",\"value\":{\"stringValue\":\"\"}},"
                     "{\"key\":\"k\",\"value\":{\"boolValue\":false}},"
                     "{\"key\":\"k\",\"value\":{\"doubleValue\":1.5}},"
                     "{\"key\":\"k\",\"value\":{\"doubleValue\":\"NaN\"}},"
                     "{\"key\":\"k\",\"value\":{\"bytesValue\":\"/w==\"}},"
                     "{\"key\":\"k\",\"value\":{\"arrayValue\":{\"values\":[{\"intValue\":\"5\"},"
                     "{\"boolValue\":false}]}}},"
                     "{\"key\":\"k\",\"value\":{}}]}}]}\n");
}
END_TEST

/* Values inside values, deeper than the walk goes. */
START_TEST(test_depth_is_bounded)
{
    size_t marks[200];
    size_t n = 0;
    marks[n++] = otp_pack_open(&message, 1);
    marks[n++] = otp_pack_open(&message, 1);
    marks[n++] = otp_pack_open(&message, 1);
    marks[n++] = otp_pack_open(&message, 2);
    while (n < 200) {
        marks[n++] = otp_pack_open(&message, 5);
        marks[n++] = otp_pack_open(&message, 1);
    }
    while (n > 0) {
        otp_pack_close(&message, marks[--n]);
    }
    ck_assert_int_eq((int)convert(), OTP_MALFORMED);
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

START_TEST(test_broken_and_too_large)
{
    (void)otp_buf_add(&message, "\x0a\x05\x0a", 3);
    ck_assert_int_eq((int)convert(), OTP_MALFORMED);
    ck_assert_uint_eq(out.len, 0);
    otp_buf_clear(&message);
    size_t d = otp_pack_open(&message, 2);
    otp_pack_bytes(&message, 5, "0123456789", 10);
    otp_pack_close(&message, d);
    otp_buf_init(&out, &heap, 30);
    ck_assert_int_eq((int)convert(), OTP_TOO_LARGE);
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

static void assert_reads_back(double v)
{
    char text[OTP_DECIMAL_MAX + 1];
    size_t len = otp_decimal(text, v);
    ck_assert_uint_le(len, OTP_DECIMAL_MAX);
    text[len] = '\0';
    ck_assert_msg(strtod(text, NULL) == v, "%.17g became %s", v, text);
}

START_TEST(test_doubles_read_back)
{
    static const double some[] = {0,       1,       -1,     0.1,      1.5,       1e22,
                                  1e23,    123456,  9.5e-7, DBL_MAX,  DBL_MIN,   4.9e-324,
                                  1 / 3.0, 99999.5, 1e-300, -DBL_MAX, 0.3,       5e-324,
                                  1e15,    1e16,    1e17,   2.5e17,   999999999, 1e9};
    uint64_t seed = 88172645463325252U;
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        assert_reads_back(some[i]);
    }
    for (unsigned i = 0; i < 20000; i++) {
        double v;
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        memcpy(&v, &seed, sizeof(v));
        if (isfinite(v)) {
            assert_reads_back(v);
        }
    }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("encode_json");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, test_empty_message);
    tcase_add_test(t, test_profile);
    tcase_add_test(t, test_samples);
    tcase_add_test(t, test_values);
    tcase_add_test(t, test_depth_is_bounded);
    tcase_add_test(t, test_broken_and_too_large);
    tcase_add_test(t, test_doubles_read_back);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return unit_run(make_suite());
}
