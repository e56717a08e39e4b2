/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/origin.h"

#include <string.h>

static void take(const struct otp_attr *a, enum otp_origin_field field, char *pid,
                 struct otp_origin *out)
{
    struct otp_text *to = &out->field[field];
    *to = otp_text_of(NULL);
    if (field != OTP_ORIGIN_PID && a->kind == OTP_ATTR_STRING) {
        *to = a->string;
    } else if (field == OTP_ORIGIN_PID && a->kind == OTP_ATTR_INT && a->number >= 0) {
        *to = otp_text_make(pid, otp_fmt_u64(pid, (uint64_t)a->number));
    }
}

void otp_origin_of(const struct otp_attr *attrs, size_t count, char pid[OTP_FMT_NUMBER_MAX],
                   struct otp_origin *out)
{
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < count; i++) {
        for (size_t f = 0; f <= OTP_ORIGIN_HOST; f++) {
            const char *key = otp_origin_keys[f];
            size_t len = strlen(key);
            if (attrs[i].key.len == len && memcmp(attrs[i].key.data, key, len) == 0) {
                take(&attrs[i], (enum otp_origin_field)f, pid, out);
            }
        }
    }
}
