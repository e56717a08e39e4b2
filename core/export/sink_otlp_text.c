/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/sink_otlp_text.h"

#include <errno.h>
#include <string.h>

#include "core/base/utf8.h"

#define SIGNAL_PATH "v1development/profiles"

/* ---- from the options ---- */

/* A growing place in the block of all texts. */
static struct otp_text put(char **to, struct otp_text text)
{
    struct otp_text copy = otp_text_make(*to, text.len);
    if (text.len > 0) {
        memcpy(*to, text.data, text.len);
    }
    (*to)[text.len] = '\0';
    *to += text.len + 1;
    return copy;
}

/* The path of the request, into room for the URL's and the signal's. */
static struct otp_text make_path(const struct otp_sink_otlp *k, char **to)
{
    struct otp_text path = k->url.path;
    bool has_own = path.len > 1;
    char *begin = *to;
    size_t len = 0;
    if (k->options.kind == OTP_ENDPOINT_WHOLE ||
        (k->options.kind == OTP_ENDPOINT_OUTPUT && has_own)) {
        if (path.len == 0 || path.data[0] != '/') {
            begin[len++] = '/';
        }
        memcpy(begin + len, path.data, path.len);
        len += path.len;
    } else {
        const char *query = memchr(path.data, '?', path.len);
        struct otp_text base =
            otp_text_make(path.data, query == NULL ? path.len : (size_t)(query - path.data));
        memcpy(begin, base.data, base.len);
        len = base.len;
        if (len == 0 || begin[len - 1] != '/') {
            begin[len++] = '/';
        }
        memcpy(begin + len, SIGNAL_PATH, sizeof(SIGNAL_PATH) - 1);
        len += sizeof(SIGNAL_PATH) - 1;
        memcpy(begin + len, path.data + base.len, path.len - base.len);
        len += path.len - base.len;
    }
    *to += len;
    return otp_text_make(begin, len);
}

static bool copy_texts(struct otp_sink_otlp *k)
{
    struct otp_sink_otlp_options *o = &k->options;
    struct otp_text *const texts[] = {&o->endpoint, &o->tls.ca_path, &o->tls.key_path,
                                      &o->tls.cert_path, &o->user_agent};
    size_t len = o->endpoint.len + sizeof(SIGNAL_PATH) + 2; /* of the path */
    for (size_t i = 0; i < OTP_ARRAY_LEN(texts); i++) {
        len += texts[i]->len + 1;
    }
    k->texts = otp_heap_alloc(o->heap, len);
    k->texts_len = len;
    if (k->texts == NULL) {
        return false;
    }
    char *to = k->texts;
    for (size_t i = 0; i < OTP_ARRAY_LEN(texts); i++) {
        *texts[i] = put(&to, *texts[i]);
    }
    if (!otp_url_parse(o->endpoint, &k->url)) {
        k->url = (struct otp_url){0};
    }
    k->path = make_path(k, &to);
    return true;
}

/* TLS by the scheme; gRPC may do without one, and then the variable decides. */
static bool decide_tls(const struct otp_sink_otlp *k, bool *out_tls)
{
    enum otp_scheme s = k->url.scheme;
    *out_tls = s == OTP_SCHEME_HTTPS || s == OTP_SCHEME_GRPCS ||
               (s == OTP_SCHEME_NONE && !k->options.is_insecure);
    bool is_http = s == OTP_SCHEME_HTTP || s == OTP_SCHEME_HTTPS;
    return k->url.host.len > 0 && (k->options.is_grpc || is_http);
}

static void note_refused_headers(struct otp_sink_otlp *k, const struct otp_line *why)
{
    if (k->headers.refused > 0) {
        k->base.note.len = 0;
        k->base.is_note_of_error = true;
        const char *name = k->options.headers_name;
        otp_line_str(&k->base.note, name == NULL ? "the headers" : name);
        otp_line_str(&k->base.note, ": ");
        otp_line_bytes(&k->base.note, why->text, why->len);
    }
}

static void open_spool(struct otp_sink_otlp *k)
{
    struct otp_backlog_spool where = {
        .folder = k->options.spool,
        .base_path = k->options.base_path,
        .service = k->options.identity,
        .destination = k->options.endpoint,
    };
    otp_backlog_open_spool(&k->backlog, &where);
}

static void keep_reason(struct otp_sink_otlp *k, const char *text, size_t len)
{
    len = len < sizeof(k->reason) - 1 ? len : sizeof(k->reason) - 1;
    memcpy(k->reason, text, len);
    k->reason[len] = '\0';
    k->base.hint = k->reason;
}

/* The endpoint itself may hold a password: of that the line has where it comes from. */
static void refuse_endpoint(struct otp_sink_otlp *k)
{
    struct otp_line line = {0};
    const char *name = k->options.endpoint_name;
    otp_line_str(&line, name == NULL ? "the endpoint" : name);
    otp_line_str(&line, k->options.is_grpc
                            ? " must be http://HOST:PORT, https://HOST:PORT or HOST:PORT"
                            : " must be an http:// or https:// URL");
    otp_line_str(&line, ", without a password");
    k->base.failed_step = "use";
    k->base.error = EINVAL;
    keep_reason(k, line.text, line.len);
}

