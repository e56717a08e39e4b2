/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the unpacking of gzip and zstd: never more than the limit, whatever is promised inside. */
#include <stdint.h>
#include <stdlib.h>

#include "core/decode/unpack.h"

#define MOST ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct otp_unpacked out;

    if (otp_packing_of(data, size) == OTP_UNPACKED) {
        return 0;
    }
    if (otp_unpack(data, size, MOST, &out) == OTP_OK) {
        if (out.size > MOST) {
            abort();
        }
        free(out.bytes);
    } else if (out.reason == NULL || out.fault_off > size) {
        abort();
    }
    return 0;
}
