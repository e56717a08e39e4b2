/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what a server may send over HTTP/2 while a message is delivered by gRPC. The first
 * byte says whether a second call follows.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/export/conn.h"
#include "core/export/grpc.h"
#include "core/export/headers.h"
#include "core/export/outcome.h"
#include "tests/fuzz/target.h"

#define HEAP_LIMIT ((size_t)16 << 20)
#define TURNS_MAX 1000

static struct otp_heap heap;

/* One call; what the server has to say is all there. */
static bool call(struct otp_grpc *g, struct otp_conn *conn)
{
    struct otp_headers headers = {.count = 0};
    struct otp_grpc_request request = {.authority = otp_text_of("a:1"),
                                       .user_agent = otp_text_of("test"),
                                       .encoding = otp_text_of("gzip"),
                                       .timeout_ns = 1000000000,
                                       .headers = &headers,
                                       .message = otp_text_of("a message")};
    struct otp_tls_fault fault = {0};
    struct otp_outcome outcome;
    enum otp_grpc_step step = OTP_GRPC_MORE;
    if (!otp_grpc_begin(g, &request)) {
        return false;
    }
    for (int i = 0; i < TURNS_MAX && step == OTP_GRPC_MORE; i++) {
        step = otp_grpc_turn(g, conn, &fault);
    }
    require(step != OTP_GRPC_MORE); /* the server's end is seen */
    if (step == OTP_GRPC_DONE) {
        otp_grpc_outcome(g, &outcome);
        require(strlen(outcome.text) < sizeof(outcome.text));
    }
    return step == OTP_GRPC_DONE && !otp_grpc_is_ending(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct otp_conn_options options = {.host = otp_text_of("a"), .port = 1, .heap = &heap};
    struct otp_conn conn;
    int ends[2];
    if (size == 0 || size > (size_t)64 << 10) {
        return 0;
    }
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    ssize_t n = send(ends[1], data + 1, size - 1, MSG_NOSIGNAL);
    require(n == (ssize_t)(size - 1) && shutdown(ends[1], SHUT_WR) == 0);
    otp_heap_init(&heap, HEAP_LIMIT);
    otp_conn_init(&conn, &options);
    require(otp_fd_adopt(&conn.fd, ends[0]) == 0);
    conn.state = OTP_CONN_READY;
    struct otp_grpc *g = otp_grpc_open(&heap);
    require(g != NULL);
    if (call(g, &conn) && (data[0] & 1U) != 0) {
        (void)call(g, &conn);
    }
    otp_grpc_close(g);
    otp_conn_close(&conn);
    (void)close(ends[1]);
    otp_heap_reset(&heap);
    return 0;
}
