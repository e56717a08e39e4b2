/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/counters.h"

uint64_t otp_counters[OTP_COUNT_END];

static const char *const names[] = {
#define OTP_COUNTER(name, text, scope) [OTP_COUNT_##name] = text,
#include "core/base/counters.def"
#undef OTP_COUNTER
};

static const unsigned char scopes[] = {
#define OTP_COUNTER(name, text, scope) [OTP_COUNT_##name] = OTP_COUNTER_##scope,
#include "core/base/counters.def"
#undef OTP_COUNTER
};

const char *otp_counter_name(enum otp_counter c)
{
    return names[c];
}

enum otp_counter_scope otp_counter_scope_of(enum otp_counter c)
{
    return (enum otp_counter_scope)scopes[c];
}
