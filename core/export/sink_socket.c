/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages over a stream socket, as a state machine that the worker turns: idle, connecting,
 * connected. Nothing here waits unless the caller's deadline allows it.
 *
 * I1 Only of the oldest message may bytes be under way. When its connection is lost it starts
 *    again from its first byte: the peer throws the torn one away.
 * I2 The protocol has no receipt. `held` keeps the last message until the next one begins or the
 *    peer has been in order for a while. When the peer is lost before that, and not by an orderly
 *    close after having taken all bytes, the message goes out once more.
 *    By TCP, after a failure, the next message waits until the peer's side has taken the one
 * before. I3 With a spool, a message that is held when the time is up goes there: it may arrive
 * twice, as the same profiles, but it is not lost. I4 shutdown() is never called: after a fork the
 * parent uses the same connection.
 */
#include "core/export/sink_socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/sys.h"
#include "core/export/stream.h"

#define SECOND_NS 1000000000U
#define LAST_PAUSE_NS 20000000U /* between attempts when the process is about to end */
#define LOOK_NS 2000000U        /* between looks whether the peer has taken all */
#define HELD_NS (10ULL * SECOND_NS)
#define AGAIN_NS 100000000U /* a peer that drops connections has done so by then */
#define HELD_WAKE_NS SECOND_NS
#define BUSY_WAKE_NS 50000000U /* a connection that waits for its peer is looked at so often */
#define INPUT_READS_MAX 64U    /* of 512 bytes each, thrown away between two messages */

