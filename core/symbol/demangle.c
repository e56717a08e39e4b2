/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/demangle.h"

#include <string.h>

#include <libiberty/demangle.h>

bool otp_demangle(struct otp_text raw, struct otp_buf *out)
{
    (void)raw;
    (void)out;
    return false;
}
