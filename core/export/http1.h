/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 (RFC 9112), the client's half: the head of a POST, and a strict reader of responses that
 * is fed with whatever pieces arrive. It knows no sockets.
 *
 * I1 Everything is bounded: the head of a response, its body, and what of the body is kept.
 * I2 What could be understood in two ways (two lengths, a length next to chunks, folded lines,
 *    control characters) is malformed, not guessed.
 */
#ifndef OTP_EXPORT_HTTP1_H
#define OTP_EXPORT_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/heap.h"
#include "core/base/text.h"
#include "core/export/headers.h"

#define OTP_HTTP1_HEAD_MAX ((size_t)16 << 10) /* bytes of all lines that are not body */
#define OTP_HTTP1_BODY_MAX ((size_t)4 << 20)  /* bytes of a body; a longer one ends the reading */
#define OTP_HTTP1_KEPT_MAX ((size_t)64 << 10) /* of which are kept */
#define OTP_HTTP1_LINE_MAX 512U               /* bytes of a line that are looked at */

struct otp_http1_request {
    struct otp_text target;    /* path and query */
    struct otp_text authority; /* for Host */
    struct otp_text content_type;
    struct otp_text content_encoding; /* empty: none */
    struct otp_text user_agent;
    const struct otp_headers *headers;
    size_t body_len;
};

/* Appends the head of the request. Errors are the buffer's sticky one. Context: worker. */
void otp_http1_write_head(struct otp_buf *out, const struct otp_http1_request *r);

enum otp_http1_state {
    OTP_HTTP1_STATUS_LINE,
    OTP_HTTP1_HEADER,
    OTP_HTTP1_BODY,
    OTP_HTTP1_CHUNK_SIZE,
    OTP_HTTP1_CHUNK,
    OTP_HTTP1_CHUNK_END,
    OTP_HTTP1_TRAILER,
    OTP_HTTP1_DONE,
    OTP_HTTP1_BAD,
};

struct otp_http1_response {
    enum otp_http1_state state;
    const char *fault; /* why it is bad */
    unsigned status;   /* valid once has_head */
    bool has_head;
    bool is_closing; /* the connection cannot be used again */
    bool is_chunked;
    bool has_length;
    bool is_json;
    bool has_wait; /* Retry-After */
    uint64_t wait_s;
    uint64_t now_s; /* when the response began, for dates */
    uint64_t left;  /* of the body or the chunk */
    size_t head_bytes;
    size_t body_bytes;
    struct otp_buf body; /* what is kept */
    size_t line_len;     /* of the line under way, may pass the array */
    char line[OTP_HTTP1_LINE_MAX];
};

/* Gets ready for one response; the kept body takes its memory from heap. Context: worker. */
void otp_http1_begin(struct otp_http1_response *r, struct otp_heap *heap, uint64_t now_s);
/* Frees the body. */
void otp_http1_end(struct otp_http1_response *r);
/* Takes bytes as they come; how many it took: fewer than len only at DONE or BAD. */
size_t otp_http1_feed(struct otp_http1_response *r, const void *data, size_t len);
/* The peer has closed: the end of a body without a length, otherwise BAD. */
void otp_http1_feed_end(struct otp_http1_response *r);

#endif
