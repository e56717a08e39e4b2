/* SPDX-License-Identifier: Apache-2.0 */
#include "core/decode/otep239.h"
#include "tests/fuzz/translate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_translate(otp_otep239_decode, data, size);
    return 0;
}
