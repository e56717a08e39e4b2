/* SPDX-License-Identifier: Apache-2.0 */
/* What otelprof.h calls to start, stop and flush. */
#include "core/api/otelprof.h"

#include "core/base/annot.h"
#include "core/engine/power.h"

OTP_EXPORT int otelprof_v1_start(void)
{
    return otp_power_ask(true);
}

OTP_EXPORT int otelprof_v1_stop(void)
{
    return otp_power_ask(false);
}

OTP_EXPORT int otelprof_v1_flush(void)
{
    return otp_power_ask_flush();
}
