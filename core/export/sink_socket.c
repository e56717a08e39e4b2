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
 * I3 The queue is bounded in bytes; the oldest gives way to the newest.
 * I4 shutdown() is never called: after a fork the parent uses the same connection.
 */
#include "core/export/sink.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/sys.h"
#include "core/export/stream.h"

#define HEADER_BYTES 4U
#define SECOND_NS 1000000000U
#define LAST_PAUSE_NS 20000000U /* between attempts when the process is about to end */
#define HELD_NS (10ULL * SECOND_NS)
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

/* ---- the queue ---- */

static void release_held(struct otp_sink_socket *k)
{
    otp_queue_free_item(&k->queue, k->held);
    k->held = NULL;
}

/* The peer has the held message: only this ends a row of failures. */
static void confirm_held(struct otp_sink_socket *k)
{
    release_held(k);
    k->failures = 0;
}

static void drop(struct otp_sink_socket *k, struct otp_queue_item *item)
{
    k->base.dropped_messages++;
    k->base.dropped_bytes += item->len - HEADER_BYTES;
    otp_queue_free_item(&k->queue, item);
}

static void publish_counts(struct otp_sink_socket *k)
{
    k->base.queued_messages = k->queue.count;
    k->base.queued_bytes = k->queue.bytes - k->queue.count * HEADER_BYTES;
}

/* ---- the connection ---- */

/* Half of the doubled pause for sure, the other half by chance: many processes must not knock at
 * once. */
static uint64_t pause_ns(const struct otp_sink_socket *k)
{
    uint64_t pause = k->options.backoff_min_ns;
    uint32_t noise;
    for (unsigned i = 1; i < k->failures && pause < k->options.backoff_max_ns; i++) {
        pause *= 2;
    }
    pause = lesser(pause, k->options.backoff_max_ns);
    otp_sys_random(&noise, sizeof(noise));
    return pause / 2 + noise % (pause / 2 + 1);
}

static void disconnect(struct otp_sink_socket *k)
{
    (void)otp_fd_close(&k->fd);
    k->state = OTP_SOCKET_IDLE;
    k->first_sent = 0;
}

/* The attempt or the connection has failed. Other addresses are tried at once, then comes a pause.
 */
static void give_up(struct otp_sink_socket *k, const char *step, int error)
{
    bool was_connecting = k->state == OTP_SOCKET_CONNECTING;
    fail(k, step, error, NULL);
    disconnect(k);
    if (was_connecting && k->address_next < k->addresses.count) {
        k->retry_ns = 0;
        return;
    }
    k->address_next = k->addresses.count;
    k->failures++;
    k->retry_ns = otp_sys_monotonic_ns() + pause_ns(k);
}

/*
 * The connection is gone. Receivers close idle connections: after an orderly close the next attempt
 * needs no pause, when this connection was of any use.
 */
static void lose(struct otp_sink_socket *k, int error, bool is_orderly)
{
    if (!is_orderly && k->held != NULL) {
        otp_queue_prepend(&k->queue, k->held);
        k->held = NULL;
        k->base.sent_messages--;
    }
    release_held(k);
    give_up(k, "send to", error);
    if (is_orderly && k->has_sent) {
        k->failures = 0;
        k->retry_ns = 0;
    }
}

static bool find_addresses(struct otp_sink_socket *k)
{
    struct otp_text target = otp_text_of(k->target);
    struct otp_text host;
    uint16_t port;

    k->address_next = 0;
    k->addresses.count = 0;
    if (k->options.is_unix) {
        k->addresses.count = otp_address_unix(target, &k->addresses.items[0]) ? 1 : 0;
    } else if (otp_address_split(target, &host, &port) &&
               otp_address_find(host, port, k->options.hosts_path, &k->addresses) != OTP_OK) {
        fail(k, "find", EADDRNOTAVAIL,
             "only numeric addresses, localhost and the names of /etc/hosts are known");
    }
    return k->addresses.count > 0;
}

static void set_connected(struct otp_sink_socket *k)
{
    k->state = OTP_SOCKET_CONNECTED;
    k->has_sent = false;
    k->progress_ns = otp_sys_monotonic_ns();
}

static void start_connecting(struct otp_sink_socket *k)
{
    if (k->address_next >= k->addresses.count && !find_addresses(k)) {
        k->failures++;
        k->retry_ns = otp_sys_monotonic_ns() + pause_ns(k);
        return;
    }
    const struct otp_address *a = &k->addresses.items[k->address_next++];
    int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    int r = otp_fd_adopt(&k->fd, OTP_SYS3(SYS_socket, a->to.any.sa_family, type, 0));

    k->state = OTP_SOCKET_CONNECTING;
    k->progress_ns = otp_sys_monotonic_ns();
    if (r == 0) {
        r = (int)OTP_SYS3(SYS_connect, k->fd.fd, &a->to, a->len);
    }
    if (r == 0) {
        set_connected(k);
    } else if (r != -EINPROGRESS && r != -EINTR) {
        give_up(k, "connect to", -r);
    }
}

