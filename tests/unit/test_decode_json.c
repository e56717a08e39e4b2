/* SPDX-License-Identifier: Apache-2.0 */
/* OTLP/JSON: what our writer writes comes back byte for byte; what others write, and what is wrong.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/json.h"
#include "core/encode/json.h"
#include "tests/unit/decode_help.h"
#include "tests/unit/encode_random.h"
#include "tests/unit/run.h"

static enum otp_status read_json(const void *data, size_t len, struct otp_translation *t)
{
    uint8_t *copy = malloc(len + 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, data, len);
    memset(t, 0, sizeof(*t));
    otp_emit_init(&t->out, (size_t)64 << 20);
    enum otp_status status = otp_json_decode(copy, len, t);
    ck_assert_uint_le(t->used, len);
    if (status != OTP_OK) {
        ck_assert_ptr_nonnull(t->fault.reason);
        ck_assert_uint_le((size_t)(t->fault.at - copy), len);
    }
    free(copy);
    return status;
}

START_TEST(test_round_trip)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const struct enc_random random = {.seed = seed, .samples = 60};
        struct otp_translation t;
        struct otp_buf json;
        struct enc_rig r;
        enc_rig_init(&r, NULL);
        otp_buf_init(&json, &r.heap, (size_t)64 << 20);
        ck_assert_int_eq(enc_random_tell(&random, r.v, NULL), OTP_OK);
        if (otp_otlp_builder_finish(r.builder, &r.out) == OTP_OK) {
            struct otp_text message = otp_text_make((const char *)r.out.data, r.out.len);
            ck_assert_int_eq(otp_json_profiles(message, &json), OTP_OK);
            ck_assert_int_eq(read_json(json.data, json.len, &t), OTP_OK);
            ck_assert_uint_eq(t.used, json.len);
            ck_assert_uint_eq(t.out.len, r.out.len);
            ck_assert_mem_eq(t.out.data, r.out.data, r.out.len);
            otp_emit_fini(&t.out);
        }
        otp_buf_fini(&json);
        enc_rig_fini(&r);
    }
}
END_TEST

/* Other ways to write the same, unknown names, white space, and a second message behind. */
static const char odd[] =
    "\n { \"new\\u0046ield\" : [ {\"a\":[1,-2.5e3,\"x\",null,true,{}]} , [] ],\n"
    "\"resource_profiles\":[{\"resource\":{\"attributes\":[{\"key\":\"\\ud83d\\ude00\\n\","
    "\"value\":{\"intValue\":7}},{\"key\":\"d\",\"value\":{\"doubleValue\":\"NaN\"}},"
    "{\"key\":\"b\",\"value\":{\"bytesValue\":\"AAEC\"}}]},\"scopeProfiles\":[{\"profiles\":[{"
    "\"sample\":[{\"stackIndex\":0,\"values\":[\"-3\",4,2e1],\"timestampsUnixNano\":"
    "[\"18446744073709551614\",1]}],\"profileId\":\"000102030405060708090A0B0C0D0E0F\","
    "\"periodType\":null,\"period\":\"-9223372036854775808\"}]}]}]} {\"x\":1}";

START_TEST(test_other_writers)
{
    struct otp_translation t;
    ck_assert_int_eq(read_json(odd, sizeof(odd) - 1, &t), OTP_OK);
    ck_assert_uint_eq(t.used, sizeof(odd) - 1 - strlen("{\"x\":1}"));
    ENC_PB(ProfilesData) *data = enc_decode(t.out.data, t.out.len);
    ENC_COMMON(KeyValue) **attrs = data->resource_profiles[0]->resource->attributes;
    ck_assert_str_eq(attrs[0]->key, "\xf0\x9f\x98\x80\n");
    ck_assert_int_eq(attrs[0]->value->int_value, 7);
    ck_assert(attrs[1]->value->double_value != attrs[1]->value->double_value);
    ck_assert_uint_eq(attrs[2]->value->bytes_value.len, 3);
    ck_assert_mem_eq(attrs[2]->value->bytes_value.data, "\0\1\2", 3);
    const ENC_PB(Profile) *p = data->resource_profiles[0]->scope_profiles[0]->profiles[0];
    ck_assert_uint_eq(p->samples[0]->n_values, 3);
    ck_assert_int_eq(p->samples[0]->values[0], -3);
    ck_assert_int_eq(p->samples[0]->values[2], 20);
    ck_assert_uint_eq(p->samples[0]->timestamps_unix_nano[0], 18446744073709551614U);
    ck_assert_uint_eq(p->profile_id.len, 16);
    ck_assert_uint_eq(p->profile_id.data[15], 15);
    ck_assert_int_eq(p->period, INT64_MIN);
    ck_assert_ptr_null(p->period_type);
    enc_free(data);
    otp_emit_fini(&t.out);
}
END_TEST

