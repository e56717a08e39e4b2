/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One unary gRPC call after the other over HTTP/2 (nghttp2), fed and drained through a connection
 * that the caller owns.
 *
 * I1 Responses are bounded: headers, message, and the bytes of everything else that a server may
 *    send during one call.
 * I2 No server push, no more than one stream.
 *
 * Context of everything here: worker.
 */
#ifndef OTP_EXPORT_GRPC_H
#define OTP_EXPORT_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/export/conn.h"
#include "core/export/headers.h"
#include "core/export/outcome.h"

struct otp_grpc;

struct otp_grpc_request {
    struct otp_text authority;
    bool is_tls;
    struct otp_text user_agent;
    struct otp_text encoding; /* of the message: "gzip", "zstd" or empty */
    uint64_t timeout_ns;      /* told to the server; 0: none */
    const struct otp_headers *headers;
    struct otp_text message; /* borrowed until the call ends */
};

enum otp_grpc_step {
    OTP_GRPC_MORE,   /* goes on when the connection can */
    OTP_GRPC_DONE,   /* the server has answered */
    OTP_GRPC_UNSEEN, /* the server says that it has not looked at the call: send it again at once */
    OTP_GRPC_BROKEN, /* the connection is of no use any more; fault says why */
};

/* A session on a fresh connection; NULL: no memory. */
struct otp_grpc *otp_grpc_open(struct otp_heap *heap);
/* Frees it; NULL is fine. */
void otp_grpc_close(struct otp_grpc *g);
/* Begins a call; false: the session takes no more (then a new connection is needed). */
bool otp_grpc_begin(struct otp_grpc *g, const struct otp_grpc_request *r);
/* Moves bytes as far as the connection lets it. */
enum otp_grpc_step otp_grpc_turn(struct otp_grpc *g, struct otp_conn *c,
                                 struct otp_tls_fault *fault);
/* True when it waits for the connection to take bytes. */
bool otp_grpc_has_output(const struct otp_grpc *g);
/* The verdict after OTP_GRPC_DONE. */
void otp_grpc_outcome(const struct otp_grpc *g, struct otp_outcome *out);
/* True when no other call may follow on this connection. */
bool otp_grpc_is_ending(const struct otp_grpc *g);

#endif
