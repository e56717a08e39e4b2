/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/counters.h"

#include <stdbool.h>

uint64_t otp_counters[OTP_OF_END][OTP_COUNT_END];

static const char *const names[] = {
#define OTP_COUNTER(name, text) [OTP_COUNT_##name] = text,
#include "core/base/counters.def"
#undef OTP_COUNTER
};

const char *otp_counter_name(enum otp_counter c)
{
    return names[c];
}

uint64_t otp_counter_sum(enum otp_counter c, enum otp_loss_of of)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < OTP_OF_END; i++) {
        bool is_stated = of == OTP_OF_BOTH || i == (unsigned)of || i == OTP_OF_BOTH;
        sum += is_stated ? otp_load_relaxed(&otp_counters[i][c]) : 0;
    }
    return sum;
}
