/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what a client may say to `otelprof receive` over HTTP. The first byte chooses
 * between the head of a request and a chunked body, and the size of the pieces that it comes in.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/target.h"
#include "tools/otelprof/http_request.h"

/* As the server does it: from the begin again with every piece, until the head is complete. */
static void read_head(const char *text, size_t size, size_t piece)
{
    struct otp_http_request r = {.head_len = 0};
    char out[OTP_HTTP_ANSWER_ROOM];
    for (size_t len = piece; r.head_len == 0 && len < size + piece; len += piece) {
        struct otp_text arrived = otp_text_make(text, len < size ? len : size);
        bool is_complete = otp_http_read_head(&r, arrived);
        require(is_complete == (r.head_len > 0));
        require(r.head_len <= arrived.len && r.head_len <= OTP_HTTP_HEAD_MAX + piece);
        require(is_complete || arrived.len < OTP_HTTP_HEAD_MAX);
    }
    require((r.status == 0) == (r.reason == NULL));
    size_t len = otp_http_answer(out, r.status == 0 ? 200 : r.status, r.type == OTP_HTTP_JSON,
                                 r.reason, r.wants_close);
    require(len > 0 && len <= sizeof(out));
}

static void read_body(const uint8_t *data, size_t size, size_t piece)
{
    struct otp_http_chunks c = {.body_len = 0};
    uint8_t *bytes = malloc(size + 1);
    size_t have = 0;
    require(bytes != NULL);
    for (size_t pos = 0; pos < size && c.state != OTP_CHUNK_BAD; pos += piece) {
        size_t n = size - pos < piece ? size - pos : piece;
        memcpy(bytes + have, data + pos, n);
        have += n;
        size_t before = have;
        otp_http_read_chunks(&c, bytes, &have);
        require(have <= before && c.body_len <= have);
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    size_t piece = 1 + (size_t)(data[0] >> 1);
    if ((data[0] & 1U) == 0) {
        /* Exactly as long as it is, so that a sanitizer sees a read behind it. */
        char *text = malloc(size > 1 ? size - 1 : 1);
        require(text != NULL);
        memcpy(text, data + 1, size - 1);
        read_head(text, size - 1, piece);
        free(text);
    } else {
        read_body(data + 1, size - 1, piece);
    }
    return 0;
}
