/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256. Source: FIPS 180-4, sections 4.1.2, 5.1.1, 5.3.3 and 6.2. Context: any. */
#ifndef OTP_SYMBOL_SHA256_H
#define OTP_SYMBOL_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define OTP_SHA256_SIZE 32

struct otp_sha256 {
    uint32_t state[8];
    uint64_t total; /* bytes */
    unsigned char block[64];
};

void otp_sha256_init(struct otp_sha256 *s);
void otp_sha256_add(struct otp_sha256 *s, const void *data, size_t len);
/* Writes the digest; s must be initialised again before further use. */
void otp_sha256_finish(struct otp_sha256 *s, unsigned char digest[OTP_SHA256_SIZE]);

#endif
