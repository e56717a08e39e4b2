/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's connection over TCP, plain or TLS, or to a Unix socket: name look-up, addresses one
 * after the other, handshake, bytes. A state machine that never waits by itself. Context of
 * everything: worker.
 */
#ifndef OTP_EXPORT_CONN_H
#define OTP_EXPORT_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/export/address.h"
#include "core/export/fd.h"
#include "core/export/resolver.h"
#include "core/export/tls.h"

struct otp_conn_options {
    bool is_unix;         /* a Unix socket: host is its path or @name; else TCP */
    struct otp_text host; /* borrowed, as all texts */
    uint16_t port;
    bool is_tls;
    const char *alpn;
    struct otp_tls_options tls;
    struct otp_heap *heap;
    const char *hosts_path;      /* NULL: /etc/hosts */
    const char *resolv_path;     /* NULL: /etc/resolv.conf */
    uint64_t connect_timeout_ns; /* of one address; 0: 10 s */
};

enum otp_conn_state {
    OTP_CONN_CLOSED,
    OTP_CONN_RESOLVING,
    OTP_CONN_CONNECTING,
    OTP_CONN_SHAKING,
    OTP_CONN_READY,
};

struct otp_conn {
    struct otp_conn_options options;
    enum otp_conn_state state;
    struct otp_resolver resolver;
    struct otp_addresses addresses;
    size_t address_next;
    struct otp_fd fd;
    struct otp_tls *tls;
    uint64_t limit_ns;                /* the step that goes on must be done */
    enum otp_conn_state failed_state; /* the farthest that any address came */
    const char *failed_step;          /* of the last failure: a verb */
    struct otp_tls_fault fault;
};

/* A closed connection; options are copied, their texts borrowed. */
void otp_conn_init(struct otp_conn *c, const struct otp_conn_options *options);
/* Goes on opening: OTP_OK it is ready, OTP_AGAIN, OTP_IO all failed (failed_step and fault say). */
enum otp_status otp_conn_open(struct otp_conn *c);
/* Waits until something may go on, or until_ns; for_output: there is more to write. */
void otp_conn_wait(const struct otp_conn *c, bool for_output, uint64_t until_ns);
/* Bytes, 0 at the peer's end, -EAGAIN, or -errno. */
long otp_conn_read(struct otp_conn *c, void *buf, size_t len);
long otp_conn_write(struct otp_conn *c, const void *buf, size_t len);
/* Closes it, in any state. The addresses not tried yet stay for the next time. */
void otp_conn_close(struct otp_conn *c);

#endif
