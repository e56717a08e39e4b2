/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine of the OTLP sink: idle, opening a connection, sending and waiting for the answer.
 * Whatever ends an attempt leads to one of three functions: delivered, refused, or again later.
 */
#include "core/export/sink_otlp.h"

#include <errno.h>
#include <string.h>

#include "core/base/sys.h"
#include "core/export/retry.h"
#include "core/export/sink_otlp_text.h"
#include "core/export/stream.h"

#define SECOND_NS UINT64_C(1000000000)
#define LAST_PAUSE_NS 200000000U /* between attempts when the process is about to end */
#define BUSY_WAKE_NS 20000000U   /* a request under way is looked at so often */
#define WAIT_MAX_S UINT64_C(3600)
#define SPOOL_LOOK_NS (30 * SECOND_NS) /* an empty spool is looked at again */
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

static void publish_counts(struct otp_sink_otlp *k)
{
    k->base.queued_messages = k->queue.count;
    k->base.queued_bytes = k->queue.bytes;
}

static void drop(struct otp_sink_otlp *k, struct otp_queue_item *item)
{
    k->base.dropped_messages++;
    k->base.dropped_bytes += item->len;
    otp_queue_free_item(&k->queue, item);
}

/* ---- the spool ---- */

/* The oldest leaves the queue, into the spool if there is one; otherwise it is dropped. */
static void shed_first(struct otp_sink_otlp *k)
{
    struct otp_queue_item *item = otp_queue_take_first(&k->queue);
    if (k->is_first_spooled) {
        k->is_first_spooled = false;
        otp_spool_release(&k->spool);
        otp_queue_free_item(&k->queue, item);
        return;
    }
    if (k->has_spool && otp_spool_put(&k->spool, item->bytes, item->len) == OTP_OK) {
        otp_queue_free_item(&k->queue, item);
    } else {
        drop(k, item);
    }
    k->base.dropped_messages += k->spool.dropped - k->spool_dropped_seen;
    k->spool_dropped_seen = k->spool.dropped;
}

/* Everything goes into the spool: from now on it survives the process. */
static void shed_all(struct otp_sink_otlp *k)
{
    while (k->has_spool && k->queue.first != NULL) {
        shed_first(k);
    }
}

/* The oldest is done with, for better or worse. */
static void finish_spooled(struct otp_sink_otlp *k)
{
    if (k->is_first_spooled) {
        k->is_first_spooled = false;
        otp_spool_done(&k->spool);
    }
}

/* Takes the next message of the spool into the empty queue, when it is time; false: none. */
static bool take_spooled(struct otp_sink_otlp *k)
{
    uint64_t now = otp_sys_monotonic_ns();
    if (!k->has_spool || now < k->spool_ns || now < k->retry_ns || k->state != OTP_OTLP_IDLE) {
        return false;
    }
    struct otp_queue_item *item = otp_spool_take(&k->spool, &k->queue);
    if (item == NULL) {
        k->spool_ns = now + otp_retry_pause_ns(1, SPOOL_LOOK_NS, SPOOL_LOOK_NS);
        return false;
    }
    k->is_first_spooled = true;
    otp_queue_prepend(&k->queue, item);
    return true;
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

static void again_later(struct otp_sink_otlp *k, bool has_wait, uint64_t wait_ns)
{
    uint64_t now = otp_sys_monotonic_ns();
    k->failures++;
    uint64_t pause =
        otp_retry_pause_ns(k->failures, k->options.backoff_min_ns, k->options.backoff_max_ns);
    k->is_told_to_wait = has_wait;
    if (has_wait) {
        /* All clients were told the same: a tenth more by chance spreads them. */
        uint64_t wait = lesser(wait_ns, WAIT_MAX_S * SECOND_NS);
        pause = wait + otp_retry_pause_ns(1, wait / 10 + 1, wait / 10 + 1);
    }
    k->retry_ns = now + pause;
    k->spool_ns = k->retry_ns;
    shed_all(k);
}

static void lose(struct otp_sink_otlp *k, const char *step, struct otp_tls_fault fault)
{
    /* A server may close a connection that idles just when it is used again: no failure of it. */
    bool was_stale = k->is_reused && k->state == OTP_OTLP_SENDING && k->response.head_bytes == 0 &&
                     fault.error != ETIMEDOUT;
    disconnect(k);
    if (was_stale) {
        k->retry_ns = 0;
        return;
    }
    otp_sink_otlp_fail(k, step, fault);
    again_later(k, false, 0);
}

static void delivered(struct otp_sink_otlp *k, const struct otp_outcome *o)
{
    finish_spooled(k);
    otp_queue_free_item(&k->queue, otp_queue_take_first(&k->queue));
    k->base.sent_messages++;
    k->spool_ns = 0;
    k->rejected_profiles += o->rejected;
    k->failures = 0;
    k->retry_ns = 0;
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
        again_later(k, o->has_wait, o->wait_ns);
        break;
    case OTP_OUTCOME_REFUSED:
    default:
        otp_sink_otlp_note_outcome(k, o);
        finish_spooled(k);
        drop(k, otp_queue_take_first(&k->queue));
        k->failures = 0;
        k->retry_ns = 0;
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
        .body_len = k->queue.first->len,
    };
    otp_buf_clear(&k->head);
    otp_http1_write_head(&k->head, &r);
    otp_http1_begin(&k->response, k->options.heap, otp_sys_realtime_ns() / SECOND_NS);
    k->sent = 0;
}

