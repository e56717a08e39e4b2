/* SPDX-License-Identifier: Apache-2.0 */
#include "core/decode/meter.h"

/* A message that was translated is worth telling of when it is so long. */
#define TRANSLATED_MIN (4 << 20)

otp_meter otp_meter_show;

static const uint8_t *file_begin;
static const uint8_t *file_end;

void otp_meter_file(const uint8_t *begin, const uint8_t *end)
{
    file_begin = begin;
    file_end = end;
}

OTP_COLD void otp_meter_tell(const char *what, const uint8_t *begin, const uint8_t *at,
                             const uint8_t *end, uint64_t number)
{
    if (number % OTP_METER_EVERY != 0 || at < begin || at > end) {
        return;
    }
    if (at >= file_begin && at < file_end) {
        begin = file_begin;
        end = file_end;
    } else if (file_begin != NULL) {
        what = "taking in";
        if (end - begin < TRANSLATED_MIN) {
            return;
        }
    }
    otp_meter_show(what, (uint64_t)(at - begin), (uint64_t)(end - begin));
}