static bool finish_connecting(struct otp_sink_socket *k, uint64_t deadline_ns)
{
    uint64_t limit_ns = k->progress_ns + k->options.connect_timeout_ns;
    int error;

    if (!otp_fd_is_ours(&k->fd)) {
        give_up(k, "connect to", EBADF);
        return true;
    }
    if (!otp_stream_wait(k->fd.fd, POLLOUT, lesser(deadline_ns, limit_ns))) {
        if (otp_sys_monotonic_ns() < limit_ns) {
            return false;
        }
        give_up(k, "connect to", ETIMEDOUT);
        return true;
    }
    error = otp_stream_take_error(&k->fd);
    if (error != 0) {
        give_up(k, "connect to", error);
        return true;
    }
    set_connected(k);
    return true;
}

/* At the end of the peer's stream: it has taken all that was sent, and nothing went wrong before.
 */
static bool is_orderly_end(const struct otp_sink_socket *k)
{
    return otp_stream_take_error(&k->fd) == 0 && otp_stream_unread_bytes(&k->fd) == 0;
}

/* Between two messages: is the peer still there? What it says is thrown away. */
static bool peer_is_there(struct otp_sink_socket *k)
{
    char input[512];
    for (unsigned i = 0; i < INPUT_READS_MAX; i++) {
        if (!otp_fd_is_ours(&k->fd)) {
            lose(k, EBADF, true); /* what was sent arrives all the same */
            return false;
        }
        long n = OTP_SYS6(SYS_recvfrom, k->fd.fd, input, sizeof(input), MSG_DONTWAIT, 0, 0);
        if (n == 0 || (n < 0 && n != -EAGAIN && n != -EINTR)) {
            lose(k, n == 0 ? EPIPE : (int)-n, n == 0 && is_orderly_end(k));
            return false;
        }
        if (n == -EAGAIN) {
            break;
        }
    }
    return true;
}

/* Unix sockets tell when the peer has read all; of the others it is believed after a while. */
static void check_held(struct otp_sink_socket *k)
{
    bool is_old = otp_sys_monotonic_ns() - k->held_ns >= HELD_NS;
    if (k->held != NULL && (k->options.is_unix || is_old) && otp_stream_unread_bytes(&k->fd) == 0) {
        confirm_held(k);
    }
}

static void finish_first(struct otp_sink_socket *k)
{
    k->held = otp_queue_take_first(&k->queue);
    k->held_ns = k->progress_ns;
    k->first_sent = 0;
    k->has_sent = true;
    k->base.sent_messages++;
    fail(k, NULL, 0, NULL);
}

