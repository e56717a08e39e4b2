/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded unpacking of gzip and zstd, told by their first bytes. */
#ifndef OTP_DECODE_UNPACK_H
#define OTP_DECODE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"

enum otp_packing { OTP_UNPACKED, OTP_GZIP, OTP_ZSTD };

struct otp_unpacked {
    uint8_t *bytes; /* from malloc; the caller's */
    size_t size;
    uint64_t fault_off; /* on failure: where in the packed data */
    const char *reason; /* on failure */
};

/* What the first bytes say. Context: any. */
enum otp_packing otp_packing_of(const uint8_t *data, size_t len);
/*
 * Unpacks all members or frames of data, at most max bytes. On failure *out says where and why and
 * holds no bytes. OTP_TOO_LARGE: it would be more than max.
 */
OTP_MUST_CHECK enum otp_status otp_unpack(const uint8_t *data, size_t len, size_t max,
                                          struct otp_unpacked *out);

#endif
