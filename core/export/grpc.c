/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/grpc.h"

#include <errno.h>
#include <string.h>

#include <nghttp2/nghttp2.h>

#include "core/base/fmt.h"
#include "core/base/sys.h"
#include "core/export/guest.h"

#define METHOD "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define PREFIX_BYTES 5U /* compressed?, u32 big-endian length */
#define BODY_MAX ((size_t)64 << 10)
#define TEXT_MAX 512U
#define DETAILS_MAX 2048U
#define CALL_BYTES_MAX ((size_t)4 << 20) /* from the server during one call */
#define READ_BYTES 2048U
#define READS_MAX 256U
#define HEADER_LIST_MAX 16384U
#define WINDOW_BYTES 65535U
#define NO_STREAM (-1)
#define FIXED_HEADERS 10U

/* A call and its answer. */
struct call {
    int32_t stream;
    unsigned char prefix[PREFIX_BYTES];
    struct otp_text message;
    size_t sent;     /* of prefix and message together */
    size_t came;     /* bytes from the server */
    unsigned http;   /* :status */
    bool has_status; /* grpc-status came */
    bool is_over;    /* the stream is closed */
    bool is_unseen;  /* closed before the server looked at it */
    uint32_t error;  /* HTTP/2 error code of the stream */
    unsigned status;
    size_t text_len;
    size_t details_len;
    size_t body_len;
    char text[TEXT_MAX];       /* grpc-message, decoded */
    char details[DETAILS_MAX]; /* grpc-status-details-bin, decoded */
    unsigned char body[BODY_MAX];
};

struct otp_grpc {
    struct otp_heap *heap;
    nghttp2_session *session;
    struct call call;
    const uint8_t *out; /* bytes of the session that the connection did not take yet */
    size_t out_len;
    bool is_ending; /* GOAWAY */
    bool is_broken;
};

/* ---- what the server sends ---- */

static bool is_name(const uint8_t *name, size_t len, const char *wanted)
{
    return len == strlen(wanted) && memcmp(name, wanted, len) == 0;
}

static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (uint8_t)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-encoded text; a broken sequence stays as it is. */
static size_t decode_text(const uint8_t *in, size_t len, char *out, size_t room)
{
    size_t n = 0;
    for (size_t i = 0; i < len && n < room; i++) {
        int high = in[i] == '%' && i + 2 < len ? hex_value(in[i + 1]) : -1;
        int low = high >= 0 ? hex_value(in[i + 2]) : -1;
        if (low >= 0) {
            out[n++] = (char)(high << 4 | low);
            i += 2;
        } else {
            out[n++] = (char)in[i];
        }
    }
    return n;
}

static int base64_value(uint8_t c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

static size_t decode_base64(const uint8_t *in, size_t len, char *out, size_t room)
{
    uint32_t bits = 0;
    unsigned count = 0;
    size_t n = 0;
    for (size_t i = 0; i < len && n < room; i++) {
        int v = base64_value(in[i]);
        if (v < 0) {
            break;
        }
        bits = bits << 6 | (uint32_t)v;
        count += 6;
        if (count >= 8) {
            count -= 8;
            out[n++] = (char)(bits >> count & 0xffU);
        }
    }
    return n;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t len, uint8_t flags, void *arg)
{
    struct otp_grpc *g = arg;
    struct call *c = &g->call;
    uint64_t number;
    (void)session;
    (void)flags;
    if (frame->hd.stream_id != c->stream) {
        return 0;
    }
    bool is_number = len < 10 && otp_fmt_parse_u64((const char *)value, len, &number);
    if (is_name(name, name_len, ":status") && is_number) {
        c->http = (unsigned)number;
    } else if (is_name(name, name_len, "grpc-status") && is_number) {
        c->has_status = true;
        c->status = (unsigned)number;
    } else if (is_name(name, name_len, "grpc-message")) {
        c->text_len = decode_text(value, len, c->text, sizeof(c->text));
    } else if (is_name(name, name_len, "grpc-status-details-bin")) {
        c->details_len = decode_base64(value, len, c->details, sizeof(c->details));
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
                   size_t len, void *arg)
{
    struct otp_grpc *g = arg;
    struct call *c = &g->call;
    size_t room = sizeof(c->body) - c->body_len;
    (void)session;
    (void)flags;
    if (stream == c->stream) {
        len = len < room ? len : room;
        memcpy(c->body + c->body_len, data, len);
        c->body_len += len;
    }
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *arg)
{
    struct otp_grpc *g = arg;
    (void)session;
    if (stream == g->call.stream) {
        g->call.is_over = true;
        g->call.error = error;
        g->call.is_unseen = error == NGHTTP2_REFUSED_STREAM && !g->call.has_status;
    }
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
    struct otp_grpc *g = arg;
    (void)session;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        g->is_ending = true;
    }
    return 0;
}

/* ---- what it gets ---- */

static ssize_t give_message(nghttp2_session *session, int32_t stream, uint8_t *buf, size_t len,
                            uint32_t *flags, nghttp2_data_source *source, void *arg)
{
    struct otp_grpc *g = arg;
    struct call *c = &g->call;
    size_t whole = PREFIX_BYTES + c->message.len;
    size_t n = 0;
    (void)session;
    (void)stream;
    (void)source;
    while (n < len && c->sent < PREFIX_BYTES) {
        buf[n++] = c->prefix[c->sent++];
    }
    size_t left = whole - c->sent;
    size_t part = len - n < left ? len - n : left;
    memcpy(buf + n, c->message.data + (c->sent - PREFIX_BYTES), part);
    c->sent += part;
    if (c->sent == whole) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return (ssize_t)(n + part);
}

static nghttp2_nv header(const char *name, struct otp_text value)
{
    /* The library takes both as not const, and copies them. */
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .namelen = strlen(name),
                        .value = (uint8_t *)(uintptr_t)value.data,
                        .valuelen = value.len};
}

