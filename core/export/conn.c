/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/conn.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/sys.h"
#include "core/export/stream.h"

#define SECOND_NS UINT64_C(1000000000)
#define NEXT_ADDRESS_NS (3 * SECOND_NS) /* the time of an address when others wait */

void otp_conn_init(struct otp_conn *c, const struct otp_conn_options *options)
{
    memset(c, 0, sizeof(*c));
    c->options = *options;
    c->fd = OTP_FD_NONE;
    c->resolver.fd = OTP_FD_NONE;
    if (c->options.hosts_path == NULL) {
        c->options.hosts_path = "/etc/hosts";
    }
    if (c->options.resolv_path == NULL) {
        c->options.resolv_path = "/etc/resolv.conf";
    }
    if (c->options.connect_timeout_ns == 0) {
        c->options.connect_timeout_ns = 10 * SECOND_NS;
    }
}

void otp_conn_close(struct otp_conn *c)
{
    if (c->state == OTP_CONN_READY) {
        c->address_next = c->addresses.count; /* the next time begins with a new look-up */
    }
    otp_resolver_stop(&c->resolver);
    otp_tls_close(c->tls);
    c->tls = NULL;
    (void)otp_fd_close(&c->fd);
    c->state = OTP_CONN_CLOSED;
}

/*
 * What went on has failed; OTP_AGAIN while there are addresses to try. Of several addresses the one
 * tells the failure that came farthest.
 */
static enum otp_status fail(struct otp_conn *c, const char *step, struct otp_tls_fault fault)
{
    if (c->state >= c->failed_state) {
        c->failed_state = c->state;
        c->failed_step = step;
        c->fault = fault;
    }
    otp_conn_close(c);
    return c->address_next < c->addresses.count ? OTP_AGAIN : OTP_IO;
}

static enum otp_status fail_connect(struct otp_conn *c, int error)
{
    return fail(c, "connect to", (struct otp_tls_fault){.error = error});
}

static enum otp_status resolved(struct otp_conn *c, enum otp_status status)
{
    if (status == OTP_AGAIN) {
        c->state = OTP_CONN_RESOLVING;
        return OTP_AGAIN;
    }
    otp_resolver_stop(&c->resolver);
    c->state = OTP_CONN_CLOSED;
    if (status == OTP_OK) {
        return OTP_OK;
    }
    c->addresses.count = 0;
    struct otp_tls_fault fault = {.error = EADDRNOTAVAIL, .text = "there is no such host"};
    fault.text = status == OTP_IO ? "no name server could answer" : fault.text;
    return fail(c, "find", fault);
}

static enum otp_status start_shaking(struct otp_conn *c)
{
    struct otp_tls_peer peer = {.host = c->options.host, .alpn = c->options.alpn, .fd = &c->fd};
    struct otp_tls_fault fault = {0};
    c->state = OTP_CONN_SHAKING;
    c->tls = otp_tls_open(c->options.heap, &c->options.tls, &peer, &fault);
    if (c->tls == NULL) {
        c->address_next = c->addresses.count; /* no other address would change it */
        return fail(c, "prepare TLS with", fault);
    }
    return OTP_AGAIN;
}

static enum otp_status connected(struct otp_conn *c)
{
    int on = 1;
    /* Messages are written whole; nothing is gained by waiting for more. */
    (void)OTP_SYS5(SYS_setsockopt, c->fd.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (c->options.is_tls) {
        return start_shaking(c);
    }
    c->state = OTP_CONN_READY;
    return OTP_OK;
}

static enum otp_status start_connecting(struct otp_conn *c)
{
    const struct otp_address *a = &c->addresses.items[c->address_next++];
    int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    bool is_last = c->address_next >= c->addresses.count;
    uint64_t patience = c->options.connect_timeout_ns;
    int r = otp_fd_adopt(&c->fd, OTP_SYS3(SYS_socket, a->to.any.sa_family, type, 0));

