/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what a server, a name server or an environment may say to the OTLP sink. The first
 * byte chooses the reader and the size of the pieces.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/heap.h"
#include "core/export/dns.h"
#include "core/export/headers.h"
#include "core/export/http1.h"
#include "core/export/outcome.h"
#include "core/export/retry.h"
#include "core/export/url.h"
#include "tests/fuzz/target.h"

#define HEAP_LIMIT ((size_t)8 << 20)

static struct otp_heap heap;

static void read_response(const uint8_t *data, size_t size, size_t piece)
{
    struct otp_http1_response r;
    struct otp_outcome o;
    otp_http1_begin(&r, &heap, 1000000000);
    for (size_t pos = 0; pos < size;) {
        size_t n = size - pos < piece ? size - pos : piece;
        size_t used = otp_http1_feed(&r, data + pos, n);
        require(used <= n);
        pos += used;
        if (used < n) {
            require(r.state == OTP_HTTP1_DONE || r.state == OTP_HTTP1_BAD);
            break;
        }
    }
    otp_http1_feed_end(&r);
    require(r.state == OTP_HTTP1_DONE || r.state == OTP_HTTP1_BAD);
    require(r.body.len <= OTP_HTTP1_KEPT_MAX && (r.fault != NULL) == (r.state == OTP_HTTP1_BAD));
    struct otp_reply reply = {.code = r.status,
                              .is_json = r.is_json,
                              .body = otp_text_make((const char *)r.body.data, r.body.len)};
    otp_outcome_of_http(&reply, &o);
    require(strlen(o.text) < sizeof(o.text));
    otp_http1_end(&r);
}

static void read_status(struct otp_text text)
{
    struct otp_outcome o;
    struct otp_reply reply = {.code = (unsigned)(text.len % 18), .body = text};
    otp_outcome_of_grpc(&reply, otp_text_of(""), text, &o);
    require(strlen(o.text) < sizeof(o.text));
    reply.is_json = true;
    otp_outcome_of_http(&reply, &o);
}

static void read_answer(struct otp_text text)
{
    struct otp_addresses all = {.count = 6};
    struct otp_dns_question q = {.id = 0x3030, .type = OTP_DNS_TYPE_A, .name = otp_text_of("a.b")};
    char copy[OTP_DNS_MESSAGE_MAX];
    size_t len = text.len < sizeof(copy) ? text.len : sizeof(copy);
    static const char head[] = "00\x81\x80\0\1\0\3\0\0\0\0\1a\1b\0\0\1\0\1";
    memcpy(copy, text.data, len);
    if (len > sizeof(head) && text.len % 2 == 0) {
        memcpy(copy, head, sizeof(head) - 1); /* past the question */
    }
    (void)otp_dns_read(&q, otp_text_make(copy, len), 1, &all);
    require(all.count <= OTP_ADDRESSES_MAX);
}

static void read_settings(struct otp_text text)
{
    struct otp_url url;
    struct otp_headers headers;
    struct otp_line why = {0};
    uint64_t seconds;
    if (otp_url_parse(text, &url)) {
        require(url.host.len > 0);
    }
    require(otp_headers_parse(&headers, &heap, text, &why));
    require(headers.count <= OTP_HEADERS_MAX);
    otp_headers_fini(&headers);
    (void)otp_retry_after_parse(text, 1000000000, &seconds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    struct otp_text text = otp_text_make((const char *)data + 1, size - 1);
    otp_heap_init(&heap, HEAP_LIMIT);
    switch (data[0] % 4) {
    case 0:
        read_response(data + 1, size - 1, data[0] / 4 + 1U);
        break;
    case 1:
        read_status(text);
        break;
    case 2:
        read_answer(text);
        break;
    default:
        read_settings(text);
        break;
    }
    otp_heap_reset(&heap);
    return 0;
}
