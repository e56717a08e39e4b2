/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/http1.h"

#include <string.h>

#include "core/base/annot.h"
#include "core/base/fmt.h"
#include "core/export/retry.h"

#define CHUNK_DIGITS_MAX 8U

/* ---- requests ---- */

static void add_text(struct otp_buf *out, struct otp_text t)
{
    (void)otp_buf_add(out, t.data, t.len);
}

static void add_header(struct otp_buf *out, const char *name, struct otp_text value)
{
    (void)otp_buf_add_str(out, name);
    (void)otp_buf_add_str(out, ": ");
    add_text(out, value);
    (void)otp_buf_add_str(out, "\r\n");
}

void otp_http1_write_head(struct otp_buf *out, const struct otp_http1_request *r)
{
    char length[OTP_FMT_NUMBER_MAX];
    (void)otp_buf_add_str(out, "POST ");
    add_text(out, r->target);
    (void)otp_buf_add_str(out, " HTTP/1.1\r\n");
    add_header(out, "Host", r->authority);
    add_header(out, "User-Agent", r->user_agent);
    add_header(out, "Content-Type", r->content_type);
    if (r->content_encoding.len > 0) {
        add_header(out, "Content-Encoding", r->content_encoding);
    }
    add_header(out, "Content-Length", otp_text_make(length, otp_fmt_u64(length, r->body_len)));
    add_header(out, "OTLP-Profiles-Development-Version", otp_text_of("1"));
    for (size_t i = 0; r->headers != NULL && i < r->headers->count; i++) {
        const struct otp_header *h = &r->headers->items[i];
        add_text(out, h->name);
        (void)otp_buf_add_str(out, ": ");
        add_text(out, h->value);
        (void)otp_buf_add_str(out, "\r\n");
    }
    (void)otp_buf_add_str(out, "\r\n");
}

/* ---- responses ---- */

