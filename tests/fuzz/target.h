/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets share. */
#ifndef OTP_TESTS_FUZZ_TARGET_H
#define OTP_TESTS_FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

#endif
