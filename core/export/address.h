/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Socket addresses from text, without getaddrinfo() and its threads, plugins and locks: numeric
 * ones, localhost, and the names of /etc/hosts.
 */
#ifndef OTP_EXPORT_ADDRESS_H
#define OTP_EXPORT_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "core/base/status.h"
#include "core/base/text.h"

#define OTP_ADDRESSES_MAX 8

struct otp_address {
    socklen_t len;
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
    } to;
};

struct otp_addresses {
    size_t count;
    struct otp_address items[OTP_ADDRESSES_MAX];
};

/* Splits HOST:PORT; brackets around the host are taken off. False when it is not so. Context: any.
 */
bool otp_address_split(struct otp_text text, struct otp_text *out_host, uint16_t *out_port);

/* A numeric IPv4 or IPv6 address (RFC 4291, 2.2; no scope). Context: any. */
bool otp_address_parse(struct otp_text host, uint16_t port, struct otp_address *out);

/*
 * All addresses of a host: itself when it is numeric, the lines of hosts_path with that name, and
 * for localhost the loopback ones. OTP_NOT_FOUND: none. Context: worker.
 */
OTP_MUST_CHECK enum otp_status otp_address_find(struct otp_text host, uint16_t port,
                                                const char *hosts_path, struct otp_addresses *out);

/* The address of a socket file; @ at the start means an abstract name. False: too long. Context:
 * any. */
bool otp_address_unix(struct otp_text path, struct otp_address *out);

#endif
