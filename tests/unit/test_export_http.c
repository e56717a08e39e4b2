/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the OTLP sink that are pure: URLs, headers, pauses, responses, verdicts. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/sys.h"
#include "core/export/backlog.h"
#include "core/export/headers.h"
#include "core/export/http1.h"
#include "core/export/outcome.h"
#include "core/export/retry.h"
#include "core/export/url.h"
#include "tests/unit/run.h"

static struct otp_heap heap;
static struct otp_http1_response r;

static void set_up(void)
{
    otp_heap_init(&heap, (size_t)16 << 20);
}

static void tear_down(void)
{
    otp_http1_end(&r);
    otp_heap_reset(&heap);
}

static void assert_text(struct otp_text got, const char *want)
{
    ck_assert_msg(got.len == strlen(want) && (got.len == 0 || memcmp(got.data, want, got.len) == 0),
                  "'%.*s', not '%s'", (int)got.len, got.data, want);
}

/* ---- URLs ---- */

static const struct {
    const char *text;
    const char *host; /* NULL: refused */
    unsigned port;
    const char *path;
} urls[] = {
    {"http://a", "a", 0, ""},
    {"HTTP://a:1/b?c#d", "a", 1, "/b?c"},
    {"https://[::1]:4318/", "::1", 4318, "/"},
    {"grpc://a.b:65535", "a.b", 65535, ""},
    {"a:4317", "a", 4317, ""},
    {"http://", NULL, 0, ""},
    {"http://:1", NULL, 0, ""},
    {"http://a:", NULL, 0, ""},
    {"http://a:65536", NULL, 0, ""},
    {"http://user:word@a", NULL, 0, ""},
    {"http://a b", NULL, 0, ""},
    {"http://a/\n", NULL, 0, ""},
    {"http://[::1", NULL, 0, ""},
    {"http://[::1]x", NULL, 0, ""},
};

START_TEST(test_url)
{
    struct otp_url u;
    bool is_good = otp_url_parse(otp_text_of(urls[_i].text), &u);
    ck_assert_int_eq(is_good, urls[_i].host != NULL);
    if (is_good) {
        assert_text(u.host, urls[_i].host);
        ck_assert_uint_eq(u.port, urls[_i].port);
        assert_text(u.path, urls[_i].path);
    }
}
END_TEST

/* ---- headers ---- */

START_TEST(test_headers)
{
    struct otp_headers h;
    struct otp_line why = {0};
    ck_assert(otp_headers_parse(
        &h, &heap,
        otp_text_of("Authorization=Bearer%20a%3D%2C, x-b = 1 ,,y=%0d%0aEvil: 1,z=%4,Host=h,"
                    "Content-Length=3,sp ace=1,noequals,empty="),
        &why));
    ck_assert_uint_eq(h.count, 3);
    assert_text(h.items[0].name, "authorization");
    assert_text(h.items[0].value, "Bearer a=,");
    assert_text(h.items[1].name, "x-b");
    assert_text(h.items[1].value, "1");
    assert_text(h.items[2].value, "");
    ck_assert_uint_eq(h.refused, 6);
    assert_text(otp_text_make(why.text, why.len),
                "header 4 \"y\" is ignored: the value has a character that no header may have; "
                "header 5 \"z\" is ignored: the value is not percent-encoded; "
                "header 6 \"Host\" is ignored: it belongs to the request itself; "
                "header 7 \"Content-Length\" is ignored: it belongs to the request itself; "
                "so are others: 2");
    const char *store = h.store;
    otp_headers_fini(&h);
    for (size_t i = sizeof(void *); i < 16; i++) { /* the heap's own link may be in front */
        ck_assert_msg(store[i] == 0, "a secret is left in memory");
    }
}
END_TEST

