/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of `otelprof receive`: its connections, and what the two protocols share. */
#ifndef OTP_OTELPROF_RECEIVE_H
#define OTP_OTELPROF_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/otelprof/http_request.h"
#include "tools/otelprof/listen.h"
#include "tools/otelprof/store.h"

#define OTP_RECEIVE_CONNECTIONS 1024
#define OTP_RECEIVE_MESSAGE_MAX ((size_t)64 << 20)

enum otp_receive_protocol { OTP_RECEIVE_UNKNOWN, OTP_RECEIVE_FRAMES, OTP_RECEIVE_HTTP };

struct otp_connection {
    int fd; /* -1: free */
    char peer[80];
    enum otp_receive_protocol protocol; /* the first byte tells */
    uint8_t *bytes;                     /* what has arrived of the present message */
    size_t size;
    size_t capacity;
    uint64_t began_ns; /* of the present message; without one: of the silence */
    uint64_t arrived;  /* bytes read since then */

    struct otp_http_request request; /* HTTP: head_len 0: its head is not complete */
    struct otp_http_chunks chunks;
    char out[OTP_HTTP_ANSWER_ROOM]; /* the answer, as far as it is not sent */
    size_t out_len;
    size_t out_sent;
    bool is_ending; /* after the answer nothing more is read but thrown away */
};

struct otp_receiver {
    struct otp_listener listener;
    struct otp_store store;
    struct otp_connection connections[OTP_RECEIVE_CONNECTIONS];
    size_t slots;    /* connections that may be used at once */
    size_t memory;   /* bytes that all connections have taken */
    uint64_t wanted; /* messages to end after, 0: no end */
    int signal_fd;
    bool has_lost; /* something that arrived was not stored */
    bool is_over;
};

/* A line on stderr about a message that is lost. */
void otp_receive_report(struct otp_receiver *r, const struct otp_connection *c, const char *what);
/* Takes n bytes off the begin of what has arrived: the next message begins. */
void otp_receive_consume(struct otp_connection *c, size_t n);

/* Deals with the requests that have arrived; false: drop the connection. */
bool otp_receive_http(struct otp_receiver *r, struct otp_connection *c);
/* Sends what is left of an answer; false: drop the connection. */
bool otp_receive_http_send(struct otp_connection *c);
/* Answers with that status and ends the connection once the answer is out; false: drop it now. */
bool otp_receive_http_end(struct otp_connection *c, unsigned status, const char *reason);

#endif
