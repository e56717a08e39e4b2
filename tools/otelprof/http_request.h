/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 (RFC 9112), the server's half: a strict reader of request heads and of chunked bodies,
 * and the answers of an OTLP server. It knows no sockets.
 *
 * I1 Everything is bounded, and what could be understood in two ways (two lengths, a length next to
 *    chunks, folded lines, bare line ends, control characters) is refused, not guessed.
 */
#ifndef OTP_OTELPROF_HTTP_REQUEST_H
#define OTP_OTELPROF_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"

#define OTP_HTTP_HEAD_MAX ((size_t)16 << 10)
#define OTP_HTTP_PATH "/v1development/profiles"
#define OTP_HTTP_ANSWER_ROOM 1024

enum otp_http_type { OTP_HTTP_PROTOBUF, OTP_HTTP_JSON, OTP_HTTP_OTHER_TYPE };
enum otp_http_encoding { OTP_HTTP_IDENTITY, OTP_HTTP_GZIP, OTP_HTTP_ZSTD, OTP_HTTP_OTHER_ENCODING };

struct otp_http_request {
    size_t head_len; /* with the empty line; 0: the head is not complete yet */
    unsigned status; /* what to answer at once, 0: read the body */
    const char *reason;

    enum otp_http_type type;
    enum otp_http_encoding encoding;
    bool is_http_1_0;
    bool is_post;
    bool is_known_path;
    bool wants_close;
    bool wants_keep_alive;
    bool expects_continue;
    bool has_type;
    bool has_host;
    bool has_length;
    bool is_chunked;
    uint64_t length;
};

/* Reads the head at the begin of what has arrived; false: more is needed. Afterwards status says
 * whether it is refused. Context: any. */
bool otp_http_read_head(struct otp_http_request *r, struct otp_text arrived);

enum otp_chunk_state {
    OTP_CHUNK_SIZE,
    OTP_CHUNK_DATA,
    OTP_CHUNK_END,
    OTP_CHUNK_TRAILER,
    OTP_CHUNK_DONE,
    OTP_CHUNK_BAD
};

/* A chunked body, decoded where it lies. All zero at the begin. */
struct otp_http_chunks {
    enum otp_chunk_state state;
    uint64_t left;     /* bytes of the present chunk that are still to come */
    size_t body_len;   /* bytes of the body so far */
    size_t line_bytes; /* of trailers */
};

/*
 * Goes on with the *size bytes at `bytes`: the first c->body_len are the body, decoded, the others
 * have arrived since. Takes the framing out, so that *size shrinks; what is behind the body stays.
 */
void otp_http_read_chunks(struct otp_http_chunks *c, uint8_t *bytes, size_t *size);

/*
 * Writes the answer; its length. message: what is wrong, cut and made printable; NULL: nothing.
 * is_closing: the connection ends with it.
 */
size_t otp_http_answer(char out[OTP_HTTP_ANSWER_ROOM], unsigned status, bool is_json,
                       const char *message, bool is_closing);

#endif