/* What stands before the first "=" may be the secret: no more is shown than a name may have. */
START_TEST(test_refused_headers_keep_their_secrets)
{
    struct otp_headers h;
    struct otp_line why = {0};
    ck_assert(otp_headers_parse(
        &h, &heap, otp_text_of("Authorization: Bearer hush==,hush,b b=hush,c=%zzhush"), &why));
    ck_assert_uint_eq(h.refused, 4);
    assert_text(otp_text_make(why.text, why.len),
                "header 1 \"Authorization...\" is ignored: that is no name of a header; "
                "header 2 is ignored: it has no =; "
                "header 3 \"b...\" is ignored: that is no name of a header; "
                "header 4 \"c\" is ignored: the value is not percent-encoded");
    otp_headers_fini(&h);
}
END_TEST

/* ---- pauses ---- */

static const struct {
    const char *value;
    bool is_good;
    uint64_t seconds;
} waits[] = {
    {"0", true, 0},
    {"120", true, 120},
    {"Sun, 06 Nov 1994 08:49:37 GMT", true, 7},
    {"Sunday, 06-Nov-94 08:49:37 GMT", true, 7},
    {"Sun Nov  6 08:49:37 1994", true, 7},
    {"Sun, 06 Nov 1994 08:49:29 GMT", true, 0},
    {"Mon, 07 Nov 1994 08:49:30 GMT", true, 86400},
    {"Thu, 29 Feb 1996 00:00:00 GMT", true, 41440230},
    {"-1", false, 0},
    {"1.5", false, 0},
    {"", false, 0},
    {"soon", false, 0},
    {"Sun, 06 Nov 1994 08:49:37 CET", false, 0},
    {"Sun, 06 Now 1994 08:49:37 GMT", false, 0},
    {"Sun, 32 Nov 1994 08:49:37 GMT", false, 0},
    {"99999999999999999999999", true, UINT64_MAX},
    {"9999999999999999999999x", false, 0},
};

START_TEST(test_retry_after)
{
    uint64_t seconds = 999;
    /* 1994-11-06 08:49:30 UTC */
    bool is_good = otp_retry_after_parse(otp_text_of(waits[_i].value), 784111770, &seconds);
    ck_assert_int_eq(is_good, waits[_i].is_good);
    if (is_good) {
        ck_assert_uint_eq(seconds, waits[_i].seconds);
    }
}
END_TEST

START_TEST(test_pauses_grow_within_their_limits)
{
    uint64_t distinct = 0;
    uint64_t last = 0;
    for (unsigned n = 1; n < 200; n++) {
        uint64_t want = n > 6 ? 6400 : UINT64_C(100) << n;
        uint64_t got = otp_retry_pause_ns(n, 200, 6400);
        want = want > 6400 ? 6400 : want;
        ck_assert_uint_ge(got, want / 2);
        ck_assert_uint_le(got, want);
        distinct += got != last;
        last = got;
    }
    ck_assert_uint_gt(distinct, 150);
}
END_TEST

/* What a peer asks for makes a pause longer than our own, never shorter, also at the end. */
START_TEST(test_pauses_are_ours_at_least)
{
    static const uint64_t asked[] = {0, 1, 999, 50000, 640000, UINT64_MAX};
    const uint64_t ms = 1000000;
    static struct otp_sink sink;
    static struct otp_backlog b;
    struct otp_backlog_options o = {
        .heap = &heap, .backoff_min_ns = 1000 * ms, .backoff_max_ns = 64000 * ms};
    uint64_t want = asked[_i] < 3600000 ? asked[_i] * ms : 3600000 * ms;

    otp_backlog_init(&b, &sink, &o);
    for (unsigned n = 1; n < 12; n++) {
        uint64_t own = n > 7 ? 64000 * ms : (1000 * ms) << (n - 1);
        uint64_t before = otp_sys_monotonic_ns();
        otp_backlog_failed(&b, true, asked[_i] < 3600000 ? want : UINT64_MAX);
        ck_assert_uint_ge(b.retry_ns, before + own / 2);
        ck_assert_uint_ge(b.retry_ns, before + want);
        ck_assert_uint_ge(b.told_ns, before + want);
        otp_backlog_hurry(&b, 200 * ms);
        ck_assert_uint_ge(b.retry_ns, before + (want > 200 * ms ? want : 200 * ms));
        ck_assert_uint_le(b.retry_ns, otp_sys_monotonic_ns() + want + want / 10 + 200 * ms);
    }
    otp_backlog_failed(&b, false, 0);
    ck_assert_uint_eq(b.told_ns, 0);
    otp_backlog_succeeded(&b);
    ck_assert_uint_eq(b.retry_ns, 0);
}
END_TEST

