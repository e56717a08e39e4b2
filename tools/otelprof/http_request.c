/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
#include "tools/otelprof/http_request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/annot.h"
#include "core/base/fmt.h"

#define CHUNK_LINE_MAX 256U
#define TRAILER_MAX ((size_t)8 << 10)
#define CHUNK_DIGITS_MAX 8U
#define MESSAGE_MAX 300U

/* ---- the head ---- */

static void refuse(struct otp_http_request *r, unsigned status, const char *reason)
{
    if (r->status == 0) {
        r->status = status;
        r->reason = reason;
    }
}

static bool is_word(struct otp_text text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.data, word, text.len) == 0;
}

/* Cuts the next part off a list, up to the separator. */
static struct otp_text next_part(struct otp_text *list, char separator)
{
    const char *end = memchr(list->data, separator, list->len);
    size_t len = end == NULL ? list->len : (size_t)(end - list->data);
    struct otp_text part = otp_text_make(list->data, len);
    size_t used = end == NULL ? len : len + 1;
    *list = otp_text_make(list->data + used, list->len - used);
    return otp_text_trim(part);
}

static void read_target(struct otp_http_request *r, struct otp_text target)
{
    static const char scheme[] = "http://";
    if (target.len > sizeof(scheme) && memcmp(target.data, scheme, sizeof(scheme) - 1) == 0) {
        size_t skip = sizeof(scheme) - 1;
        while (skip < target.len && target.data[skip] != '/') {
            skip++;
        }
        target = otp_text_make(target.data + skip, target.len - skip);
    }
    struct otp_text path = next_part(&target, '?');
    r->is_known_path =
        path.len == strlen(OTP_HTTP_PATH) && memcmp(path.data, OTP_HTTP_PATH, path.len) == 0;
}

static void read_request_line(struct otp_http_request *r, struct otp_text line)
{
    struct otp_text method = next_part(&line, ' ');
    struct otp_text target = next_part(&line, ' ');

    if (method.len == 0 || target.len == 0 || line.len != 8 || memcmp(line.data, "HTTP/", 5) != 0) {
        refuse(r, 400, "this is no HTTP request");
        return;
    }
    r->is_http_1_0 = memcmp(line.data, "HTTP/1.0", 8) == 0;
    if (!r->is_http_1_0 && memcmp(line.data, "HTTP/1.1", 8) != 0) {
        refuse(r, 505, "only HTTP/1.1 is spoken here");
    }
    r->is_post = method.len == 4 && memcmp(method.data, "POST", 4) == 0;
    read_target(r, target);
}

static void read_length(struct otp_http_request *r, struct otp_text value)
{
    uint64_t length;
    if (!otp_fmt_parse_u64(value.data, value.len, &length) ||
        (r->has_length && length != r->length)) {
        refuse(r, 400, "Content-Length makes no sense");
        return;
    }
    r->has_length = true;
    r->length = length;
}

static void read_type(struct otp_http_request *r, struct otp_text value)
{
    struct otp_text type = next_part(&value, ';');
    r->has_type = true;
    r->type = is_word(type, "application/x-protobuf") ? OTP_HTTP_PROTOBUF
              : is_word(type, "application/json")     ? OTP_HTTP_JSON
                                                      : OTP_HTTP_OTHER_TYPE;
}

static void read_encoding(struct otp_http_request *r, struct otp_text value)
{
    r->encoding = value.len == 0 || is_word(value, "identity")         ? OTP_HTTP_IDENTITY
                  : is_word(value, "gzip") || is_word(value, "x-gzip") ? OTP_HTTP_GZIP
                  : is_word(value, "zstd")                             ? OTP_HTTP_ZSTD
                                                                       : OTP_HTTP_OTHER_ENCODING;
}

static void read_connection(struct otp_http_request *r, struct otp_text value)
{
    while (value.len > 0) {
        struct otp_text option = next_part(&value, ',');
        r->wants_close = r->wants_close || is_word(option, "close");
        r->wants_keep_alive = r->wants_keep_alive || is_word(option, "keep-alive");
    }
}

static void read_field(struct otp_http_request *r, struct otp_text name, struct otp_text value)
{
    if (is_word(name, "content-length")) {
        read_length(r, value);
    } else if (is_word(name, "transfer-encoding")) {
        if (!is_word(value, "chunked") || r->is_chunked) {
            refuse(r, 501, "of transfer encodings only chunked is known");
        }
        r->is_chunked = true;
    } else if (is_word(name, "content-type")) {
        read_type(r, value);
    } else if (is_word(name, "content-encoding")) {
        read_encoding(r, value);
    } else if (is_word(name, "connection")) {
        read_connection(r, value);
    } else if (is_word(name, "host")) {
        if (r->has_host) {
            refuse(r, 400, "there are two Host fields");
        }
        r->has_host = true;
    } else if (is_word(name, "expect")) {
        if (!is_word(value, "100-continue")) {
            refuse(r, 417, "of expectations only 100-continue is known");
        }
        r->expects_continue = true;
    }
}

