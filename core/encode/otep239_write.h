/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the OTEP-0239 builder: the groups of one container as bytes. */
#ifndef OTP_ENCODE_OTEP239_WRITE_H
#define OTP_ENCODE_OTEP239_WRITE_H

#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/encode/pprof_plan.h"
#include "core/encode/words.h"

/* What is said beside the profiles. */
struct otp_otep239_frame {
    uint32_t key[OTP_PPROF_KEYS]; /* from otp_words_keys() */
    uint32_t default_type_key;    /* pprof.scope.default_sample_type */
};

/*
 * Appends one ProfileContainer as a field. The plan is of its groups alone. OTP_NO_MEMORY,
 * OTP_FULL: for the working space; out's own error is in out. Context: worker.
 */
enum otp_status otp_otep239_write(const struct otp_pprof_plan *plan,
                                  const struct otp_otep239_frame *frame, struct otp_buf *out);

#endif