/* ---- responses ---- */

enum { BAD = 0, DONE = 1, OPEN = 2 };

static const struct {
    const char *bytes;
    int end;
    unsigned status;
    const char *body;
    bool is_closing;
} responses[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", DONE, 200, "abc", false},
    {"HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", DONE, 200, "", false},
    {"HTTP/1.1 200 OK\nContent-Length: 1\n\nx", DONE, 200, "x", false},
    {"HTTP/1.1 204 No\r\n\r\n", DONE, 204, "", false},
    {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", DONE, 200, "", true},
    {"HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 0\r\n\r\n", DONE, 200, "", true},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: "
     "0\r\n\r\n",
     DONE, 503, "", false},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: "
     "v\r\n\r\n",
     DONE, 200, "abc", false},
    {"HTTP/1.1 200 OK\r\n\r\nuntil the end", OPEN, 200, "until the end", true},
    {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", OPEN, 200, "ab", false},
    {"HTTP/1.1 200 OK\r\nContent-Le", OPEN, 200, "", false},
    {"HTTP/2 200 OK\r\n\r\n", BAD, 0, "", true},
    {"HTTP/1.1 20 OK\r\n\r\n", BAD, 0, "", true},
    {"HTTP/1.1 600 OK\r\n\r\n", BAD, 0, "", true},
    {"HTTP/1.1 2000 OK\r\n\r\n", BAD, 0, "", true},
    {"SSH-2.0-OpenSSH\r\n", BAD, 0, "", true},
    {"\r\n", BAD, 0, "", true},
    {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", BAD, 200, "", true},
    {"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n", BAD, 200, "", true},
    {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", BAD, 200, "", true},
    {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", BAD, 200, "",
     true},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", BAD, 200, "", true},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n", BAD, 200, "ab", true},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n", BAD, 200, "", true},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", BAD, 200, "", true},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", BAD, 200, "", true},
    {"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", BAD, 200, "", true},
    {"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", BAD, 200, "", true},
    {"HTTP/1.1 200 OK\r\nA\r\n\r\n", BAD, 200, "", true},
    {"HTTP/1.1 200 OK\r\nA: \001\r\n\r\n", BAD, 200, "", true},
    {"HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", BAD, 200, "", true},
    {"HTTP/1.1 101 Switching\r\n\r\n", BAD, 101, "", true},
};

static void feed(const char *bytes, size_t len, size_t piece)
{
    otp_http1_begin(&r, &heap, 0);
    for (size_t pos = 0; pos < len;) {
        size_t n = len - pos < piece ? len - pos : piece;
        size_t used = otp_http1_feed(&r, bytes + pos, n);
        pos += used;
        if (used < n || r.state == OTP_HTTP1_DONE || r.state == OTP_HTTP1_BAD) {
            break;
        }
    }
}

static int end_of(void)
{
    return r.state == OTP_HTTP1_DONE ? DONE : r.state == OTP_HTTP1_BAD ? BAD : OPEN;
}

/* In one piece and byte by byte the same. */
START_TEST(test_response)
{
    size_t pieces[] = {1, 7, 10000};
    for (size_t i = 0; i < OTP_ARRAY_LEN(pieces); i++) {
        feed(responses[_i].bytes, strlen(responses[_i].bytes), pieces[i]);
        ck_assert_int_eq(end_of(), responses[_i].end);
        ck_assert_uint_eq(r.status, responses[_i].status);
        assert_text(otp_text_make((const char *)r.body.data, r.body.len), responses[_i].body);
        ck_assert_int_eq(r.is_closing, responses[_i].is_closing);
        ck_assert((r.fault != NULL) == (responses[_i].end == BAD));
        otp_http1_end(&r);
    }
}
END_TEST

