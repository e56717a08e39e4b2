/* SPDX-License-Identifier: Apache-2.0 */
/* Making and ending of one message of the model; for decoders and the set, not for commands. */
#ifndef OTP_DECODE_PROFILES_H
#define OTP_DECODE_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/decode/model.h"

/* Readies the arrays of a zeroed message that may take budget_bytes; false: no memory at all. */
bool otp_profiles_init(struct otp_profiles *m, uint64_t budget_bytes);
/* Frees the arrays. */
void otp_profiles_fini(struct otp_profiles *m);
/* Gives back what the arrays have reserved and not used. */
void otp_profiles_trim(struct otp_profiles *m);

#endif
