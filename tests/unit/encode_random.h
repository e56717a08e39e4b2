/* SPDX-License-Identifier: Apache-2.0 */
/* Random visits from a seed, and what a message of such a visit must say. */
#ifndef OTP_UNIT_ENCODE_RANDOM_H
#define OTP_UNIT_ENCODE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/unit/encode_help.h"

struct enc_random {
    uint64_t seed;
    unsigned samples; /* most of them in one profile */
    bool fold;        /* the builder folds counts */
};

/*
 * Tells the visit of r->seed, always the same calls, and stops at the first that fails, whose
 * status it returns. want (may be NULL) gets the lines that enc_dump() must give for it, sorted.
 */
enum otp_status enc_random_tell(const struct enc_random *r, struct otp_visitor *v,
                                struct enc_lines *want);

#endif