/* At most 8 digits and a unit. Source: the gRPC over HTTP/2 protocol, "Timeout". */
static size_t write_timeout(uint64_t ns, char out[OTP_FMT_NUMBER_MAX])
{
    uint64_t ms = ns / 1000000U;
    bool is_long = ms > 99999999U;
    size_t len = otp_fmt_u64(out, is_long ? ms / 1000U : ms == 0 ? 1 : ms);
    out[len++] = is_long ? 'S' : 'm';
    return len;
}

bool otp_grpc_begin(struct otp_grpc *g, const struct otp_grpc_request *r)
{
    nghttp2_nv headers[FIXED_HEADERS + OTP_HEADERS_MAX];
    char timeout[OTP_FMT_NUMBER_MAX];
    nghttp2_data_provider body = {.read_callback = give_message};
    struct call *c = &g->call;
    size_t n = 0;

    otp_guest_use(g->heap);
    if (g->is_ending || r->message.len > UINT32_MAX) {
        return false;
    }
    memset(c, 0, offsetof(struct call, text));
    c->message = r->message;
    c->prefix[0] = r->encoding.len > 0;
    uint32_t len = __builtin_bswap32((uint32_t)r->message.len);
    memcpy(c->prefix + 1, &len, sizeof(len));
    headers[n++] = header(":method", otp_text_of("POST"));
    headers[n++] = header(":scheme", otp_text_of(r->is_tls ? "https" : "http"));
    headers[n++] = header(":path", otp_text_of(METHOD));
    headers[n++] = header(":authority", r->authority);
    headers[n++] = header("te", otp_text_of("trailers"));
    headers[n++] = header("content-type", otp_text_of("application/grpc"));
    headers[n++] = header("user-agent", r->user_agent);
    headers[n++] = header("otlp-profiles-development-version", otp_text_of("1"));
    if (r->timeout_ns > 0) {
        struct otp_text t = otp_text_make(timeout, write_timeout(r->timeout_ns, timeout));
        headers[n++] = header("grpc-timeout", t);
    }
    if (r->encoding.len > 0) {
        headers[n++] = header("grpc-encoding", r->encoding);
    }
    for (size_t i = 0; i < r->headers->count; i++) {
        const struct otp_header *h = &r->headers->items[i];
        headers[n] = header("", h->value);
        headers[n].name = (uint8_t *)(uintptr_t)h->name.data;
        headers[n++].namelen = h->name.len;
    }
    c->stream = nghttp2_submit_request(g->session, NULL, headers, n, &body, NULL);
    return c->stream > 0;
}

/* ---- the session ---- */

static bool start(struct otp_grpc *g)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_LIST_MAX},
    };
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    bool is_good =
        nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0;
    if (is_good) {
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        nghttp2_option_set_max_send_header_block_length(option, (size_t)64 << 10);
        is_good = nghttp2_session_client_new2(&g->session, callbacks, g, option) == 0 &&
                  nghttp2_submit_settings(g->session, NGHTTP2_FLAG_NONE, settings,
                                          OTP_ARRAY_LEN(settings)) == 0;
    }
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    return is_good;
}

struct otp_grpc *otp_grpc_open(struct otp_heap *heap)
{
    struct otp_grpc *g = otp_heap_calloc(heap, 1, sizeof(*g));
    if (g == NULL) {
        return NULL;
    }
    otp_guest_use(heap);
    g->heap = heap;
    g->call.stream = NO_STREAM;
    g->call.is_over = true;
    if (!start(g)) {
        otp_grpc_close(g);
        return NULL;
    }
    return g;
}

