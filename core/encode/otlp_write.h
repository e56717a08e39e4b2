/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the OTLP builder: a plan as bytes. Parts are packed one by one, so that the message
 * itself is the only thing whose size grows with it.
 */
#ifndef OTP_ENCODE_OTLP_WRITE_H
#define OTP_ENCODE_OTLP_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/encode/otlp_plan.h"

struct otp_otlp_frame {
    bool zero_link; /* link table entry 0 as 16 and 8 zero bytes */
    bool keep_ones;
};

/*
 * Appends the ProfilesData. OTP_NO_MEMORY: for the working space; out's own error is in out.
 * Context: worker.
 */
enum otp_status otp_otlp_write(const struct otp_plan *plan, const struct otp_otlp_frame *frame,
                               struct otp_buf *out);

#endif
