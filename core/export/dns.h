/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a name server and its answers, as bytes (RFC 1035, RFC 3596). No sockets here. An
 * answer is believed only when its id and its question are those that were sent.
 */
#ifndef OTP_EXPORT_DNS_H
#define OTP_EXPORT_DNS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"
#include "core/export/address.h"

#define OTP_DNS_MESSAGE_MAX 512 /* over UDP without extensions */
#define OTP_DNS_NAME_MAX 253    /* characters of a name without the last dot */
#define OTP_DNS_TYPE_A 1U
#define OTP_DNS_TYPE_AAAA 28U

enum otp_dns_result {
    OTP_DNS_FOUND,   /* at least one address was added */
    OTP_DNS_NO_DATA, /* the name exists, but has no address of this type */
    OTP_DNS_NO_NAME, /* there is no such name */
    OTP_DNS_FAILED,  /* the server could not or would not say */
    OTP_DNS_CUT,     /* the answer has no room for an address: ask again over TCP */
    OTP_DNS_FOREIGN, /* not an answer to this question: wait on */
};

struct otp_dns_question {
    uint16_t id;
    uint16_t type;
    struct otp_text name; /* without a dot at the end */
};

/* Writes the question; its length, 0 when the name is none. Context: any. */
size_t otp_dns_write(const struct otp_dns_question *q, unsigned char out[OTP_DNS_MESSAGE_MAX]);
/* Reads an answer of any bytes and adds its addresses, with port, to all. Context: any. */
enum otp_dns_result otp_dns_read(const struct otp_dns_question *q, struct otp_text answer,
                                 uint16_t port, struct otp_addresses *all);

#endif