/* Sends what the connection takes: the head, then the body. 0, -EAGAIN, or -errno. */
static long send_http(struct otp_sink_otlp *k)
{
    const struct otp_queue_item *item = k->queue.first;
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
    size_t whole = k->head.len + k->queue.first->len;

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
        .message = otp_text_make((const char *)k->queue.first->bytes, k->queue.first->len),
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
        again_later(k, false, 0);
        if (k->failures == 1) {
            k->retry_ns = 0; /* it was closing just then */
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
        if (k->retry_ns > otp_sys_monotonic_ns()) {
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
    uint64_t until = lesser(deadline_ns, k->state == OTP_OTLP_IDLE ? k->retry_ns : k->limit_ns);
    bool for_output = k->options.is_grpc
                          ? k->grpc != NULL && otp_grpc_has_output(k->grpc)
                          : k->queue.first != NULL && k->sent < k->head.len + k->queue.first->len;
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
    if (k->queue.first == NULL) {
        uint64_t look = k->spool_ns > k->retry_ns ? k->spool_ns : k->retry_ns;
        return k->has_spool ? look : UINT64_MAX;
    }
    return k->state == OTP_OTLP_IDLE ? k->retry_ns : otp_sys_monotonic_ns() + BUSY_WAKE_NS;
}

static enum otp_status otlp_pump(struct otp_sink *s, uint64_t deadline_ns, bool is_last)
{
    struct otp_sink_otlp *k = from(s);

    while (k->queue.first != NULL || (!is_last && take_spooled(k))) {
        if (is_last && !k->is_told_to_wait) {
            k->retry_ns = lesser(k->retry_ns, otp_sys_monotonic_ns() + LAST_PAUSE_NS);
        }
        if (turn(k)) {
            continue;
        }
        if (otp_sys_monotonic_ns() >= deadline_ns) {
            break;
        }
        wait_for_work(k, deadline_ns);
    }
    publish_counts(k);
    s->wake_ns = next_wake(k);
    return k->queue.first == NULL ? OTP_OK : OTP_AGAIN;
}

/* Makes room for len bytes by dropping the oldest messages; the one under way goes last. */
static void make_room(struct otp_sink_otlp *k, size_t len)
{
    struct otp_queue *q = &k->queue;
    while (q->first != NULL && q->bytes + len > k->options.queue_bytes) {
        bool is_under_way = k->state == OTP_OTLP_SENDING;
        if (is_under_way && !k->has_spool && q->first->next != NULL) {
            drop(k, otp_queue_take_second(q));
            continue;
        }
        if (is_under_way) {
            disconnect(k); /* in the middle of it */
        }
        shed_first(k);
    }
}

static enum otp_status otlp_put(struct otp_sink *s, const struct otp_message *m,
                                uint64_t deadline_ns)
{
    struct otp_sink_otlp *k = from(s);

    if (m->len > k->options.queue_bytes) {
        otp_sink_otlp_fail(k, "send to", (struct otp_tls_fault){.error = EMSGSIZE});
        return OTP_TOO_LARGE;
    }
    make_room(k, m->len);
    struct otp_queue_item *item = otp_queue_new_item(&k->queue, m->len);
    if (item == NULL) {
        otp_sink_otlp_fail(k, "queue for", (struct otp_tls_fault){.error = ENOMEM});
        publish_counts(k);
        return OTP_NO_MEMORY;
    }
    memcpy(item->bytes, m->data, m->len);
    otp_queue_append(&k->queue, item);
    return otlp_pump(s, deadline_ns, false);
}

bool otp_sink_otlp_rescue(struct otp_sink_otlp *k)
{
    if (k->has_spool && k->queue.first != NULL) {
        disconnect(k);
        shed_all(k);
        publish_counts(k);
    }
    if (k->queue.first != NULL) {
        static const char late[] = "not done within OTELPROF_SHUTDOWN_TIMEOUT";
        otp_sink_otlp_fail(k, "deliver all profiles to", (struct otp_tls_fault){.text = late});
    }
    return k->queue.first == NULL;
}

static void otlp_close(struct otp_sink *s)
{
    struct otp_sink_otlp *k = from(s);
    (void)otp_sink_otlp_rescue(k);
    disconnect(k);
    while (k->queue.first != NULL) {
        drop(k, otp_queue_take_first(&k->queue));
    }
    publish_counts(k);
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
    otp_spool_release(&k->spool);
    k->is_first_spooled = false;
    k->queue = (struct otp_queue){.heap = k->queue.heap};
    k->state = OTP_OTLP_IDLE;
    publish_counts(k);
    s->wake_ns = UINT64_MAX;
}

enum otp_status otp_sink_otlp_init(struct otp_sink_otlp *k,
                                   const struct otp_sink_otlp_options *options)
{
    static const struct otp_sink_ops ops = {
        .put = otlp_put,
        .pump = otlp_pump,
        .describe = otp_sink_otlp_describe,
        .close = otlp_close,
        .abandon = otlp_abandon,
    };
    memset(k, 0, sizeof(*k));
    k->spool.taken = OTP_FD_NONE;
    k->base.ops = &ops;
    k->base.format = options->is_json && !options->is_grpc ? OTP_FORMAT_JSONL : OTP_FORMAT_OTLP;
    k->base.compression = options->compression;
    k->base.wake_ns = UINT64_MAX;
    k->queue.heap = options->heap;
    k->options = *options;
    k->options.backoff_min_ns = options->backoff_min_ns == 0 ? SECOND_NS : options->backoff_min_ns;
    k->options.backoff_max_ns =
        options->backoff_max_ns == 0 ? 60 * SECOND_NS : options->backoff_max_ns;
    otp_buf_init(&k->head, options->heap, HEAD_MAX);
    return otp_sink_otlp_set_up(k);
}
