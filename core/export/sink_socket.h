/* SPDX-License-Identifier: Apache-2.0 */
/* Flushes over a plain stream socket, Unix or TCP. Context of everything here: worker. */
#ifndef OTP_EXPORT_SINK_SOCKET_H
#define OTP_EXPORT_SINK_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/export/backlog.h"
#include "core/export/conn.h"
#include "core/export/sink.h"

#define OTP_SOCKET_TARGET_MAX 1024 /* bytes of a target with its NUL */
#define OTP_SOCKET_HEAD_BYTES 4U   /* the length in front of each message */

struct otp_sink_socket_options {
    bool is_unix;              /* else TCP */
    struct otp_text target;    /* PATH, @ABSTRACT or HOST:PORT; copied */
    struct otp_text base_path; /* absolute folder for a relative PATH or spool, or empty */
    enum otp_compression compression;
    struct otp_heap *heap;       /* for the queue */
    size_t queue_bytes;          /* most that may be queued */
    const char *hosts_path;      /* NULL: /etc/hosts */
    const char *resolv_path;     /* NULL: /etc/resolv.conf */
    uint64_t connect_timeout_ns; /* 0: 10 s */
    uint64_t stall_timeout_ns;   /* a peer that takes nothing for so long is given up; 0: 30 s */
    uint64_t backoff_min_ns;     /* pause after a failed attempt, doubled each time; 0: 250 ms */
    uint64_t backoff_max_ns;     /* 0: 30 s */
    struct otp_text spool;       /* folder for what cannot be delivered; empty: none */
    struct otp_text identity;    /* of the service, to tell spools apart */
    bool wants_receipt; /* the end waits for the peer to take what was sent, also without a spool */
};

enum otp_socket_state {
    OTP_SOCKET_IDLE, /* no connection; the next attempt is when the backlog says */
    OTP_SOCKET_CONNECTING,
    OTP_SOCKET_CONNECTED,
};

struct otp_sink_socket {
    struct otp_sink base;
    struct otp_sink_socket_options options;
    char target[OTP_SOCKET_TARGET_MAX];

    enum otp_socket_state state;
    struct otp_conn conn;
    struct otp_backlog backlog;

    bool has_sent;        /* a whole message went out over this connection */
    uint64_t progress_ns; /* the peer took something, or began to be waited for */
    size_t first_sent; /* bytes of the oldest message, its length included, that are on the way */
    struct otp_queue_item *held; /* sent, but perhaps not read: see sink_socket.c */
    uint64_t held_ns;            /* since when */
};

/*
 * A socket sink on the caller's storage; it connects at the first message. Each message goes out as
 * u32 big-endian length and that many bytes. A message cut by a lost connection is sent again
 * whole. OTP_INVALID: the target makes no sense; then only describe and close may follow.
 */
OTP_MUST_CHECK enum otp_status otp_sink_socket_init(struct otp_sink_socket *k,
                                                    const struct otp_sink_socket_options *options);

#endif
