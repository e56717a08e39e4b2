/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/buildid.h"

#include "core/base/fmt.h"
#include "core/symbol/sha256.h"

#define EDGE_BYTES ((uint64_t)4096)
#define STEP_BYTES ((uint64_t)1024)

void otp_build_id_hex(const uint8_t *id, size_t len, char out[OTP_BUILD_ID_HEX_SIZE])
{
    len = len > OTP_ELF_BUILD_ID_MAX ? OTP_ELF_BUILD_ID_MAX : len;
    otp_fmt_hex_bytes(out, id, len);
    out[2 * len] = '\0';
}

static enum otp_status add_part(struct otp_sha256 *s, const struct otp_elf_bytes *bytes,
                                uint64_t off, uint64_t len)
{
    unsigned char step[STEP_BYTES];

    while (len > 0) {
        uint64_t n = len < STEP_BYTES ? len : STEP_BYTES;
        OTP_TRY(otp_elf_read(bytes, off, step, n));
        otp_sha256_add(s, step, n);
        off += n;
        len -= n;
    }
    return OTP_OK;
}

enum otp_status otp_htlhash(const struct otp_elf_bytes *bytes, char out[OTP_HTLHASH_HEX_SIZE])
{
    struct otp_sha256 s;
    unsigned char digest[OTP_SHA256_SIZE];
    uint64_t edge = bytes->len < EDGE_BYTES ? bytes->len : EDGE_BYTES;
    uint64_t len_be = __builtin_bswap64(bytes->len);

    out[0] = '\0';
    otp_sha256_init(&s);
    OTP_TRY(add_part(&s, bytes, 0, edge));
    OTP_TRY(add_part(&s, bytes, bytes->len - edge, edge));
    otp_sha256_add(&s, &len_be, sizeof(len_be));
    otp_sha256_finish(&s, digest);
    otp_fmt_hex_bytes(out, digest, (OTP_HTLHASH_HEX_SIZE - 1) / 2);
    out[OTP_HTLHASH_HEX_SIZE - 1] = '\0';
    return OTP_OK;
}
