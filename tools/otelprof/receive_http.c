/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP/HTTP on a connection of `otelprof receive`: one request after the other.
 *
 * I1 A request is answered with success only when its message is a file.
 * I2 What cannot be stored now is answered with 503, which clients try again; what never can be,
 *    with a final status.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/annot.h"
#include "core/base/sys.h"
#include "tools/otelprof/intake.h"
#include "tools/otelprof/receive.h"

static bool is_json(const struct otp_connection *c)
{
    return c->request.has_type && c->request.type == OTP_HTTP_JSON;
}

bool otp_receive_http_send(struct otp_connection *c)
{
    while (c->out_sent < c->out_len) {
        ssize_t n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent, MSG_NOSIGNAL);
        if (n < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        c->out_sent += (size_t)n;
    }
    c->out_len = 0;
    c->out_sent = 0;
    /* Closing with bytes unread would reset the connection, and the answer with it. */
    return !c->is_ending || shutdown(c->fd, SHUT_WR) == 0;
}

static bool answer(struct otp_connection *c, unsigned status, const char *reason)
{
    c->out_len = otp_http_answer(c->out, status, is_json(c), reason, c->is_ending);
    c->out_sent = 0;
    return otp_receive_http_send(c);
}

bool otp_receive_http_end(struct otp_connection *c, unsigned status, const char *reason)
{
    c->is_ending = true;
    c->began_ns = otp_sys_monotonic_ns();
    c->arrived = 0;
    c->size = 0;
    return answer(c, status, reason);
}

/* The head is there: is its body wanted? False: it is answered, *keep says what next. */
static bool accept_head(struct otp_connection *c, bool *keep)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    const struct otp_http_request *q = &c->request;

    if (q->status == 0 && q->length > OTP_RECEIVE_MESSAGE_MAX) {
        *keep = otp_receive_http_end(c, 413, "the body is larger than 64 MiB");
        return false;
    }
    if (q->status != 0) {
        *keep = otp_receive_http_end(c, q->status, q->reason);
        return false;
    }
    if (q->expects_continue && !q->is_http_1_0 && c->size == q->head_len) {
        memcpy(c->out, go_on, sizeof(go_on) - 1);
        c->out_len = sizeof(go_on) - 1;
        c->out_sent = 0;
        *keep = otp_receive_http_send(c);
        return *keep;
    }
    return true;
}

/* Is the body complete? *out_len: its bytes; *keep false: drop the connection. */
static bool has_body(struct otp_connection *c, size_t *out_len, bool *keep)
{
    const struct otp_http_request *q = &c->request;
    size_t rest = c->size - q->head_len;

    if (!q->is_chunked) {
        *out_len = (size_t)q->length;
        return rest >= q->length;
    }
    otp_http_read_chunks(&c->chunks, c->bytes + q->head_len, &rest);
    c->size = q->head_len + rest;
    *out_len = c->chunks.body_len;
    if (c->chunks.state == OTP_CHUNK_BAD) {
        *keep = otp_receive_http_end(c, 400, "the chunks make no sense");
    } else if (c->chunks.body_len > OTP_RECEIVE_MESSAGE_MAX) {
        *keep = otp_receive_http_end(c, 413, "the body is larger than 64 MiB");
    }
    return c->chunks.state == OTP_CHUNK_DONE && !c->is_ending;
}

static bool finish(struct otp_receiver *r, struct otp_connection *c, size_t body_len)
{
    static const enum otp_intake_packing packings[] = {OTP_INTAKE_PLAIN, OTP_INTAKE_GZIP,
                                                       OTP_INTAKE_ZSTD, OTP_INTAKE_PLAIN};
    static const unsigned statuses[] = {200, 200, 400, 413, 503};
    char why[OTP_STORE_PATH];
    struct otp_intake_message m = {
        .bytes = c->bytes + c->request.head_len,
        .size = body_len,
        .is_json = is_json(c),
        .packing = packings[c->request.encoding],
        .peer = c->peer,
    };
    enum otp_intake result = otp_intake_take(&r->store, &m, why);
    bool is_good = result == OTP_INTAKE_STORED || result == OTP_INTAKE_EMPTY;

    if (!is_good) {
        otp_receive_report(r, c, why);
    }
    r->is_over = r->wanted > 0 && r->store.count >= r->wanted;
    size_t used = c->request.head_len + body_len;
    if (c->request.wants_close) {
        return otp_receive_http_end(c, statuses[result], is_good ? NULL : why);
    }
    bool keep = answer(c, statuses[result], is_good ? NULL : why);
    memset(&c->request, 0, sizeof(c->request));
    memset(&c->chunks, 0, sizeof(c->chunks));
    otp_receive_consume(c, used);
    return keep;
}

bool otp_receive_http(struct otp_receiver *r, struct otp_connection *c)
{
    bool keep = true;

    /* One answer at a time: a client that does not read them is not read either. */
    while (keep && c->size > 0 && c->out_len == 0 && !c->is_ending && !r->is_over) {
        struct otp_text arrived = otp_text_make((const char *)c->bytes, c->size);
        size_t body_len;
        if (c->request.head_len == 0) {
            if (!otp_http_read_head(&c->request, arrived)) {
                break;
            }
            if (!accept_head(c, &keep)) {
                break;
            }
        }
        if (!has_body(c, &body_len, &keep)) {
            break;
        }
        keep = finish(r, c, body_len);
    }
    return keep;
}