    patience = is_last || patience < NEXT_ADDRESS_NS ? patience : NEXT_ADDRESS_NS;
    c->state = OTP_CONN_CONNECTING;
    c->limit_ns = otp_sys_monotonic_ns() + patience;
    if (r == 0) {
        r = (int)OTP_SYS3(SYS_connect, c->fd.fd, &a->to, a->len);
    }
    if (r == 0) {
        return connected(c);
    }
    return r == -EINPROGRESS || r == -EINTR ? OTP_AGAIN : fail_connect(c, -r);
}

static enum otp_status finish_connecting(struct otp_conn *c)
{
    if (!otp_fd_is_ours(&c->fd)) {
        return fail_connect(c, EBADF);
    }
    if (!otp_stream_wait(c->fd.fd, POLLOUT, 0)) {
        return otp_sys_monotonic_ns() < c->limit_ns ? OTP_AGAIN : fail_connect(c, ETIMEDOUT);
    }
    int error = otp_stream_take_error(&c->fd);
    return error != 0 ? fail_connect(c, error) : connected(c);
}

static enum otp_status shake(struct otp_conn *c)
{
    struct otp_tls_fault fault = {0};
    int r = otp_tls_handshake(c->tls, &fault);
    if (r == 0) {
        c->state = OTP_CONN_READY;
        return OTP_OK;
    }
    if (r == -EAGAIN) {
        return OTP_AGAIN; /* the request's own time limit ends it */
    }
    return fail(c, "agree on TLS with", fault);
}

static enum otp_status find(struct otp_conn *c)
{
    c->address_next = 0;
    c->addresses.count = 0;
    c->failed_state = OTP_CONN_CLOSED;
    if (c->options.is_unix) {
        c->addresses.count = otp_address_unix(c->options.host, &c->addresses.items[0]) ? 1 : 0;
        return resolved(c, c->addresses.count > 0 ? OTP_OK : OTP_NOT_FOUND);
    }
    return resolved(c, otp_resolver_start(&c->resolver, c->options.host, c->options.port,
                                          c->options.hosts_path, c->options.resolv_path,
                                          &c->addresses));
}

static enum otp_status turn(struct otp_conn *c)
{
    switch (c->state) {
    case OTP_CONN_RESOLVING:
        return resolved(c, otp_resolver_turn(&c->resolver, &c->addresses));
    case OTP_CONN_CONNECTING:
        return finish_connecting(c);
    case OTP_CONN_SHAKING:
        return shake(c);
    case OTP_CONN_READY:
        return OTP_OK;
    case OTP_CONN_CLOSED:
    default:
        return c->address_next < c->addresses.count ? start_connecting(c) : find(c);
    }
}

enum otp_status otp_conn_open(struct otp_conn *c)
{
    for (;;) {
        enum otp_conn_state before = c->state;
        size_t tried = c->address_next;
        enum otp_status status = turn(c);
        bool has_moved = c->state != before || c->address_next != tried;
        if (status == OTP_IO || c->state == OTP_CONN_READY || (status == OTP_AGAIN && !has_moved)) {
            return status;
        }
    }
}

void otp_conn_wait(const struct otp_conn *c, bool for_output, uint64_t until_ns)
{
    uint64_t until = until_ns;
    short events = for_output ? POLLIN | POLLOUT : POLLIN;
    int fd = c->fd.fd;
    switch (c->state) {
    case OTP_CONN_RESOLVING:
        fd = c->resolver.fd.fd;
        events = otp_resolver_wants(&c->resolver);
        until = c->resolver.limit_ns < until ? c->resolver.limit_ns : until;
        break;
    case OTP_CONN_CONNECTING:
        events = POLLOUT;
        until = c->limit_ns < until ? c->limit_ns : until;
        break;
    case OTP_CONN_SHAKING:
        events = otp_tls_wants(c->tls);
        break;
    case OTP_CONN_READY:
    case OTP_CONN_CLOSED:
    default:
        break;
    }
    (void)otp_stream_wait(fd, events, until);
}

long otp_conn_read(struct otp_conn *c, void *buf, size_t len)
{
    if (!otp_fd_is_ours(&c->fd)) {
        return -EBADF;
    }
    if (c->tls != NULL) {
        return otp_tls_read(c->tls, buf, len);
    }
    long n = OTP_SYS6(SYS_recvfrom, c->fd.fd, buf, len, MSG_DONTWAIT, 0, 0);
    return n == -EINTR ? -EAGAIN : n;
}

long otp_conn_write(struct otp_conn *c, const void *buf, size_t len)
{
    if (!otp_fd_is_ours(&c->fd)) {
        return -EBADF;
    }
    if (c->tls != NULL) {
        return otp_tls_write(c->tls, buf, len);
    }
    long n = OTP_SYS6(SYS_sendto, c->fd.fd, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
    return n == -EINTR ? -EAGAIN : n;
}