/* RFC 9110, 5.6.2. */
static bool is_token(struct otp_text t)
{
    for (size_t i = 0; i < t.len; i++) {
        char c = t.data[i];
        bool is_alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!is_alnum && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL)) {
            return false;
        }
    }
    return t.len > 0;
}

static bool has_control(struct otp_text t)
{
    for (size_t i = 0; i < t.len; i++) {
        unsigned char c = (unsigned char)t.data[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return true;
        }
    }
    return false;
}

static void read_line(struct otp_http_request *r, struct otp_text line, bool is_first)
{
    if (has_control(line)) {
        refuse(r, 400, "there are control characters in the head");
    } else if (is_first) {
        read_request_line(r, line);
    } else {
        const char *colon = memchr(line.data, ':', line.len);
        struct otp_text name =
            otp_text_make(line.data, colon == NULL ? 0 : (size_t)(colon - line.data));
        if (!is_token(name)) {
            refuse(r, 400, "a line of the head is no field");
            return;
        }
        read_field(r, name, otp_text_trim(otp_text_make(colon + 1, line.len - name.len - 1)));
    }
}

/* What the head as a whole says. */
static void judge(struct otp_http_request *r)
{
    if (r->is_chunked && (r->has_length || r->is_http_1_0)) {
        refuse(r, 400, "a length next to chunks");
    }
    if (!r->has_host && !r->is_http_1_0) {
        refuse(r, 400, "there is no Host field");
    }
    if (!r->is_known_path) {
        refuse(r, 404, "profiles go to " OTP_HTTP_PATH);
    }
    if (!r->is_post) {
        refuse(r, 405, "only POST is understood");
    }
    if (!r->has_length && !r->is_chunked) {
        refuse(r, 411, "there is neither Content-Length nor chunks");
    }
    if (!r->has_type || r->type == OTP_HTTP_OTHER_TYPE) {
        refuse(r, 415,
               "the type of the body is neither application/x-protobuf nor "
               "application/json");
    }
    if (r->encoding == OTP_HTTP_OTHER_ENCODING) {
        refuse(r, 415, "of content encodings only gzip and zstd are known");
    }
    if (r->is_http_1_0 && !r->wants_keep_alive) {
        r->wants_close = true;
    }
}

bool otp_http_read_head(struct otp_http_request *r, struct otp_text arrived)
{
    size_t most = arrived.len < OTP_HTTP_HEAD_MAX ? arrived.len : OTP_HTTP_HEAD_MAX;
    const char *end = memmem(arrived.data, most, "\r\n\r\n", 4);

    memset(r, 0, sizeof(*r));
    if (end == NULL) {
        if (arrived.len < OTP_HTTP_HEAD_MAX) {
            return false;
        }
        r->head_len = arrived.len;
        refuse(r, 431, "the head is too large");
        return true;
    }
    r->head_len = (size_t)(end - arrived.data) + 4;
    for (size_t pos = 0; pos < r->head_len - 2;) {
        const char *line = arrived.data + pos;
        const char *stop = memmem(line, r->head_len - pos, "\r\n", 2);
        size_t len = (size_t)(stop - line);
        read_line(r, otp_text_make(line, len), pos == 0);
        pos += len + 2;
    }
    judge(r);
    return true;
}

/* ---- chunks ---- */

static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A line of the framing with its end; 0: it is not complete. More than most bytes are an error. */
static size_t line_len(struct otp_http_chunks *c, const uint8_t *bytes, size_t len, size_t most)
{
    const uint8_t *end = memchr(bytes, '\n', len < most ? len : most);
    if (end == NULL) {
        c->state = len >= most ? OTP_CHUNK_BAD : c->state;
        return 0;
    }
    if (end == bytes || end[-1] != '\r') {
        c->state = OTP_CHUNK_BAD;
        return 0;
    }
    return (size_t)(end - bytes) + 1;
}

static void read_size(struct otp_http_chunks *c, const uint8_t *line)
{
    uint64_t v = 0;
    size_t digits = 0;
    while (hex_value(line[digits]) >= 0 && digits <= CHUNK_DIGITS_MAX) {
        v = v << 4 | (unsigned)hex_value(line[digits]);
        digits++;
    }
    bool is_good = digits > 0 && digits <= CHUNK_DIGITS_MAX &&
                   (line[digits] == '\r' || line[digits] == ';' || line[digits] == ' ');
    c->left = v;
    c->state = !is_good ? OTP_CHUNK_BAD : v == 0 ? OTP_CHUNK_TRAILER : OTP_CHUNK_DATA;
}

