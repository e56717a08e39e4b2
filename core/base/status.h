/* SPDX-License-Identifier: Apache-2.0 */
/* The one error enum of cold code. Values and texts come from status.def. */
#ifndef OTP_BASE_STATUS_H
#define OTP_BASE_STATUS_H

#include "core/base/annot.h"

enum otp_status {
#define OTP_STATUS(name, text) OTP_##name,
#include "core/base/status.def"
#undef OTP_STATUS
};

/* The text of a status, for messages. Context: any. */
const char *otp_status_text(enum otp_status status);

/* Passes an error up. */
#define OTP_TRY(expr)                                                                              \
    do {                                                                                           \
        enum otp_status try_status_ = (expr);                                                      \
        if (OTP_UNLIKELY(try_status_ != OTP_OK)) {                                                 \
            return try_status_;                                                                    \
        }                                                                                          \
    } while (0)

#endif
