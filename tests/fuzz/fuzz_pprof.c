/* SPDX-License-Identifier: Apache-2.0 */
#include "core/decode/pprof.h"
#include "tests/fuzz/translate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_translate(otp_pprof_decode, data, size);
    return 0;
}