static struct otp_sink_socket *from(struct otp_sink *s)
{
    return (struct otp_sink_socket *)(void *)s;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void fail(struct otp_sink_socket *k, const char *step, int error, const char *hint)
{
    k->base.failed_step = step;
    k->base.error = error;
    k->base.hint = hint;
}

/* ---- what was sent ---- */

static void release_held(struct otp_sink_socket *k)
{
    otp_backlog_finish(&k->backlog, k->held);
    k->held = NULL;
}

/* The peer has the held message: only this ends a row of failures. */
static void confirm_held(struct otp_sink_socket *k)
{
    release_held(k);
    k->backlog.failures = 0;
    k->backlog.spool_ns = 0;
}

static void put_back_held(struct otp_sink_socket *k)
{
    if (k->held != NULL) {
        otp_backlog_put_back(&k->backlog, k->held);
        k->held = NULL;
        k->base.sent_messages--;
    }
}

static void publish_counts(struct otp_sink_socket *k)
{
    otp_backlog_publish(&k->backlog);
    k->base.unconfirmed_messages = k->held == NULL ? 0 : 1;
    k->base.is_unsure = k->held != NULL && k->backlog.failures > 0;
}

/* ---- the connection ---- */

static void disconnect(struct otp_sink_socket *k)
{
    otp_conn_close(&k->conn);
    k->state = OTP_SOCKET_IDLE;
    k->first_sent = 0;
}

/* The attempt or the connection has failed, at all addresses of the peer. */
static void give_up(struct otp_sink_socket *k, const char *step, int error, const char *hint)
{
    fail(k, step, error, hint);
    disconnect(k);
    otp_backlog_failed(&k->backlog, false, 0);
}

/*
 * The connection is gone. Receivers close idle connections: after an orderly close the next attempt
 * needs no pause, when this connection was of any use.
 */
static void lose(struct otp_sink_socket *k, int error, bool is_orderly)
{
    if (is_orderly && k->has_sent) {
        release_held(k);
        fail(k, "send to", error, NULL);
        disconnect(k);
        k->backlog.failures = 0;
        k->backlog.retry_ns = 0;
        return;
    }
    if (is_orderly) {
        release_held(k);
    } else {
        put_back_held(k);
    }
    give_up(k, "send to", error, NULL);
}

static void set_connected(struct otp_sink_socket *k)
{
    k->state = OTP_SOCKET_CONNECTED;
    k->has_sent = false;
    k->progress_ns = otp_sys_monotonic_ns();
}

static bool turn_connecting(struct otp_sink_socket *k, uint64_t deadline_ns)
{
    enum otp_status status = otp_conn_open(&k->conn);
    if (status == OTP_AGAIN && otp_sys_monotonic_ns() < deadline_ns) {
        otp_conn_wait(&k->conn, false, deadline_ns);
        status = otp_conn_open(&k->conn);
    }
    if (status == OTP_AGAIN) {
        return false;
    }
    if (status == OTP_OK) {
        set_connected(k);
    } else {
        give_up(k, k->conn.failed_step, k->conn.fault.error, k->conn.fault.text);
    }
    return true;
}

/* At the end of the peer's stream: it has taken all that was sent, and nothing went wrong before.
 */
static bool is_orderly_end(const struct otp_sink_socket *k)
{
    return otp_stream_take_error(&k->conn.fd) == 0 && otp_stream_unread_bytes(&k->conn.fd) == 0;
}

/* Between two messages: is the peer still there? What it says is thrown away. */
static bool peer_is_there(struct otp_sink_socket *k)
{
    char input[512];
    for (unsigned i = 0; i < INPUT_READS_MAX; i++) {
        long n = otp_conn_read(&k->conn, input, sizeof(input));
        if (n == -EBADF) {
            lose(k, EBADF, true); /* what was sent arrives all the same */
            return false;
        }
        if (n == -EAGAIN) {
            break;
        }
        if (n <= 0) {
            lose(k, n == 0 ? EPIPE : (int)-n, n == 0 && is_orderly_end(k));
            return false;
        }
    }
    return true;
}

/* Losing the last message matters more than the time to be sure of it; of a peer by TCP that has
 * failed it is not believed that it takes what it is sent. */
static bool is_careful(const struct otp_sink_socket *k)
{
    return k->backlog.has_spool || k->options.wants_receipt ||
           (k->backlog.failures > 0 && !k->options.is_unix);
}

/* Unix sockets tell when the peer has read all; of the others it is believed after a while, or,
 * when it cannot be waited for, as soon as the peer's system has it, and the peer has not dropped
 * the connection soon after, as it may do again. */
static void check_held(struct otp_sink_socket *k, bool is_urgent)
{
    uint64_t age = otp_sys_monotonic_ns() - k->held_ns;
    uint64_t soon = k->backlog.failures > 0 ? AGAIN_NS : 0;
    bool is_old = age >= (is_urgent ? soon : HELD_NS);
    if (k->held != NULL && (k->options.is_unix || is_old) &&
        otp_stream_unread_bytes(&k->conn.fd) == 0) {
        confirm_held(k);
    }
}

static void finish_first(struct otp_sink_socket *k)
{
    k->held = otp_backlog_take(&k->backlog);
    k->held_ns = k->progress_ns;
    k->first_sent = 0;
    k->has_sent = true;
    k->base.sent_messages++;
    fail(k, NULL, 0, NULL);
}

/* One write of the oldest message: of its length, then of its bytes. */
static long send_piece(struct otp_sink_socket *k, const struct otp_queue_item *item)
{
    uint32_t head = __builtin_bswap32((uint32_t)item->len);
    bool is_head = k->first_sent < OTP_SOCKET_HEAD_BYTES;
    const unsigned char *bytes = is_head ? (const unsigned char *)&head + k->first_sent
                                         : item->bytes + (k->first_sent - OTP_SOCKET_HEAD_BYTES);
    size_t len = OTP_SOCKET_HEAD_BYTES + (is_head ? 0 : item->len) - k->first_sent;
    int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (is_head && item->len > 0 ? MSG_MORE : 0);

    if (!otp_fd_is_ours(&k->conn.fd)) {
        return -EBADF;
    }
    long n = OTP_SYS6(SYS_sendto, k->conn.fd.fd, bytes, len, flags, 0, 0);
    return n == -EINTR ? -EAGAIN : n;
}

/* Sends what the kernel takes; true when something went out. */
static bool send_some(struct otp_sink_socket *k)
{
    const struct otp_queue_item *item = k->backlog.queue.first;
    long n = send_piece(k, item);
    if (n == -EAGAIN) {
        return false;
    }
    if (n <= 0) {
        lose(k, n == 0 ? EIO : (int)-n, n == -EBADF); /* what was sent arrives all the same */
        return false;
    }
    if (k->first_sent == 0 && k->held != NULL) {
        confirm_held(k);
    }
    k->first_sent += (size_t)n;
    k->progress_ns = otp_sys_monotonic_ns();
    if (k->first_sent == item->len + OTP_SOCKET_HEAD_BYTES) {
        finish_first(k);
    }
    return true;
}

/* With a spool, or by TCP after a failure, the next message waits until the peer's side has taken
 * the one before. */
static bool may_send(struct otp_sink_socket *k)
{
    if (k->first_sent == 0 && is_careful(k)) {
        check_held(k, true);
        return k->held == NULL;
    }
    return true;
}

/* Waits for the peer to take something, at most until_ns; false: it has not. */
static bool wait_for_room(struct otp_sink_socket *k, uint64_t until_ns)
{
    if (k->first_sent == 0 && k->held != NULL && is_careful(k)) {
        (void)otp_stream_wait(-1, 0, lesser(until_ns, otp_sys_monotonic_ns() + LOOK_NS));
        check_held(k, true);
        return k->held == NULL;
    }
    return otp_stream_wait(k->conn.fd.fd, POLLOUT, until_ns);
}

static bool turn_connected(struct otp_sink_socket *k, uint64_t deadline_ns)
{
    if (k->first_sent == 0 && !peer_is_there(k)) {
        return true;
    }
    if ((may_send(k) && send_some(k)) || k->state != OTP_SOCKET_CONNECTED) {
        return true;
    }
    uint64_t limit_ns = k->progress_ns + k->options.stall_timeout_ns;
    if (wait_for_room(k, lesser(deadline_ns, limit_ns))) {
        if ((may_send(k) && send_some(k)) || k->state != OTP_SOCKET_CONNECTED) {
            return true;
        }
        /* There would be room but for the memory of the kernel: not asked again at once. */
        uint64_t soon_ns = otp_sys_monotonic_ns() + LAST_PAUSE_NS;
        (void)otp_stream_wait(-1, 0, lesser(soon_ns, lesser(deadline_ns, limit_ns)));
    }
    if (otp_sys_monotonic_ns() < limit_ns) {
        return false;
    }
    lose(k, ETIMEDOUT, false);
    return true;
}

static bool turn_idle(struct otp_sink_socket *k, uint64_t deadline_ns, bool is_last)
{
    uint64_t now = otp_sys_monotonic_ns();
    if (is_last) {
        otp_backlog_hurry(&k->backlog, LAST_PAUSE_NS);
    }
    if (k->backlog.retry_ns <= now) {
        k->state = OTP_SOCKET_CONNECTING;
        return true;
    }
    if (deadline_ns > now) {
        (void)otp_stream_wait(-1, 0, lesser(k->backlog.retry_ns, deadline_ns));
    }
    return false;
}

/* True when something has changed, so that another turn may find something to do. */
static bool turn(struct otp_sink_socket *k, uint64_t deadline_ns, bool is_last)
{
    switch (k->state) {
    case OTP_SOCKET_IDLE:
        return turn_idle(k, deadline_ns, is_last);
    case OTP_SOCKET_CONNECTING:
        return turn_connecting(k, deadline_ns);
    case OTP_SOCKET_CONNECTED:
    default:
        return turn_connected(k, deadline_ns);
    }
}

static uint64_t next_wake(const struct otp_sink_socket *k)
{
    uint64_t now = otp_sys_monotonic_ns();
    uint64_t wake = otp_backlog_wake_ns(&k->backlog);
    if (k->backlog.queue.first != NULL && k->state != OTP_SOCKET_IDLE) {
        wake = now + BUSY_WAKE_NS;
    }
    return k->held != NULL ? lesser(wake, now + HELD_WAKE_NS) : wake;
}

/* At the end, where losing the last message matters, or the peer has failed before: gives it time
 * to take the message. */
static void wait_for_peer(struct otp_sink_socket *k, uint64_t deadline_ns)
{
    while ((is_careful(k) || k->backlog.failures > 0) && k->held != NULL &&
           k->backlog.queue.first == NULL && k->state == OTP_SOCKET_CONNECTED && peer_is_there(k)) {
        check_held(k, true);
        uint64_t now = otp_sys_monotonic_ns();
        if (k->held == NULL || now >= deadline_ns) {
            return;
        }
        (void)otp_stream_wait(-1, 0, lesser(deadline_ns, now + LOOK_NS));
    }
}

static enum otp_status socket_pump(struct otp_sink *s, uint64_t deadline_ns, bool is_last)
{
    struct otp_sink_socket *k = from(s);

