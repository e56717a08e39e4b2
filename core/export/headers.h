/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers that the user adds to each request (OTEL_EXPORTER_OTLP_HEADERS). They hold secrets:
 * never log a value, and clear the memory when it is given back.
 */
#ifndef OTP_EXPORT_HEADERS_H
#define OTP_EXPORT_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/fmt.h"
#include "core/base/heap.h"
#include "core/base/text.h"

#define OTP_HEADERS_MAX 32

struct otp_header {
    struct otp_text name; /* lower case */
    struct otp_text value;
};

struct otp_headers {
    struct otp_header items[OTP_HEADERS_MAX];
    size_t count;
    size_t refused; /* entries that are malformed, reserved or too many */
    struct otp_heap *heap;
    char *store;
    size_t store_len;
};

/*
 * Reads a list of name=value with commas between them, values percent-encoded (W3C Baggage without
 * properties). Entries that cannot be used are counted and left out: so are names that belong to
 * the request itself, as Content-Length. What is wrong with them is put behind what why holds: of
 * the entry itself no more than the name, and nothing where what stands there may be a secret.
 * False: no memory. Context: worker.
 */
bool otp_headers_parse(struct otp_headers *h, struct otp_heap *heap, struct otp_text list,
                       struct otp_line *why);
/* Clears and frees everything. */
void otp_headers_fini(struct otp_headers *h);

#endif
