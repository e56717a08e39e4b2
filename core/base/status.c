/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/status.h"

#include <stddef.h>

#include "core/base/heap.h"

static const char *const texts[] = {
#define OTP_STATUS(name, text) [OTP_##name] = text,
#include "core/base/status.def"
#undef OTP_STATUS
};

const char *otp_status_text(enum otp_status status)
{
    size_t i = (size_t)status;
    if (status == OTP_NO_MEMORY && otp_heap_was_refused()) {
        return "the system gives no more memory";
    }
    return i < OTP_ARRAY_LEN(texts) ? texts[i] : "unknown status";
}
