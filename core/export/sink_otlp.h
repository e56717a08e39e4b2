/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flushes as OTLP export requests: HTTP with protobuf or JSON, or gRPC, plain or over TLS. One
 * request at a time, a bounded queue behind it, the oldest giving way to the newest.
 *
 * I1 What the server has answered with success or refused for good is never sent again. What it
 *    has not answered, or answered with "later", is sent again whole.
 * I2 Headers of the user, keys and bodies of responses never get into a message; of a response only
 *    a short printable text.
 *
 * Context of everything here: worker.
 */
#ifndef OTP_EXPORT_SINK_OTLP_H
#define OTP_EXPORT_SINK_OTLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/fmt.h"
#include "core/export/backlog.h"
#include "core/export/conn.h"
#include "core/export/grpc.h"
#include "core/export/headers.h"
#include "core/export/http1.h"
#include "core/export/outcome.h"
#include "core/export/sink.h"
#include "core/export/url.h"

#define OTP_OTLP_HTTP_PORT 4318
#define OTP_OTLP_GRPC_PORT 4317

/* What the path of an endpoint means. */
enum otp_endpoint_kind {
    OTP_ENDPOINT_BASE,   /* of all signals: the signal's path is put behind it */
    OTP_ENDPOINT_WHOLE,  /* as it is */
    OTP_ENDPOINT_OUTPUT, /* of an output's URL: the signal's path when it has none of its own */
};

struct otp_sink_otlp_options {
    struct otp_text endpoint; /* URL; for gRPC HOST:PORT will do. Copied, as all texts here */
    enum otp_endpoint_kind kind;
    const char *endpoint_name; /* where it comes from, for messages: a variable; static */
    bool is_grpc;
    bool is_json;     /* not for gRPC */
    bool is_insecure; /* gRPC without a scheme: without TLS */
    enum otp_compression compression;
    struct otp_text headers;  /* as in the environment variable */
    const char *headers_name; /* of that variable, static; may be NULL */
    struct otp_tls_options tls;
    struct otp_text user_agent;
    uint64_t timeout_ns; /* of one attempt; 0: none */
    struct otp_heap *heap;
    size_t queue_bytes;        /* most that may be queued */
    const char *hosts_path;    /* NULL: /etc/hosts */
    const char *resolv_path;   /* NULL: /etc/resolv.conf */
    uint64_t backoff_min_ns;   /* 0: 1 s */
    uint64_t backoff_max_ns;   /* 0: 60 s */
    struct otp_text spool;     /* folder for what cannot be delivered; empty: none. Copied */
    struct otp_text base_path; /* absolute, for a relative one */
    struct otp_text identity;  /* of the service, to tell spools apart */
};

enum otp_otlp_state { OTP_OTLP_IDLE, OTP_OTLP_OPENING, OTP_OTLP_SENDING };

struct otp_sink_otlp {
    struct otp_sink base;
    struct otp_sink_otlp_options options;
    struct otp_url url; /* views of texts */
    char *texts;        /* every text of the options */
    size_t texts_len;
    struct otp_text path;
    struct otp_headers headers;

    enum otp_otlp_state state;
    struct otp_conn conn;
    struct otp_backlog backlog;
    uint64_t limit_ns; /* of the attempt */
    bool is_reused;    /* the connection has carried an exchange before */

    struct otp_buf head; /* HTTP/1 */
    size_t sent;         /* of head and body together */
    struct otp_http1_response response;

    struct otp_grpc *grpc; /* over the connection, or NULL */

    char reason[OTP_OUTCOME_TEXT_MAX + 64]; /* of the last failure; base.error says it when empty */
    uint64_t rejected_profiles;
};

/*
 * Makes a sink on the caller's storage; it connects at the first message. OTP_INVALID: the endpoint
 * makes no sense; OTP_NO_MEMORY. Then only describe, take_note and close may follow.
 */
OTP_MUST_CHECK enum otp_status otp_sink_otlp_init(struct otp_sink_otlp *k,
                                                  const struct otp_sink_otlp_options *options);

#endif
