/* SPDX-License-Identifier: Apache-2.0 */
#include "core/decode/pprof.h"
#include "tests/fuzz/translate.h"
#include "tests/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t samples;
    fuzz_translate(otp_pprof_decode, data, size);
    require(size == 0 || rows_both_ways(data, size, BUDGET, &samples));
    return 0;
}
