/* SPDX-License-Identifier: Apache-2.0 */
#include "core/decode/gperftools.h"
#include "tests/fuzz/translate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_translate(otp_gperftools_decode, data, size);
    return 0;
}