START_TEST(test_end_of_connection)
{
    feed("HTTP/1.1 200 OK\r\n\r\nx", 20, 100);
    otp_http1_feed_end(&r);
    ck_assert_int_eq(r.state, OTP_HTTP1_DONE);
    otp_http1_end(&r);
    feed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx", 39, 100);
    otp_http1_feed_end(&r);
    ck_assert_int_eq(r.state, OTP_HTTP1_BAD);
    ck_assert(r.has_head);
}
END_TEST

START_TEST(test_retry_after_of_a_response)
{
    const char *text = "HTTP/1.1 503 x\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n";
    feed(text, strlen(text), 100);
    ck_assert(r.has_wait);
    ck_assert_uint_eq(r.wait_s, 7);
}
END_TEST

START_TEST(test_sizes_are_bounded)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 4194304\r\n\r\n";
    size_t len = ((size_t)5 << 20);
    char *bytes = calloc(1, len);
    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes, head, sizeof(head) - 1);
    feed(bytes, sizeof(head) - 1 + 4194304, 4096);
    ck_assert_int_eq(r.state, OTP_HTTP1_DONE);
    ck_assert_uint_eq(r.body.len, OTP_HTTP1_KEPT_MAX);
    otp_http1_end(&r);

    memcpy(bytes, "HTTP/1.1 200 OK\r\n\r\n", 19);
    feed(bytes, len, 4096);
    ck_assert_int_eq(r.state, OTP_HTTP1_BAD);
    otp_http1_end(&r);

    memset(bytes, 'a', len);
    memcpy(bytes, "HTTP/1.1 200 OK\r\nA:", 19);
    feed(bytes, len, 4096);
    ck_assert_int_eq(r.state, OTP_HTTP1_BAD);
    ck_assert_uint_le(r.head_bytes, OTP_HTTP1_HEAD_MAX + 1);
    free(bytes);
}
END_TEST

START_TEST(test_request_head)
{
    struct otp_headers h;
    struct otp_line why = {0};
    struct otp_buf out;
    ck_assert(otp_headers_parse(&h, &heap, otp_text_of("a=b"), &why));
    ck_assert_uint_eq(why.len, 0);
    otp_buf_init(&out, &heap, 4096);
    struct otp_http1_request q = {.target = otp_text_of("/x"),
                                  .authority = otp_text_of("h:1"),
                                  .content_type = otp_text_of("application/x-protobuf"),
                                  .content_encoding = otp_text_of("gzip"),
                                  .user_agent = otp_text_of("u/1"),
                                  .headers = &h,
                                  .body_len = 12};
    otp_http1_write_head(&out, &q);
    ck_assert_str_eq(otp_buf_str(&out),
                     "POST /x HTTP/1.1\r\nHost: h:1\r\nUser-Agent: u/1\r\n"
                     "Content-Type: application/x-protobuf\r\nContent-Encoding: gzip\r\n"
                     "Content-Length: 12\r\nOTLP-Profiles-Development-Version: 1\r\na: b\r\n\r\n");
    otp_buf_fini(&out);
    otp_headers_fini(&h);
}
END_TEST

/* ---- verdicts ---- */

START_TEST(test_http_codes)
{
    struct otp_outcome o;
    for (unsigned code = 100; code < 600; code++) {
        struct otp_reply reply = {.code = code};
        otp_outcome_of_http(&reply, &o);
        bool again = code == 429 || code == 502 || code == 503 || code == 504;
        enum otp_outcome_kind want = again             ? OTP_OUTCOME_RETRY
                                     : code / 100 == 2 ? OTP_OUTCOME_DELIVERED
                                                       : OTP_OUTCOME_REFUSED;
        ck_assert_int_eq((int)o.kind, (int)want);
    }
}
END_TEST

static struct otp_reply reply_of(unsigned code, const char *bytes, size_t len)
{
    return (struct otp_reply){.code = code, .body = otp_text_make(bytes, len)};
}

