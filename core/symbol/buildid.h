/* SPDX-License-Identifier: Apache-2.0 */
/* Identities of executables: the GNU build id as text and the hash "htlhash". */
#ifndef OTP_SYMBOL_BUILDID_H
#define OTP_SYMBOL_BUILDID_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/symbol/elf.h"

#define OTP_BUILD_ID_HEX_SIZE (2 * OTP_ELF_BUILD_ID_MAX + 1) /* with NUL */
#define OTP_HTLHASH_HEX_SIZE 33                              /* with NUL */

/* len bytes (what is over OTP_ELF_BUILD_ID_MAX is cut) as lower-case hex with a NUL. Context: any.
 */
void otp_build_id_hex(const uint8_t *id, size_t len, char out[OTP_BUILD_ID_HEX_SIZE]);
/*
 * htlhash of a file or an image: the first 16 bytes of the SHA-256 of (first 4096 bytes, last 4096
 * bytes, length as big-endian u64), as hex with a NUL; the two parts overlap below 8192 bytes.
 * Source: OpenTelemetry semantic conventions, profile mappings. Context: any. TRUNCATED or IO.
 */
enum otp_status otp_htlhash(const struct otp_elf_bytes *bytes, char out[OTP_HTLHASH_HEX_SIZE]);

#endif
