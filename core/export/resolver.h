/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host names to addresses: numeric ones and /etc/hosts at once, then the name servers of
 * /etc/resolv.conf over UDP, and over TCP where an answer has no room in that, as a state machine
 * that never waits by itself. A server that does not answer costs its time-out and no more; nothing
 * is kept between two names.
 */
#ifndef OTP_EXPORT_RESOLVER_H
#define OTP_EXPORT_RESOLVER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/text.h"
#include "core/export/address.h"
#include "core/export/dns.h"
#include "core/export/fd.h"

#define OTP_RESOLVER_SERVERS_MAX 3
#define OTP_RESOLVER_SEARCH_MAX 6

#define OTP_RESOLVER_TCP_MAX 4096 /* bytes of an answer over TCP that are looked at */

struct otp_resolver_conf {
    struct otp_addresses servers; /* at most OTP_RESOLVER_SERVERS_MAX */
    char search[256];             /* domains one after the other, a NUL behind each */
    unsigned search_count;
    unsigned ndots;
    uint64_t timeout_ns; /* of one question */
    unsigned attempts;   /* rounds over all servers */
};

struct otp_resolver {
    struct otp_resolver_conf conf;
    struct otp_text host; /* borrowed */
    uint16_t port;
    char name[OTP_DNS_NAME_MAX + 1]; /* the one that is asked for */
    size_t name_len;
    unsigned candidate; /* which of the names to try: the search list's, the host as it is */
    unsigned tries;     /* questions sent for this name and type */
    bool asks_v6;       /* the second of the two questions of a name */
    bool is_waiting;
    bool over_tcp;
    bool is_sent; /* the question, over TCP: the connection is there */
    struct otp_dns_question question;
    struct otp_fd fd;
    uint64_t limit_ns; /* the answer must be there */
    bool has_failed;   /* a server could not say: the name may exist all the same */
    size_t tcp_len;    /* bytes that have arrived of a length and an answer */
    unsigned char tcp[2 + OTP_RESOLVER_TCP_MAX];
};

/* Reads a resolv.conf; without one the local machine is asked. Context: worker. */
void otp_resolver_read_conf(struct otp_resolver_conf *conf, const char *path);

/*
 * Starts to look for host (borrowed until the end). OTP_OK: all is there at once; OTP_AGAIN: turn
 * until it ends; OTP_INVALID: the host is no name. Context: worker, as all of these.
 */
OTP_MUST_CHECK enum otp_status otp_resolver_start(struct otp_resolver *r, struct otp_text host,
                                                  uint16_t port, const char *hosts_path,
                                                  const char *conf_path, struct otp_addresses *out);
/*
 * Goes on: OTP_AGAIN (wait for otp_resolver_wants at r->fd, at most until r->limit_ns), OTP_OK,
 * OTP_NOT_FOUND, OTP_IO.
 */
enum otp_status otp_resolver_turn(struct otp_resolver *r, struct otp_addresses *out);
/* The event of poll() that it waits for. */
short otp_resolver_wants(const struct otp_resolver *r);
/* Ends it, in any state. */
void otp_resolver_stop(struct otp_resolver *r);

#endif