START_TEST(test_partial_success)
{
    struct otp_outcome o;
    static const char bytes[] = "\x0a\x08\x08\x05\x12\x04"
                                "a\nb\x01";
    struct otp_reply reply = reply_of(200, bytes, sizeof(bytes) - 1);
    otp_outcome_of_http(&reply, &o);
    ck_assert_int_eq((int)o.kind, OTP_OUTCOME_DELIVERED);
    ck_assert(o.has_warning);
    ck_assert_uint_eq(o.rejected, 5);
    ck_assert_str_eq(o.text, "a b?");

    static const char json[] = "{\"partialSuccess\":{\"rejectedProfiles\":\"3\", "
                               "\"errorMessage\": \"too big\"}}";
    reply = reply_of(200, json, sizeof(json) - 1);
    reply.is_json = true;
    otp_outcome_of_http(&reply, &o);
    ck_assert_uint_eq(o.rejected, 3);
    ck_assert_str_eq(o.text, "too big");

    reply = reply_of(200, "", 0);
    otp_outcome_of_http(&reply, &o);
    ck_assert(!o.has_warning);
}
END_TEST

/* Any cut and any changed byte of an answer is harmless. */
START_TEST(test_broken_answers)
{
    static const char bytes[] = "\x0a\x08\x08\x05\x12\x04"
                                "abcd";
    struct otp_outcome o;
    char copy[sizeof(bytes)];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        for (unsigned v = 0; v < 256; v++) {
            memcpy(copy, bytes, sizeof(bytes));
            copy[i] = (char)v;
            struct otp_reply reply = reply_of(v % 2 ? 200 : 500, copy, i);
            otp_outcome_of_http(&reply, &o);
            ck_assert_uint_lt(strlen(o.text), sizeof(o.text));
            reply.is_json = true;
            otp_outcome_of_http(&reply, &o);
        }
    }
}
END_TEST

START_TEST(test_grpc_codes)
{
    /* google.rpc.Status{8, "busy", [Any{RetryInfo{Duration{2 s, 5 ns}}}]} */
    static const char details[] = "\x08\x08\x12\x04"
                                  "busy\x1a\x32\x0a\x28type.googleapis.com/google.rpc.RetryInfo"
                                  "\x12\x06\x0a\x04\x08\x02\x10\x05";
    struct otp_outcome o;
    for (unsigned code = 0; code < 18; code++) {
        struct otp_reply reply = {.code = code};
        otp_outcome_of_grpc(&reply, otp_text_of("m"), otp_text_of(""), &o);
        bool again = code == 1 || code == 4 || code == 10 || code == 11 || code == 14 || code == 15;
        ck_assert_int_eq((int)o.kind, code == 0 ? OTP_OUTCOME_DELIVERED
                                      : again   ? OTP_OUTCOME_RETRY
                                                : OTP_OUTCOME_REFUSED);
    }
    struct otp_reply reply = {.code = 8};
    otp_outcome_of_grpc(&reply, otp_text_of(""), otp_text_make(details, sizeof(details) - 1), &o);
    ck_assert_int_eq((int)o.kind, OTP_OUTCOME_RETRY);
    ck_assert_str_eq(o.text, "busy");
    ck_assert(o.has_wait);
    ck_assert_uint_eq(o.wait_ns, 2000000005);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("export_http");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, test_url, 0, (int)OTP_ARRAY_LEN(urls));
    tcase_add_test(t, test_headers);
    tcase_add_test(t, test_refused_headers_keep_their_secrets);
    tcase_add_loop_test(t, test_retry_after, 0, (int)OTP_ARRAY_LEN(waits));
    tcase_add_test(t, test_pauses_grow_within_their_limits);
    tcase_add_loop_test(t, test_pauses_are_ours_at_least, 0, 6);
    tcase_add_loop_test(t, test_response, 0, (int)OTP_ARRAY_LEN(responses));
    tcase_add_test(t, test_end_of_connection);
    tcase_add_test(t, test_retry_after_of_a_response);
    tcase_add_test(t, test_sizes_are_bounded);
    tcase_add_test(t, test_request_head);
    tcase_add_test(t, test_http_codes);
    tcase_add_test(t, test_partial_success);
    tcase_add_test(t, test_broken_answers);
    tcase_add_test(t, test_grpc_codes);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return unit_run(make_suite());
}
