/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine of the OTLP sink: idle, opening a connection, sending and waiting for the answer.
 * Whatever ends an attempt leads to one of three functions: delivered, refused, or again later.
 */
#include "core/export/sink_otlp.h"

#include <errno.h>
#include <string.h>

#include "core/base/sys.h"
#include "core/export/sink_otlp_text.h"
#include "core/export/stream.h"

#define SECOND_NS UINT64_C(1000000000)
#define LAST_PAUSE_NS 200000000U /* between attempts when the process is about to end */
#define BUSY_WAKE_NS 20000000U   /* a request under way is looked at so often */
#define WAIT_MAX_S UINT64_C(3600)
#define HEAD_MAX ((size_t)64 << 10)
#define READ_BYTES 2048U
#define READS_MAX 256U /* in one turn, so that a peer that never stops cannot hold the worker */

static struct otp_sink_otlp *from(struct otp_sink *s)
{
    return (struct otp_sink_otlp *)(void *)s;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- how an attempt ends ---- */

static void disconnect(struct otp_sink_otlp *k)
{
    otp_grpc_close(k->grpc);
    k->grpc = NULL;
    otp_http1_end(&k->response);
    otp_conn_close(&k->conn);
    k->is_reused = false;
    k->state = OTP_OTLP_IDLE;
}

/* The exchange is over and the connection can carry another. */
static void settle(struct otp_sink_otlp *k, bool is_closing)
{
    otp_http1_end(&k->response);
    k->state = OTP_OTLP_IDLE;
    k->is_reused = true;
    if (is_closing) {
        disconnect(k);
    }
}

static void lose(struct otp_sink_otlp *k, const char *step, struct otp_tls_fault fault)
{
    /* A server may close a connection that idles just when it is used again: no failure of it. */
    bool was_stale = k->is_reused && k->state == OTP_OTLP_SENDING && k->response.head_bytes == 0 &&
                     fault.error != ETIMEDOUT;
    disconnect(k);
    if (was_stale) {
        k->backlog.retry_ns = 0;
        return;
    }
    otp_sink_otlp_fail(k, step, fault);
    otp_backlog_failed(&k->backlog, false, 0);
}

static void delivered(struct otp_sink_otlp *k, const struct otp_outcome *o)
{
    otp_backlog_finish(&k->backlog, otp_backlog_take(&k->backlog));
    otp_backlog_succeeded(&k->backlog);
    k->base.sent_messages++;
    k->rejected_profiles += o->rejected;
    otp_sink_otlp_clear_failure(k);
    if (o->has_warning) {
        otp_sink_otlp_note_outcome(k, o);
    }
}

static void judge(struct otp_sink_otlp *k, const struct otp_outcome *o)
{
    switch (o->kind) {
    case OTP_OUTCOME_DELIVERED:
        delivered(k, o);
        break;
    case OTP_OUTCOME_RETRY:
        otp_sink_otlp_fail_outcome(k, o);
        otp_backlog_failed(&k->backlog, o->has_wait, o->wait_ns);
        break;
    case OTP_OUTCOME_REFUSED:
    default:
        otp_sink_otlp_note_outcome(k, o);
        otp_backlog_drop(&k->backlog, otp_backlog_take(&k->backlog));
        otp_backlog_succeeded(&k->backlog);
        break;
    }
}

/* ---- HTTP/1 ---- */

static void begin_http(struct otp_sink_otlp *k)
{
    struct otp_http1_request r = {
        .target = k->path,
        .authority = k->url.authority,
        .content_type =
            otp_text_of(k->options.is_json ? "application/json" : "application/x-protobuf"),
        .content_encoding = otp_sink_otlp_encoding(k),
        .user_agent = k->options.user_agent,
        .headers = &k->headers,
        .body_len = k->backlog.queue.first->len,
    };
    otp_buf_clear(&k->head);
    otp_http1_write_head(&k->head, &r);
    otp_http1_begin(&k->response, k->options.heap, otp_sys_realtime_ns() / SECOND_NS);
    k->sent = 0;
}

/* Sends what the connection takes: the head, then the body. 0, -EAGAIN, or -errno. */
static long send_http(struct otp_sink_otlp *k)
{
    const struct otp_queue_item *item = k->backlog.queue.first;
    size_t whole = k->head.len + item->len;
    while (k->sent < whole) {
        bool is_head = k->sent < k->head.len;
        const unsigned char *from_here =
            is_head ? k->head.data + k->sent : item->bytes + (k->sent - k->head.len);
        size_t len = is_head ? k->head.len - k->sent : whole - k->sent;
        long n = otp_conn_write(&k->conn, from_here, len);
        if (n <= 0) {
            return n == 0 ? -EAGAIN : n;
        }
        k->sent += (size_t)n;
    }
    return 0;
}

/* Reads what is there; 0 when the peer has closed, -EAGAIN, -errno, 1 when the response ended. */
static long receive_http(struct otp_sink_otlp *k)
{
    char bytes[READ_BYTES];
    for (unsigned i = 0; i < READS_MAX; i++) {
        long n = otp_conn_read(&k->conn, bytes, sizeof(bytes));
        if (n < 0) {
            return n;
        }
        if (n == 0) {
            otp_http1_feed_end(&k->response);
            return 0;
        }
        size_t used = otp_http1_feed(&k->response, bytes, (size_t)n);
        if (k->response.state == OTP_HTTP1_DONE || k->response.state == OTP_HTTP1_BAD) {
            k->response.is_closing = k->response.is_closing || used < (size_t)n;
            return 1;
        }
    }
    return -EAGAIN;
}

/* The response has ended, well or badly: once its head is there it counts. */
static void finish_http(struct otp_sink_otlp *k)
{
    struct otp_http1_response *r = &k->response;
    struct otp_reply reply = {
        .code = r->status,
        .is_json = r->is_json,
        .body = otp_text_make((const char *)r->body.data, r->body.len),
    };
    struct otp_outcome o;
    size_t whole = k->head.len + k->backlog.queue.first->len;

    if (!r->has_head) {
        struct otp_outcome bad = {.kind = OTP_OUTCOME_REFUSED};
        size_t len = strlen(r->fault);
        memcpy(bad.text, r->fault, len < sizeof(bad.text) - 1 ? len : sizeof(bad.text) - 1);
        judge(k, &bad);
        disconnect(k);
        return;
    }
    if (r->state == OTP_HTTP1_BAD) {
        reply.body.len = 0; /* half a body says nothing */
    }
    otp_outcome_of_http(&reply, &o);
    o.has_wait = r->has_wait;
    o.wait_ns = lesser(r->wait_s, WAIT_MAX_S) * SECOND_NS;
    bool is_closing = r->is_closing || k->sent < whole;
    judge(k, &o);
    settle(k, is_closing);
}

static bool turn_http(struct otp_sink_otlp *k)
{
    long out = send_http(k);
    long in = receive_http(k);
    bool is_cut = (in == 0 || (in < 0 && in != -EAGAIN)) && !k->response.has_head;
    if (is_cut || (in == -EAGAIN && out < 0 && out != -EAGAIN)) {
        /* What arrived before the reset was read; no answer is among it. */
        int error = in == 0 ? EPIPE : in != -EAGAIN ? (int)-in : (int)-out;
        lose(k, k->response.head_bytes > 0 ? "read the answer of" : "send to",
             (struct otp_tls_fault){.error = error});
        return true;
    }
    if (in == -EAGAIN) {
        return false;
    }
    if (in < 0) {
        otp_http1_feed_end(&k->response);
    }
    finish_http(k);
    return true;
}

/* ---- gRPC ---- */

static bool begin_grpc(struct otp_sink_otlp *k)
{
    struct otp_grpc_request r = {
        .authority = k->url.authority,
        .is_tls = k->conn.options.is_tls,
        .user_agent = k->options.user_agent,
        .encoding = otp_sink_otlp_encoding(k),
        .timeout_ns = k->options.timeout_ns,
        .headers = &k->headers,
        .message =
            otp_text_make((const char *)k->backlog.queue.first->bytes, k->backlog.queue.first->len),
    };
    otp_http1_begin(&k->response, k->options.heap, 0);
    if (k->grpc == NULL) {
        k->grpc = otp_grpc_open(k->options.heap);
    }
    return k->grpc != NULL && otp_grpc_begin(k->grpc, &r);
}

static bool turn_grpc(struct otp_sink_otlp *k)
{
    struct otp_tls_fault fault = {0};
    struct otp_outcome o;
    switch (otp_grpc_turn(k->grpc, &k->conn, &fault)) {
    case OTP_GRPC_DONE:
        otp_grpc_outcome(k->grpc, &o);
        judge(k, &o);
        settle(k, otp_grpc_is_ending(k->grpc));
        return true;
    case OTP_GRPC_UNSEEN:
        disconnect(k);
        otp_backlog_failed(&k->backlog, false, 0);
        if (k->backlog.failures == 1) {
            k->backlog.retry_ns = 0; /* it was closing just then */
            k->backlog.spool_ns = 0;
        } else {
            otp_sink_otlp_fail(k, "deliver to",
                               (struct otp_tls_fault){.text = "it takes no calls"});
        }
        return true;
    case OTP_GRPC_BROKEN:
        lose(k, "send to", fault);
        return true;
    case OTP_GRPC_MORE:
    default:
        return false;
    }
}

/* ---- the machine ---- */

/* Between two requests: a peer that has closed, or says something unasked, is not used again. */
static void check_idle(struct otp_sink_otlp *k)
{
    char byte;
    if (k->conn.state != OTP_CONN_READY) {
        return;
    }
    if (k->grpc != NULL) {
        struct otp_tls_fault fault;
        if (otp_grpc_turn(k->grpc, &k->conn, &fault) == OTP_GRPC_BROKEN ||
            otp_grpc_is_ending(k->grpc)) {
            disconnect(k);
        }
    } else if (otp_conn_read(&k->conn, &byte, 1) != -EAGAIN) {
        disconnect(k);
    }
}

static void start_sending(struct otp_sink_otlp *k)
{
    k->state = OTP_OTLP_SENDING;
    if (!k->options.is_grpc) {
        begin_http(k);
        if (otp_buf_ok(&k->head)) {
            return;
        }
    } else if (begin_grpc(k)) {
        return;
    }
    k->is_reused = false;
    lose(k, "send to", (struct otp_tls_fault){.error = ENOMEM});
}

static bool turn_opening(struct otp_sink_otlp *k)
{
    enum otp_status status = otp_conn_open(&k->conn);
    if (status == OTP_OK) {
        start_sending(k);
        return true;
    }
    if (status == OTP_AGAIN) {
        return false;
    }
    lose(k, k->conn.failed_step, k->conn.fault);
    return true;
}

static void start_attempt(struct otp_sink_otlp *k)
{
    uint64_t now = otp_sys_monotonic_ns();
    k->limit_ns = k->options.timeout_ns == 0 ? UINT64_MAX : now + k->options.timeout_ns;
    check_idle(k);
    k->state = OTP_OTLP_OPENING;
}

/* True when something has changed, so that another turn may find something to do. */
static bool turn(struct otp_sink_otlp *k)
{
    bool has_moved = false;
    switch (k->state) {
    case OTP_OTLP_OPENING:
        has_moved = turn_opening(k);
        break;
    case OTP_OTLP_SENDING:
        has_moved = k->options.is_grpc ? turn_grpc(k) : turn_http(k);
        break;
    case OTP_OTLP_IDLE:
    default:
        if (k->backlog.retry_ns > otp_sys_monotonic_ns()) {
            return false;
        }
        start_attempt(k);
        return true;
    }
    if (!has_moved && otp_sys_monotonic_ns() >= k->limit_ns) {
        lose(k, k->state == OTP_OTLP_OPENING ? "connect to" : "get an answer of",
             (struct otp_tls_fault){.error = ETIMEDOUT});
        return true;
    }
    return has_moved;
}

static void wait_for_work(const struct otp_sink_otlp *k, uint64_t deadline_ns)
{
    uint64_t until =
        lesser(deadline_ns, k->state == OTP_OTLP_IDLE ? k->backlog.retry_ns : k->limit_ns);
    bool for_output = k->options.is_grpc ? k->grpc != NULL && otp_grpc_has_output(k->grpc)
                                         : k->backlog.queue.first != NULL &&
                                               k->sent < k->head.len + k->backlog.queue.first->len;
    if (until <= otp_sys_monotonic_ns()) {
        return;
    }
    if (k->state == OTP_OTLP_IDLE) {
        (void)otp_stream_wait(-1, 0, until);
    } else {
        otp_conn_wait(&k->conn, for_output, until);
    }
}

static uint64_t next_wake(const struct otp_sink_otlp *k)
{
    bool is_busy = k->backlog.queue.first != NULL && k->state != OTP_OTLP_IDLE;
    return is_busy ? otp_sys_monotonic_ns() + BUSY_WAKE_NS : otp_backlog_wake_ns(&k->backlog);
}

/* The spool is left to the next process when this one ends. */
static bool has_next(struct otp_sink_otlp *k, bool is_last)
{
    bool may_look = !is_last && k->state == OTP_OTLP_IDLE;
    return may_look ? otp_backlog_has_next(&k->backlog) : k->backlog.queue.first != NULL;
}

static enum otp_status otlp_pump(struct otp_sink *s, uint64_t deadline_ns, bool is_last)
{
    struct otp_sink_otlp *k = from(s);