/* Sends what the kernel takes; true when something went out. */
static bool send_some(struct otp_sink_socket *k)
{
    const struct otp_queue_item *item = k->queue.first;
    long n = OTP_SYS6(SYS_sendto, k->fd.fd, item->bytes + k->first_sent, item->len - k->first_sent,
                      MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
    if (n == -EAGAIN || n == -EINTR) {
        return false;
    }
    if (n <= 0) {
        lose(k, n == 0 ? EIO : (int)-n, false);
        return false;
    }
    if (k->first_sent == 0 && k->held != NULL) {
        confirm_held(k);
    }
    k->first_sent += (size_t)n;
    k->progress_ns = otp_sys_monotonic_ns();
    if (k->first_sent == item->len) {
        finish_first(k);
    }
    return true;
}

static bool turn_connected(struct otp_sink_socket *k, uint64_t deadline_ns)
{
    if (k->first_sent == 0) {
        if (!peer_is_there(k)) {
            return true;
        }
    } else if (!otp_fd_is_ours(&k->fd)) {
        lose(k, EBADF, true); /* what was sent arrives all the same */
        return true;
    }
    if (send_some(k) || k->state != OTP_SOCKET_CONNECTED) {
        return true;
    }
    uint64_t limit_ns = k->progress_ns + k->options.stall_timeout_ns;
    if (otp_stream_wait(k->fd.fd, POLLOUT, lesser(deadline_ns, limit_ns))) {
        return true;
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
        k->retry_ns = lesser(k->retry_ns, now + LAST_PAUSE_NS);
    }
    if (k->retry_ns <= now) {
        start_connecting(k);
        return true;
    }
    if (deadline_ns > now) {
        (void)otp_stream_wait(-1, 0, lesser(k->retry_ns, deadline_ns));
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
        return finish_connecting(k, deadline_ns);
    case OTP_SOCKET_CONNECTED:
    default:
        return turn_connected(k, deadline_ns);
    }
}

static uint64_t next_wake(const struct otp_sink_socket *k)
{
    uint64_t now = otp_sys_monotonic_ns();
    if (k->queue.first != NULL) {
        return k->state == OTP_SOCKET_IDLE ? k->retry_ns : now + BUSY_WAKE_NS;
    }
    return k->held != NULL ? now + HELD_WAKE_NS : UINT64_MAX;
}

static enum otp_status socket_pump(struct otp_sink *s, uint64_t deadline_ns, bool is_last)
{
    struct otp_sink_socket *k = from(s);

    if (k->queue.first == NULL && k->state == OTP_SOCKET_CONNECTED && peer_is_there(k)) {
        check_held(k);
    }
    while (k->queue.first != NULL) {
        bool has_moved = turn(k, deadline_ns, is_last);
        if (!has_moved && otp_sys_monotonic_ns() >= deadline_ns) {
            break;
        }
    }
    publish_counts(k);
    s->wake_ns = next_wake(k);
    return k->queue.first == NULL ? OTP_OK : OTP_AGAIN;
}

/* Makes room for len bytes by dropping the oldest messages; the one under way goes last. */
static void make_room(struct otp_sink_socket *k, size_t len)
{
    size_t most = k->options.queue_bytes;
    struct otp_queue *q = &k->queue;

    if (k->held != NULL && q->bytes + k->held->len + len > most) {
        release_held(k);
    }
    while (q->first != NULL && q->bytes + len > most) {
        if (k->first_sent > 0 && q->first->next != NULL) {
            drop(k, otp_queue_take_second(q));
            continue;
        }
        if (k->first_sent > 0) {
            disconnect(k); /* nothing else may follow a torn message */
        }
        drop(k, otp_queue_take_first(q));
    }
}

static enum otp_status socket_put(struct otp_sink *s, const struct otp_message *m,
                                  uint64_t deadline_ns)
{
    struct otp_sink_socket *k = from(s);
    size_t len = m->len + HEADER_BYTES;

    if (m->len > UINT32_MAX || len > k->options.queue_bytes) {
        fail(k, "send to", EMSGSIZE, NULL);
        return OTP_TOO_LARGE;
    }
    make_room(k, len);
    struct otp_queue_item *item = otp_queue_new_item(&k->queue, len);
    if (item == NULL && k->held != NULL) {
        release_held(k);
        item = otp_queue_new_item(&k->queue, len);
    }
    if (item == NULL) {
        fail(k, "queue for", ENOMEM, NULL);
        publish_counts(k);
        return OTP_NO_MEMORY;
    }
    uint32_t header = __builtin_bswap32((uint32_t)m->len);
    memcpy(item->bytes, &header, HEADER_BYTES);
    memcpy(item->bytes + HEADER_BYTES, m->data, m->len);
    if (k->queue.first == NULL) {
        k->progress_ns = otp_sys_monotonic_ns(); /* the peer's time to take something starts now */
    }
    otp_queue_append(&k->queue, item);
    return socket_pump(s, deadline_ns, false);
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
    while (k->queue.first != NULL) {
        drop(k, otp_queue_take_first(&k->queue));
    }
    publish_counts(k);
    s->wake_ns = UINT64_MAX;
}

static void socket_abandon(struct otp_sink *s)
{
    struct otp_sink_socket *k = from(s);
    disconnect(k);
    k->queue = (struct otp_queue){.heap = k->queue.heap};
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

enum otp_status otp_sink_socket_init(struct otp_sink_socket *k,
                                     const struct otp_sink_socket_options *options)
{
    static const struct otp_sink_ops ops = {
        .put = socket_put,
        .pump = socket_pump,
        .describe = socket_describe,
        .close = socket_close,
        .abandon = socket_abandon,
    };
    struct otp_address address;
    struct otp_text host;
    uint16_t port;

    memset(k, 0, sizeof(*k));
    k->base.ops = &ops;
    k->base.format = OTP_FORMAT_OTLP;
    k->base.compression = options->compression;
    k->base.wake_ns = UINT64_MAX;
    k->fd = OTP_FD_NONE;
    k->queue.heap = options->heap;
    k->options = *options;
    k->options.hosts_path = options->hosts_path == NULL ? "/etc/hosts" : options->hosts_path;
    k->options.connect_timeout_ns = or_default(options->connect_timeout_ns, 10ULL * SECOND_NS);
    k->options.stall_timeout_ns = or_default(options->stall_timeout_ns, 30ULL * SECOND_NS);
    k->options.backoff_min_ns = or_default(options->backoff_min_ns, SECOND_NS / 4);
    k->options.backoff_max_ns = or_default(options->backoff_max_ns, 30ULL * SECOND_NS);
    bool is_good = copy_target(k, options);
    struct otp_text target = otp_text_of(k->target);
    is_good = is_good && (options->is_unix ? otp_address_unix(target, &address)
                                           : otp_address_split(target, &host, &port));
    if (!is_good) {
        fail(k, "use", options->is_unix ? ENAMETOOLONG : EINVAL, NULL);
        return OTP_INVALID;
    }
    return OTP_OK;
}