static void spoil(struct otp_http1_response *r, const char *why)
{
    r->state = OTP_HTTP1_BAD;
    r->fault = why;
    r->is_closing = true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool same_word(struct otp_text a, const char *b)
{
    if (a.len != strlen(b)) {
        return false;
    }
    for (size_t i = 0; i < a.len; i++) {
        if (lower(a.data[i]) != b[i]) {
            return false;
        }
    }
    return true;
}

static bool begins_with(struct otp_text text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && same_word(otp_text_make(text.data, len), prefix);
}

/* True when word is one of the comma-separated words of list. */
static bool lists(struct otp_text list, const char *word)
{
    size_t begin = 0;
    for (size_t i = 0; i <= list.len; i++) {
        if (i == list.len || list.data[i] == ',') {
            if (same_word(otp_text_trim(otp_text_make(list.data + begin, i - begin)), word)) {
                return true;
            }
            begin = i + 1;
        }
    }
    return false;
}

/* "HTTP/1.1 200 OK"; the reason may be missing. */
static void read_status_line(struct otp_http1_response *r, struct otp_text line)
{
    const char *s = line.data;
    bool is_good = line.len >= 12 && memcmp(s, "HTTP/1.", 7) == 0 && is_digit(s[7]) &&
                   s[8] == ' ' && is_digit(s[9]) && is_digit(s[10]) && is_digit(s[11]) &&
                   (line.len == 12 || s[12] == ' ') && s[9] >= '1' && s[9] <= '5';
    if (!is_good) {
        spoil(r, "this is no HTTP/1 response");
        return;
    }
    r->status =
        (unsigned)(s[9] - '0') * 100 + (unsigned)(s[10] - '0') * 10 + (unsigned)(s[11] - '0');
    r->is_closing = s[7] == '0';
    r->state = OTP_HTTP1_HEADER;
}

static void read_length(struct otp_http1_response *r, struct otp_text value)
{
    uint64_t len;
    if (!otp_fmt_parse_u64(value.data, value.len, &len) || (r->has_length && len != r->left)) {
        spoil(r, "its Content-Length makes no sense");
        return;
    }
    r->has_length = true;
    r->left = len;
}

static void read_header(struct otp_http1_response *r, struct otp_text line)
{
    const char *colon = memchr(line.data, ':', line.len);
    if (colon == NULL || colon == line.data || colon[-1] == ' ' || line.data[0] == ' ' ||
        line.data[0] == '\t') {
        spoil(r, "a header line is malformed");
        return;
    }
    size_t name_len = (size_t)(colon - line.data);
    struct otp_text name = otp_text_make(line.data, name_len);
    struct otp_text value = otp_text_trim(otp_text_make(colon + 1, line.len - name_len - 1));
    if (same_word(name, "content-length")) {
        read_length(r, value);
    } else if (same_word(name, "transfer-encoding")) {
        if (r->is_chunked || !same_word(value, "chunked")) {
            spoil(r, "its Transfer-Encoding is not known");
        }
        r->is_chunked = true;
    } else if (same_word(name, "connection")) {
        r->is_closing = r->is_closing || lists(value, "close");
    } else if (same_word(name, "content-type")) {
        r->is_json = begins_with(value, "application/json");
    } else if (same_word(name, "retry-after")) {
        r->has_wait = otp_retry_after_parse(value, r->now_s, &r->wait_s);
    }
}

/* The blank line: how the body ends depends on what came before (RFC 9112, 6.3). */
static void finish_head(struct otp_http1_response *r)
{
    if (r->status / 100 == 1 && r->status != 101) {
        r->state = OTP_HTTP1_STATUS_LINE; /* an interim response */
        r->is_chunked = r->has_length = r->has_wait = false;
        return;
    }
    r->has_head = true;
    if (r->is_chunked && r->has_length) {
        spoil(r, "it has two lengths");
    } else if (r->status == 204 || r->status == 304 || (r->has_length && r->left == 0)) {
        r->state = OTP_HTTP1_DONE;
    } else if (r->status == 101) {
        spoil(r, "it switches protocols unasked");
    } else if (r->is_chunked) {
        r->state = OTP_HTTP1_CHUNK_SIZE;
    } else {
        r->state = OTP_HTTP1_BODY;
        r->is_closing = r->is_closing || !r->has_length;
        r->left = r->has_length ? r->left : UINT64_MAX;
    }
}

static int hex_value(char c)
{
    c = lower(c);
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void read_chunk_size(struct otp_http1_response *r, struct otp_text line)
{
    size_t n = 0;
    uint64_t size = 0;
    while (n < line.len && n <= CHUNK_DIGITS_MAX && hex_value(line.data[n]) >= 0) {
        size = size << 4 | (uint64_t)hex_value(line.data[n]);
        n++;
    }
    bool is_good = n > 0 && n <= CHUNK_DIGITS_MAX &&
                   (n == line.len || strchr("; \t", line.data[n]) != NULL) &&
                   (n == line.len || line.data[n] != '\0');
    if (!is_good) {
        spoil(r, "a chunk's size makes no sense");
        return;
    }
    r->left = size;
    r->state = size == 0 ? OTP_HTTP1_TRAILER : OTP_HTTP1_CHUNK;
}

static void read_line(struct otp_http1_response *r)
{
    size_t len = r->line_len < OTP_HTTP1_LINE_MAX ? r->line_len : OTP_HTTP1_LINE_MAX;
    struct otp_text line = otp_text_make(r->line, len);

    r->line_len = 0;
    switch (r->state) {
    case OTP_HTTP1_STATUS_LINE:
        read_status_line(r, line);
        break;
    case OTP_HTTP1_HEADER:
        if (len == 0) {
            finish_head(r);
        } else {
            read_header(r, line);
        }
        break;
    case OTP_HTTP1_CHUNK_SIZE:
        read_chunk_size(r, line);
        break;
    case OTP_HTTP1_CHUNK_END:
        r->state = OTP_HTTP1_CHUNK_SIZE;
        if (len > 0) {
            spoil(r, "a chunk is longer than its size");
        }
        break;
    case OTP_HTTP1_TRAILER:
        r->state = len == 0 ? OTP_HTTP1_DONE : OTP_HTTP1_TRAILER;
        break;
    case OTP_HTTP1_BODY:
    case OTP_HTTP1_CHUNK:
    case OTP_HTTP1_DONE:
    case OTP_HTTP1_BAD:
    default:
        break;
    }
}

/* True when the line under way ends in CR, as far as is known. */
static bool ends_in_cr(const struct otp_http1_response *r)
{
    return r->line_len > 0 && r->line_len <= OTP_HTTP1_LINE_MAX && r->line[r->line_len - 1] == '\r';
}

/* What is wrong with c as the next byte of a line, NULL: nothing. */
static const char *fault_of(const struct otp_http1_response *r, char c)
{
    /* What does not begin as a response is known at once: it may never have an end of a line. */
    if (r->state == OTP_HTTP1_STATUS_LINE && r->line_len < 7 && c != "HTTP/1."[r->line_len]) {
        return "this is no HTTP/1 response";
    }
    bool is_control = ((unsigned char)c < ' ' && c != '\t' && c != '\r') || c == 0x7f;
    return is_control || ends_in_cr(r) ? "control characters are in its head" : NULL;
}

/* One byte of a line; lines end in CR LF, or in LF alone. */
static void feed_line(struct otp_http1_response *r, char c)
{
    if (++r->head_bytes > OTP_HTTP1_HEAD_MAX) {
        spoil(r, "its head is too long");
        return;
    }
    if (c == '\n') {
        r->line_len -= ends_in_cr(r);
        read_line(r);
        return;
    }
    const char *fault = fault_of(r, c);
    if (fault != NULL) {
        spoil(r, fault);
        return;
    }
    if (r->line_len < OTP_HTTP1_LINE_MAX) {
        r->line[r->line_len] = c;
    }
    r->line_len++;
}

/* Part of a body; the number of bytes that were taken. */
static size_t feed_body(struct otp_http1_response *r, const char *data, size_t len)
{
    size_t n = len < r->left ? len : (size_t)r->left;
    size_t room = OTP_HTTP1_KEPT_MAX - r->body.len;

    r->body_bytes += n;
    if (r->body_bytes > OTP_HTTP1_BODY_MAX) {
        spoil(r, "its body is too long");
        return n;
    }
    (void)otp_buf_add(&r->body, data, n < room ? n : room);
    r->left -= r->left == UINT64_MAX ? 0 : n;
    if (r->left == 0) {
        r->state = r->state == OTP_HTTP1_CHUNK ? OTP_HTTP1_CHUNK_END : OTP_HTTP1_DONE;
    }
    return n;
}

void otp_http1_begin(struct otp_http1_response *r, struct otp_heap *heap, uint64_t now_s)
{
    memset(r, 0, sizeof(*r));
    otp_buf_init(&r->body, heap, OTP_HTTP1_KEPT_MAX);
    r->now_s = now_s;
}

void otp_http1_end(struct otp_http1_response *r)
{
    otp_buf_fini(&r->body);
}

size_t otp_http1_feed(struct otp_http1_response *r, const void *data, size_t len)
{
    const char *bytes = data;
    size_t used = 0;
    while (used < len && r->state != OTP_HTTP1_DONE && r->state != OTP_HTTP1_BAD) {
        if (r->state == OTP_HTTP1_BODY || r->state == OTP_HTTP1_CHUNK) {
            used += feed_body(r, bytes + used, len - used);
        } else {
            feed_line(r, bytes[used++]);
        }
    }
    return used;
}

void otp_http1_feed_end(struct otp_http1_response *r)
{
    r->is_closing = true;
    if (r->state == OTP_HTTP1_BODY && !r->has_length) {
        r->state = OTP_HTTP1_DONE;
    } else if (r->state != OTP_HTTP1_DONE && r->state != OTP_HTTP1_BAD) {
        spoil(r, "the connection was closed in the middle");
    }
}
