/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS 1.2 for one connection, over Mbed TLS on our memory, clock, randomness and system calls.
 *
 * I1 Certificates are verified, dates and host name included; there is no way around it.
 * I2 Nothing is read or allocated before a connection asks for it; after the handshake the trusted
 *    certificates and the private key are given back, the key's memory cleared.
 * I3 One thread at a time: the library's allocator has no argument, so the heap is noted here.
 *
 * Context of everything here: worker.
 */
#ifndef OTP_EXPORT_TLS_H
#define OTP_EXPORT_TLS_H

#include <stddef.h>

#include "core/base/heap.h"
#include "core/base/text.h"
#include "core/export/fd.h"

struct otp_tls;

struct otp_tls_options {
    struct otp_text ca_path;  /* PEM file of trusted certificates; empty: the system's */
    struct otp_text key_path; /* the client's private key and certificate, PEM; empty: none */
    struct otp_text cert_path;
};

struct otp_tls_peer {
    struct otp_text host;    /* the name, or numeric address, that its certificate must carry */
    const char *alpn;        /* "h2" or "http/1.1" */
    const struct otp_fd *fd; /* connected, non-blocking; borrowed */
};

/* Why something failed. */
struct otp_tls_fault {
    int error;        /* errno value, or 0 */
    const char *text; /* or NULL: error says it all */
};

/* Gets ready; NULL: fault says why. */
struct otp_tls *otp_tls_open(struct otp_heap *heap, const struct otp_tls_options *options,
                             const struct otp_tls_peer *peer, struct otp_tls_fault *fault);
/* Goes on with the handshake: 0 done, -EAGAIN, otherwise it has failed and fault says why. */
int otp_tls_handshake(struct otp_tls *t, struct otp_tls_fault *fault);
/* Bytes, 0 at the peer's end, -EAGAIN, or -errno. */
long otp_tls_read(struct otp_tls *t, void *buf, size_t len);
long otp_tls_write(struct otp_tls *t, const void *buf, size_t len);
/* POLLIN or POLLOUT: what the last call that said -EAGAIN waits for. */
short otp_tls_wants(const struct otp_tls *t);
/* Frees it, without a word to the peer; NULL is fine. */
void otp_tls_close(struct otp_tls *t);
/* Forgets it in a fork child, whose heap is not there any more. */
void otp_tls_forget(void);

#endif
