/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: an object's exception frames, as the handler of a tick reads them. The first two
 * bytes are the place of the header, then the object begins.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/capture/cfi.h"
#include "core/capture/object.h"
#include "tests/fuzz/target.h"

#define LOOKED_AT 32U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 10) {
        return 0;
    }
    size_t len = size - 2;
    /* Exactly as long as it is, so that a sanitizer sees a read behind it. */
    uint8_t *image = malloc(len);
    if (image == NULL) {
        return 0;
    }
    memcpy(image, data + 2, len);
    struct otp_object_range object = {.start = (uintptr_t)image,
                                      .end = (uintptr_t)image + len,
                                      .eh_frame_hdr =
                                          (uintptr_t)image + (data[0] | (size_t)data[1] << 8) % len,
                                      .number = 1};
    for (size_t i = 0; i < LOOKED_AT; i++) {
        struct otp_rule rule = otp_cfi_rule(&object, object.start + len * i / LOOKED_AT);
        if (rule.kind > OTP_RULE_IN_REGISTERS) {
            abort();
        }
    }
    free(image);
    return 0;
}
