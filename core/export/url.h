/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an endpoint's URL (RFC 3986, as far as endpoints go). Context of all here: any. */
#ifndef OTP_EXPORT_URL_H
#define OTP_EXPORT_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/text.h"

enum otp_scheme {
    OTP_SCHEME_NONE,
    OTP_SCHEME_HTTP,
    OTP_SCHEME_HTTPS,
    OTP_SCHEME_GRPC,
    OTP_SCHEME_GRPCS
};

struct otp_url {
    enum otp_scheme scheme;
    struct otp_text authority; /* HOST or HOST:PORT as written */
    struct otp_text host;      /* without the brackets of an IPv6 address */
    uint16_t port;             /* 0: none is given */
    struct otp_text path;      /* path and query, from the first slash; may be empty */
};

/*
 * Splits text into views of it. False when there is no host, when the port is none, when a user
 * name or a password is in it (those belong into a header), or when a character may not be there.
 */
bool otp_url_parse(struct otp_text text, struct otp_url *out);

#endif
