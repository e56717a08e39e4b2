/* SPDX-License-Identifier: Apache-2.0 */
#include "core/decode/json.h"
#include "tests/fuzz/translate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_translate(otp_json_decode, data, size);
    return 0;
}