enum otp_status otp_sink_otlp_set_up(struct otp_sink_otlp *k)
{
    struct otp_conn_options c = {
        .alpn = k->options.is_grpc ? "h2" : "http/1.1",
        .heap = k->options.heap,
        .hosts_path = k->options.hosts_path,
        .resolv_path = k->options.resolv_path,
    };
    otp_conn_init(&k->conn, &c);
    struct otp_text list = k->options.headers;
    struct otp_line why = {0};
    k->options.headers = (struct otp_text){0}; /* a secret: not borrowed, read once */
    if (!copy_texts(k) || !otp_headers_parse(&k->headers, k->options.heap, list, &why)) {
        otp_sink_otlp_fail(k, "prepare for", (struct otp_tls_fault){.error = ENOMEM});
        return OTP_NO_MEMORY;
    }
    if (!decide_tls(k, &c.is_tls)) {
        refuse_endpoint(k);
        return OTP_INVALID;
    }
    unsigned standard =
        c.is_tls && k->url.scheme == OTP_SCHEME_HTTPS && !k->options.is_grpc ? 443 : 80;
    if (k->url.scheme != OTP_SCHEME_HTTP && k->url.scheme != OTP_SCHEME_HTTPS) {
        standard = OTP_OTLP_GRPC_PORT;
    } else if (k->options.is_grpc) {
        standard = k->url.scheme == OTP_SCHEME_HTTPS ? 443 : 80;
    }
    c.port = k->url.port == 0 ? (uint16_t)standard : k->url.port;
    c.host = k->url.host;
    c.tls = k->options.tls;
    otp_conn_init(&k->conn, &c);
    note_refused_headers(k, &why);
    open_spool(k);
    return OTP_OK;
}

void otp_sink_otlp_free_texts(struct otp_sink_otlp *k)
{
    otp_headers_fini(&k->headers);
    otp_heap_free(k->options.heap, k->texts);
    k->texts = NULL;
}

struct otp_text otp_sink_otlp_encoding(const struct otp_sink_otlp *k)
{
    switch (k->base.compression) {
    case OTP_COMPRESSION_GZIP:
        return otp_text_of("gzip");
    case OTP_COMPRESSION_ZSTD:
        return otp_text_of("zstd");
    case OTP_COMPRESSION_NONE:
    default:
        return otp_text_of("");
    }
}

/* ---- for the log ---- */

static void put_target(const struct otp_sink_otlp *k, struct otp_line *line)
{
    struct otp_text t = k->options.endpoint;
    size_t end = otp_utf8_cut(t, OTP_SHOWN_TARGET_MAX);
    /* What stands before an @ may be a password; behind a ? there may be a token. */
    for (size_t i = 0; i < end; i++) {
        if (t.data[i] == '@') {
            otp_line_str(line, "the endpoint");
            return;
        }
        end = t.data[i] == '?' ? i : end;
    }
    for (size_t pos = 0; pos < end;) {
        unsigned len = otp_utf8_step_printable(t.data + pos, end - pos);
        otp_line_bytes(line, len > 0 ? t.data + pos : "?", len > 0 ? len : 1);
        pos += len > 0 ? len : 1;
    }
}

static void put_outcome(const struct otp_outcome *o, struct otp_line *line)
{
    if (o->code != 0) {
        otp_line_str(line, o->is_grpc ? "gRPC status " : "HTTP status ");
        otp_line_u64(line, o->code);
        otp_line_str(line, o->text[0] != '\0' ? ": " : "");
    }
    otp_line_str(line, o->text);
}

void otp_sink_otlp_clear_failure(struct otp_sink_otlp *k)
{
    k->base.failed_step = NULL;
    k->base.error = 0;
    k->base.hint = NULL;
    k->reason[0] = '\0';
}

void otp_sink_otlp_fail(struct otp_sink_otlp *k, const char *step, struct otp_tls_fault fault)
{
    k->base.failed_step = step;
    k->base.error = fault.error;
    const char *text = fault.text == NULL ? otp_errno_text(fault.error) : fault.text;
    keep_reason(k, text, strlen(text));
}

void otp_sink_otlp_fail_outcome(struct otp_sink_otlp *k, const struct otp_outcome *o)
{
    struct otp_line line = {0};
    put_outcome(o, &line);
    k->base.failed_step = "deliver to";
    k->base.error = EAGAIN;
    keep_reason(k, line.text, line.len);
}

void otp_sink_otlp_note_outcome(struct otp_sink_otlp *k, const struct otp_outcome *o)
{
    struct otp_line *n = &k->base.note;
    n->len = 0;
    k->base.is_note_of_refusal = true;
    k->base.is_note_of_error = o->kind == OTP_OUTCOME_REFUSED;
    put_target(k, n);
    if (o->kind == OTP_OUTCOME_REFUSED) {
        otp_line_str(n, " has refused a profile for good: ");
        put_outcome(o, n);
    } else {
        otp_line_str(n, " has taken a message and says: ");
        otp_line_str(n, o->text[0] == '\0' ? "nothing more" : o->text);
        otp_line_str(n, "; profiles rejected: ");
        otp_line_u64(n, o->rejected);
    }
}

void otp_sink_otlp_describe(const struct otp_sink *s, struct otp_line *line)
{
    const struct otp_sink_otlp *k = (const struct otp_sink_otlp *)(const void *)s;
    if (s->failed_step == NULL) {
        put_target(k, line);
        return;
    }
    otp_line_str(line, "cannot ");
    otp_line_str(line, s->failed_step);
    otp_line_str(line, " ");
    put_target(k, line);
    otp_line_str(line, ": ");
    otp_line_str(line, k->reason[0] == '\0' ? otp_errno_text(s->error) : k->reason);
}