/* One step over the raw bytes; how many of them are done with. 0: more are needed. */
static size_t step(struct otp_http_chunks *c, uint8_t *body_end, const uint8_t *raw, size_t len)
{
    size_t used = 0;
    switch (c->state) {
    case OTP_CHUNK_SIZE:
        used = line_len(c, raw, len, CHUNK_LINE_MAX);
        if (used > 0) {
            read_size(c, raw);
        }
        return used;
    case OTP_CHUNK_DATA:
        used = c->left < len ? (size_t)c->left : len;
        memmove(body_end, raw, used);
        c->body_len += used;
        c->left -= used;
        c->state = c->left == 0 ? OTP_CHUNK_END : OTP_CHUNK_DATA;
        return used;
    case OTP_CHUNK_END:
        if (len < 2) {
            return 0;
        }
        c->state = memcmp(raw, "\r\n", 2) == 0 ? OTP_CHUNK_SIZE : OTP_CHUNK_BAD;
        return 2;
    case OTP_CHUNK_TRAILER:
        used = line_len(c, raw, len, TRAILER_MAX);
        c->line_bytes += used;
        c->state = used == 2                     ? OTP_CHUNK_DONE
                   : c->line_bytes > TRAILER_MAX ? OTP_CHUNK_BAD
                                                 : c->state;
        return used;
    case OTP_CHUNK_DONE:
    case OTP_CHUNK_BAD:
    default:
        return 0;
    }
}

void otp_http_read_chunks(struct otp_http_chunks *c, uint8_t *bytes, size_t *size)
{
    size_t pos = c->body_len;
    for (;;) {
        size_t used = step(c, bytes + c->body_len, bytes + pos, *size - pos);
        if (used == 0) {
            break;
        }
        pos += used;
    }
    memmove(bytes + c->body_len, bytes + pos, *size - pos);
    *size -= pos - c->body_len;
}

/* ---- answers ---- */

struct status_line {
    unsigned status;
    unsigned grpc; /* the code of google.rpc.Status */
    const char *text;
    const char *field;
};

static const struct status_line *line_of(unsigned status)
{
    static const struct status_line lines[] = {
        {500, 13, "Internal Server Error", ""},
        {200, 0, "OK", ""},
        {400, 3, "Bad Request", ""},
        {404, 5, "Not Found", ""},
        {405, 12, "Method Not Allowed", "Allow: POST\r\n"},
        {408, 4, "Request Timeout", ""},
        {411, 3, "Length Required", ""},
        {413, 3, "Content Too Large", ""},
        {415, 3, "Unsupported Media Type", "Accept-Encoding: gzip, zstd\r\n"},
        {417, 3, "Expectation Failed", ""},
        {431, 3, "Request Header Fields Too Large", ""},
        {501, 12, "Not Implemented", ""},
        {503, 14, "Service Unavailable", "Retry-After: 5\r\n"},
        {505, 12, "HTTP Version Not Supported", ""},
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(lines); i++) {
        if (lines[i].status == status) {
            return &lines[i];
        }
    }
    return &lines[0];
}

/* google.rpc.Status{code, message} */
static size_t put_status(char *out, size_t room, const struct status_line *l, bool is_json,
                         const char *message)
{
    char text[MESSAGE_MAX + 1];
    size_t len = 0;
    for (; message[len] != '\0' && len < MESSAGE_MAX; len++) {
        char c = message[len];
        text[len] = c >= 0x20 && c < 0x7f && c != '"' && c != '\\' ? c : '?';
    }
    text[len] = '\0';
    if (is_json) {
        return (size_t)snprintf(out, room, "{\"code\":%u,\"message\":\"%s\"}", l->grpc, text);
    }
    size_t n = 0;
    out[n++] = 0x08;
    out[n++] = (char)l->grpc;
    out[n++] = 0x12;
    if (len > 127) {
        out[n++] = (char)(0x80U | (len & 0x7fU));
        out[n++] = (char)(len >> 7);
    } else {
        out[n++] = (char)len;
    }
    memcpy(out + n, text, len);
    return n + len;
}

size_t otp_http_answer(char out[OTP_HTTP_ANSWER_ROOM], unsigned status, bool is_json,
                       const char *message, bool is_closing)
{
    const struct status_line *l = line_of(status);
    char body[MESSAGE_MAX + 64];
    size_t body_len = 0;

    if (status / 100 != 2) {
        body_len = put_status(body, sizeof(body), l, is_json, message == NULL ? "" : message);
    } else if (is_json) {
        memcpy(body, "{}", 2);
        body_len = 2;
    }
    size_t len = (size_t)snprintf(
        out, OTP_HTTP_ANSWER_ROOM,
        "HTTP/1.1 %u %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s%s\r\n", l->status, l->text,
        is_json ? "application/json" : "application/x-protobuf", body_len, l->field,
        is_closing ? "Connection: close\r\n" : "");
    memcpy(out + len, body, body_len);
    return len + body_len;
}