    if (k->backlog.queue.first == NULL && k->state == OTP_SOCKET_CONNECTED && peer_is_there(k)) {
        check_held(k, false);
    }
    while (is_last ? k->backlog.queue.first != NULL : otp_backlog_has_next(&k->backlog)) {
        bool has_moved = turn(k, deadline_ns, is_last);
        if (!has_moved && otp_sys_monotonic_ns() >= deadline_ns) {
            break;
        }
    }
    if (is_last) {
        wait_for_peer(k, deadline_ns);
    }
    publish_counts(k);
    s->wake_ns = next_wake(k);
    return k->backlog.queue.first == NULL ? OTP_OK : OTP_AGAIN;
}

static void make_room(struct otp_sink_socket *k, size_t len)
{
    if (k->held != NULL && k->backlog.queue.bytes + k->held->len + len > k->options.queue_bytes) {
        release_held(k);
    }
    if (!otp_backlog_make_room(&k->backlog, len, k->first_sent > 0)) {
        disconnect(k); /* nothing else may follow a torn message */
        (void)otp_backlog_make_room(&k->backlog, len, false);
    }
}

static enum otp_status socket_put(struct otp_sink *s, const struct otp_message *m,
                                  uint64_t deadline_ns)
{
    struct otp_sink_socket *k = from(s);

    if (m->len > UINT32_MAX || m->len > k->options.queue_bytes) {
        fail(k, "send to", EMSGSIZE, NULL);
        return OTP_TOO_LARGE;
    }
    make_room(k, m->len);
    bool was_empty = k->backlog.queue.first == NULL;
    bool is_queued = otp_backlog_append(&k->backlog, m);
    if (!is_queued && k->held != NULL) {
        release_held(k);
        is_queued = otp_backlog_append(&k->backlog, m);
    }
    if (!is_queued) {
        fail(k, "queue for", ENOMEM, NULL);
        publish_counts(k);
        return OTP_NO_MEMORY;
    }
    if (was_empty) {
        k->progress_ns = otp_sys_monotonic_ns(); /* the peer's time to take something starts now */
    }
    otp_backlog_settle(&k->backlog, k->state == OTP_SOCKET_IDLE);
    return socket_pump(s, deadline_ns, false);
}

static bool socket_rescue(struct otp_sink *s)
{
    struct otp_sink_socket *k = from(s);
    if (k->backlog.has_spool && (k->held != NULL || k->backlog.queue.first != NULL)) {
        put_back_held(k);
        disconnect(k);
        (void)otp_backlog_rescue(&k->backlog);
        publish_counts(k);
    }
    if ((k->backlog.queue.first != NULL || k->base.is_unsure) && k->base.failed_step == NULL) {
        fail(k, "deliver all profiles to", ETIMEDOUT, NULL);
    }
    return k->backlog.queue.first == NULL;
}

static void socket_describe(const struct otp_sink *s, struct otp_line *line)
{
    const struct otp_sink_socket *k = (const struct otp_sink_socket *)(const void *)s;
    otp_sink_describe_target(s, k->options.is_unix ? "unix:" : "tcp:", otp_text_of(k->target),
                             line);
}

static void socket_close(struct otp_sink *s)
{
    struct otp_sink_socket *k = from(s);
    disconnect(k);
    release_held(k);
    otp_backlog_close(&k->backlog);
    publish_counts(k);
    s->wake_ns = UINT64_MAX;
}

static void socket_abandon(struct otp_sink *s)
{
    struct otp_sink_socket *k = from(s);
    disconnect(k);
    otp_backlog_abandon(&k->backlog);
    k->held = NULL;
    publish_counts(k);
    s->wake_ns = UINT64_MAX;
}

/* BASE/PATH for a relative path of a socket file, else the target as it is. */
static bool copy_target(struct otp_sink_socket *k, const struct otp_sink_socket_options *o)
{
    struct otp_text base = o->base_path;
    bool is_relative =
        o->is_unix && o->target.len > 0 && o->target.data[0] != '/' && o->target.data[0] != '@';
    size_t base_len = is_relative && base.len > 0 ? base.len + 1 : 0;

    if (base_len + o->target.len >= sizeof(k->target)) {
        return false;
    }
    if (base_len > 0) {
        memcpy(k->target, base.data, base.len);
        k->target[base.len] = '/';
    }
    memcpy(k->target + base_len, o->target.data, o->target.len);
    k->target[base_len + o->target.len] = '\0';
    return true;
}

static uint64_t or_default(uint64_t v, uint64_t standard)
{
    return v == 0 ? standard : v;
}

/* The target's parts, for the connection; false: they make no sense. */
static bool set_up_conn(struct otp_sink_socket *k)
{
    struct otp_address address;
    struct otp_conn_options c = {
        .is_unix = k->options.is_unix,
        .host = otp_text_of(k->target),
        .heap = k->options.heap,
        .hosts_path = k->options.hosts_path,
        .resolv_path = k->options.resolv_path,
        .connect_timeout_ns = k->options.connect_timeout_ns,
    };
    bool is_good = c.is_unix ? otp_address_unix(c.host, &address)
                             : otp_address_split(c.host, &c.host, &c.port);
    otp_conn_init(&k->conn, &c);
    return is_good;
}

enum otp_status otp_sink_socket_init(struct otp_sink_socket *k,
                                     const struct otp_sink_socket_options *options)
{
    static const struct otp_sink_ops ops = {
        .put = socket_put,
        .pump = socket_pump,
        .rescue = socket_rescue,
        .describe = socket_describe,
        .close = socket_close,
        .abandon = socket_abandon,
    };
    struct otp_backlog_options b = {
        .heap = options->heap,
        .queue_bytes = options->queue_bytes,
        .backoff_min_ns = or_default(options->backoff_min_ns, SECOND_NS / 4),
        .backoff_max_ns = or_default(options->backoff_max_ns, 30ULL * SECOND_NS),
    };
    memset(k, 0, sizeof(*k));
    k->base.ops = &ops;
    k->base.format = OTP_FORMAT_OTLP;
    k->base.compression = options->compression;
    k->base.wake_ns = UINT64_MAX;
    k->options = *options;
    k->options.stall_timeout_ns = or_default(options->stall_timeout_ns, 30ULL * SECOND_NS);
    otp_backlog_init(&k->backlog, &k->base, &b);
    bool is_copied = copy_target(k, options);
    if (!set_up_conn(k) || !is_copied) {
        fail(k, "use", options->is_unix ? ENAMETOOLONG : EINVAL, NULL);
        return OTP_INVALID;
    }
    struct otp_backlog_spool spool = {
        .folder = options->spool,
        .base_path = options->base_path,
        .service = options->identity,
        .destination = otp_text_of(k->target),
    };
    otp_backlog_open_spool(&k->backlog, &spool);
    return OTP_OK;
}