    while (has_next(k, is_last)) {
        if (is_last) {
            otp_backlog_hurry(&k->backlog, LAST_PAUSE_NS);
        }
        if (turn(k)) {
            continue;
        }
        if (otp_sys_monotonic_ns() >= deadline_ns) {
            break;
        }
        wait_for_work(k, deadline_ns);
    }
    otp_backlog_publish(&k->backlog);
    s->wake_ns = next_wake(k);
    s->told_ns = k->state == OTP_OTLP_IDLE ? k->backlog.told_ns : 0;
    return k->backlog.queue.first == NULL ? OTP_OK : OTP_AGAIN;
}

static enum otp_status otlp_put(struct otp_sink *s, const struct otp_message *m,
                                uint64_t deadline_ns)
{
    struct otp_sink_otlp *k = from(s);

    if (m->len > k->options.queue_bytes) {
        otp_sink_otlp_fail(k, "send to", (struct otp_tls_fault){.error = EMSGSIZE});
        return OTP_TOO_LARGE;
    }
    if (!otp_backlog_make_room(&k->backlog, m->len, k->state == OTP_OTLP_SENDING)) {
        disconnect(k); /* in the middle of it */
        (void)otp_backlog_make_room(&k->backlog, m->len, false);
    }
    if (!otp_backlog_append(&k->backlog, m)) {
        otp_sink_otlp_fail(k, "queue for", (struct otp_tls_fault){.error = ENOMEM});
        otp_backlog_publish(&k->backlog);
        return OTP_NO_MEMORY;
    }
    otp_backlog_settle(&k->backlog, k->state == OTP_OTLP_IDLE);
    return otlp_pump(s, deadline_ns, false);
}

static bool otlp_rescue(struct otp_sink *s)
{
    struct otp_sink_otlp *k = from(s);
    if (k->backlog.has_spool && k->backlog.queue.first != NULL) {
        disconnect(k);
        (void)otp_backlog_rescue(&k->backlog);
        otp_backlog_publish(&k->backlog);
    }
    if (k->backlog.queue.first != NULL) {
        static const char late[] = "not done within OTELPROF_SHUTDOWN_TIMEOUT";
        otp_sink_otlp_fail(k, "deliver all profiles to", (struct otp_tls_fault){.text = late});
    }
    return k->backlog.queue.first == NULL;
}

static void otlp_close(struct otp_sink *s)
{
    struct otp_sink_otlp *k = from(s);
    disconnect(k);
    otp_backlog_close(&k->backlog);
    otp_sink_otlp_free_texts(k);
    otp_buf_fini(&k->head);
    s->wake_ns = UINT64_MAX;
}

static void otlp_abandon(struct otp_sink *s)
{
    struct otp_sink_otlp *k = from(s);
    k->grpc = NULL;
    k->conn.tls = NULL;
    otp_tls_forget();
    k->response.body = (struct otp_buf){0};
    otp_conn_close(&k->conn);
    otp_backlog_abandon(&k->backlog);
    k->state = OTP_OTLP_IDLE;
    s->wake_ns = UINT64_MAX;
}

enum otp_status otp_sink_otlp_init(struct otp_sink_otlp *k,
                                   const struct otp_sink_otlp_options *options)
{
    static const struct otp_sink_ops ops = {
        .put = otlp_put,
        .pump = otlp_pump,
        .rescue = otlp_rescue,
        .describe = otp_sink_otlp_describe,
        .close = otlp_close,
        .abandon = otlp_abandon,
    };
    const struct otp_backlog_options b = {
        .heap = options->heap,
        .queue_bytes = options->queue_bytes,
        .backoff_min_ns = options->backoff_min_ns == 0 ? SECOND_NS : options->backoff_min_ns,
        .backoff_max_ns = options->backoff_max_ns == 0 ? 60 * SECOND_NS : options->backoff_max_ns,
    };
    memset(k, 0, sizeof(*k));
    k->base.ops = &ops;
    k->base.format = options->is_json && !options->is_grpc ? OTP_FORMAT_JSONL : OTP_FORMAT_OTLP;
    k->base.compression = options->compression;
    k->base.wake_ns = UINT64_MAX;
    k->options = *options;
    otp_backlog_init(&k->backlog, &k->base, &b);
    otp_buf_init(&k->head, options->heap, HEAD_MAX);
    return otp_sink_otlp_set_up(k);
}