void otp_grpc_close(struct otp_grpc *g)
{
    if (g == NULL) {
        return;
    }
    otp_guest_use(g->heap);
    nghttp2_session_del(g->session);
    otp_heap_free(g->heap, g);
}

/* Sends what the connection takes; 0 or -errno. */
static int drain(struct otp_grpc *g, struct otp_conn *c)
{
    for (;;) {
        if (g->out_len == 0) {
            ssize_t n = nghttp2_session_mem_send(g->session, &g->out);
            if (n <= 0) {
                return n < 0 ? -EPROTO : 0;
            }
            g->out_len = (size_t)n;
        }
        long n = otp_conn_write(c, g->out, g->out_len);
        if (n < 0) {
            return n == -EAGAIN ? 0 : (int)n;
        }
        g->out += n;
        g->out_len -= (size_t)n;
        otp_guest_use(g->heap);
    }
}

/* Reads what is there; 0 or -errno, -EPIPE at the end. */
static int feed(struct otp_grpc *g, struct otp_conn *c)
{
    uint8_t bytes[READ_BYTES];
    for (unsigned i = 0; i < READS_MAX; i++) {
        long n = otp_conn_read(c, bytes, sizeof(bytes));
        if (n <= 0) {
            return n == 0 ? -EPIPE : n == -EAGAIN ? 0 : (int)n;
        }
        g->call.came += (size_t)n;
        if (g->call.came > CALL_BYTES_MAX) {
            return -EMSGSIZE;
        }
        otp_guest_use(g->heap);
        if (nghttp2_session_mem_recv(g->session, bytes, (size_t)n) < 0) {
            return -EPROTO;
        }
    }
    return 0;
}

/* Moves bytes in both directions; 0 or -errno. */
static int move(struct otp_grpc *g, struct otp_conn *c)
{
    otp_guest_use(g->heap);
    int out = drain(g, c);
    int in = feed(g, c);
    otp_guest_use(g->heap);
    if (out == 0 && in == 0) {
        return drain(g, c); /* what came in may ask for an answer at once: settings, pings */
    }
    return in != 0 ? in : out;
}

static struct otp_tls_fault fault_of(int error)
{
    struct otp_tls_fault fault = {.error = error == 0 ? EPIPE : -error};
    if (error == -EPROTO) {
        fault.text = "it does not keep to HTTP/2";
    } else if (error == -EMSGSIZE) {
        fault.text = "its answer is too long";
    }
    return fault;
}

enum otp_grpc_step otp_grpc_turn(struct otp_grpc *g, struct otp_conn *c,
                                 struct otp_tls_fault *fault)
{
    int error = move(g, c);
    bool is_useless = error != 0 || (nghttp2_session_want_read(g->session) == 0 &&
                                     nghttp2_session_want_write(g->session) == 0);
    if (g->call.is_over && g->call.stream != NO_STREAM) {
        g->is_ending = g->is_ending || is_useless;
        return g->call.is_unseen ? OTP_GRPC_UNSEEN : OTP_GRPC_DONE;
    }
    if (is_useless) {
        *fault = fault_of(error);
        return OTP_GRPC_BROKEN;
    }
    return OTP_GRPC_MORE;
}

bool otp_grpc_has_output(const struct otp_grpc *g)
{
    return g->out_len > 0 || nghttp2_session_want_write(g->session) != 0;
}

bool otp_grpc_is_ending(const struct otp_grpc *g)
{
    return g->is_ending;
}

/* Without a gRPC status the HTTP status stands for it (gRPC's "http-grpc-status-mapping"). */
static unsigned status_of_http(const struct call *c)
{
    switch (c->http) {
    case 400:
        return 13; /* INTERNAL */
    case 401:
        return 16; /* UNAUTHENTICATED */
    case 403:
        return 7; /* PERMISSION_DENIED */
    case 404:
        return 12; /* UNIMPLEMENTED */
    case 429:
    case 502:
    case 503:
    case 504:
        return 14; /* UNAVAILABLE */
    case 0:
    case 200:
        return 14; /* the stream was reset: nothing is known */
    default:
        return 2; /* UNKNOWN */
    }
}

void otp_grpc_outcome(const struct otp_grpc *g, struct otp_outcome *out)
{
    const struct call *c = &g->call;
    size_t skip = c->body_len < PREFIX_BYTES ? c->body_len : PREFIX_BYTES;
    /* A compressed answer was not asked for, and is not read. */
    bool is_plain = skip == PREFIX_BYTES && c->body[0] == 0;
    struct otp_reply reply = {
        .code = c->has_status ? c->status : status_of_http(c),
        .body = otp_text_make((const char *)c->body + skip, is_plain ? c->body_len - skip : 0),
    };
    otp_outcome_of_grpc(&reply, otp_text_make(c->text, c->text_len),
                        otp_text_make(c->details, c->details_len), out);
}
