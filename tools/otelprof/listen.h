/* SPDX-License-Identifier: Apache-2.0 */
/* A listening socket from an address like unix:/run/x.sock, unix:@name, tcp:[::1]:0. */
#ifndef OTP_OTELPROF_LISTEN_H
#define OTP_OTELPROF_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

#define OTP_LISTEN_TEXT 512

struct otp_listener {
    int fd;                      /* -1: none */
    char path[OTP_LISTEN_TEXT];  /* of a unix socket, to be removed in the end; "" for tcp */
    char shown[OTP_LISTEN_TEXT]; /* the address, with the port that the system chose for 0 */
    char why[OTP_LISTEN_TEXT];   /* on failure */
};

/*
 * Opens a non-blocking listener. A unix socket that nobody listens on is replaced; anything else at
 * its path is left alone. False: *out_listener says why. Context: init.
 */
bool otp_listener_open(struct otp_listener *l, const char *address);
/* Closes it and removes the file of a unix socket. */
void otp_listener_close(struct otp_listener *l);
/* Accepts a non-blocking connection and describes its other end; -1: none is waiting. */
int otp_listener_accept(const struct otp_listener *l, char *out_peer, size_t room);

#endif
