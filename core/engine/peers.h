/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs with somebody at the other end, made of the settings: sockets and OTLP servers. */
#ifndef OTP_ENGINE_PEERS_H
#define OTP_ENGINE_PEERS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/base/text.h"
#include "core/conf/conf.h"
#include "core/export/sink.h"
#include "core/export/sink_otlp.h"
#include "core/export/sink_socket.h"

union otp_peer {
    struct otp_sink base;
    struct otp_sink_socket socket;
    struct otp_sink_otlp otlp;
};

struct otp_peer_setup {
    const struct otp_conf *conf;
    struct otp_text base_path; /* absolute, for relative paths */
    struct otp_text service;   /* to tell spools apart */
    const char *output_name;   /* where a URL of the output comes from, if not OTELPROF_OUTPUT */
    struct otp_heap *heap;
    size_t queue_bytes; /* most that may wait in memory */
    bool wants_receipt; /* sockets: the end waits until the peer has taken all */
};

/* Needs that kind of output a peer? Context: any. */
bool otp_peer_is(enum otp_output_kind kind);
/*
 * Opens the sink for an output that needs a peer. OTP_INVALID, OTP_NO_MEMORY: otp_sink_describe
 * says what is wrong. Context: worker.
 */
OTP_MUST_CHECK enum otp_status otp_peer_open(union otp_peer *p, const struct otp_output *output,
                                             const struct otp_peer_setup *setup);
/* The largest message, before compression, that the output takes in one piece. Context: any. */
size_t otp_peer_request_max(const struct otp_output *output, const struct otp_peer_setup *setup);

#endif