static const struct {
    const char *json;
    const char *says;
} bad[] = {
    {"{", "name is missing"},
    {"[]", "object is missing"},
    {"{\"resourceSpans\":[]}", "no OTLP profiles"},
    {"{\"resourceProfiles\":{}}", "list is missing"},
    {"{\"resourceProfiles\":[1]}", "object is missing"},
    {"{\"resourceProfiles\":[{}}", "bracket is missing"},
    {"{\"resourceProfiles\":[{} {}]}", "comma"},
    {"{\"resourceProfiles\":[{},]}", "object is missing"},
    {"{\"resourceProfiles\" []}", "colon"},
    {"{\"dictionary\":{\"stringTable\":[\"\\x\"]}}", "escaped"},
    {"{\"dictionary\":{\"stringTable\":[\"\\u12g4\"]}}", "hex digits"},
    {"{\"dictionary\":{\"stringTable\":[\"a\nb\"]}}", "control character"},
    {"{\"dictionary\":{\"stringTable\":[\"\xff\"]}}", "UTF-8"},
    {"{\"dictionary\":{\"stringTable\":[\"abc", "cut off"},
    {"{\"dictionary\":{\"stackTable\":[{\"locationIndices\":[01]}]}}", "as JSON has it"},
    {"{\"dictionary\":{\"stackTable\":[{\"locationIndices\":[1.5]}]}}", "whole number"},
    {"{\"dictionary\":{\"stackTable\":[{\"locationIndices\":[\"9223372036854775808\"]}]}}",
     "range"},
    {"{\"dictionary\":{\"mappingTable\":[{\"memoryStart\":-1}]}}", "range"},
    {"{\"dictionary\":{\"linkTable\":[{\"traceId\":\"#\"}]}}", "base64"},
    {"{\"x\":tru}", "value is missing"},
};

START_TEST(test_refusals)
{
    struct otp_translation t;
    ck_assert_int_eq(read_json(bad[_i].json, strlen(bad[_i].json), &t), OTP_MALFORMED);
    ck_assert_msg(strstr(t.fault.reason, bad[_i].says) != NULL, "%s", t.fault.reason);
    otp_emit_fini(&t.out);
}
END_TEST

/* Depth, known and unknown, ends in a refusal. */
START_TEST(test_depth)
{
    static const char open[] =
        "{\"value\":{\"arrayValue\":{\"values\":[{\"arrayValue\":{\"values\":[";
    struct dec_bytes known = {.data = NULL};
    struct dec_bytes unknown = {.data = NULL};
    struct otp_translation t;
    dec_raw(&known, "{\"dictionary\":{\"attributeTable\":[", 33);
    dec_raw(&known, open, sizeof(open) - 1);
    dec_raw(&unknown, "{\"x\":", 5);
    for (int i = 0; i < 500; i++) {
        dec_raw(&known, "{\"arrayValue\":{\"values\":[", 25);
        dec_raw(&unknown, "[{\"y\":", 6);
    }
    ck_assert_int_eq(read_json(known.data, known.len, &t), OTP_MALFORMED);
    ck_assert_ptr_nonnull(strstr(t.fault.reason, "too deep"));
    otp_emit_fini(&t.out);
    ck_assert_int_eq(read_json(unknown.data, unknown.len, &t), OTP_MALFORMED);
    ck_assert_ptr_nonnull(strstr(t.fault.reason, "too deep"));
    otp_emit_fini(&t.out);
    dec_free(&known);
    dec_free(&unknown);
}
END_TEST

START_TEST(test_broken_bytes)
{
    char copy[sizeof(odd)];
    struct otp_translation t;
    for (size_t len = 0; len < sizeof(odd) - 9; len++) {
        ck_assert_int_eq(read_json(odd, len, &t), OTP_MALFORMED);
        otp_emit_fini(&t.out);
    }
    for (size_t i = 0; i < sizeof(odd) - 1; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            memcpy(copy, odd, sizeof(odd));
            copy[i] = (char)(copy[i] ^ (1 << bit));
            if (read_json(copy, sizeof(odd) - 1, &t) == OTP_OK) {
                enc_free(enc_decode(t.out.data, t.out.len));
            }
            otp_emit_fini(&t.out);
        }
    }
}
END_TEST

/* JSON Lines: each line is a message of the set. */
START_TEST(test_lines)
{
    static const char lines[] = "{\"dictionary\":{}}\n{}\n\n{\"resourceProfiles\":[{}]}\n";
    struct otp_profile_set set;
    struct otp_input_fault fault;
    otp_profile_set_init(&set);
    ck_assert_int_eq(dec_add(&set, lines, sizeof(lines) - 1, false, &fault), OTP_OK);
    ck_assert_uint_eq(set.message_count, 3);
    ck_assert_int_eq(set.messages[2]->source, OTP_SOURCE_JSON);
    ck_assert_uint_eq(set.messages[2]->resources.count, 1);
    ck_assert_uint_eq(set.messages[2]->off, 22);
    otp_profile_set_fini(&set);
    otp_profile_set_init(&set);
    ck_assert_int_ne(dec_add(&set, "{}\n{\"a\"}", 8, false, &fault), OTP_OK);
    ck_assert_uint_eq(fault.off, 7);
    ck_assert_uint_eq(set.message_count, 0);
    otp_profile_set_fini(&set);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode_json");
    TCase *t = tcase_create("json");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_round_trip);
    tcase_add_test(t, test_other_writers);
    tcase_add_loop_test(t, test_refusals, 0, (int)OTP_ARRAY_LEN(bad));
    tcase_add_test(t, test_depth);
    tcase_add_test(t, test_broken_bytes);
    tcase_add_test(t, test_lines);
    suite_add_tcase(suite, t);
    return unit_run(suite);
}
