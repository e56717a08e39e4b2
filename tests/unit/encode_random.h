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
    bool one_type;    /* profiles of one type, so that rows may be told */
    /* Samples without times are told as rows where that is possible: room for those of four
     * profiles, for as long as the builder; and how many profiles were told so. */
    bool rows;
    struct otp_visit_row *row_space;
    size_t *row_profiles;
};

/*
 * Tells the visit of r->seed, always the same calls, and stops at the first that fails, whose
 * status it returns. want (may be NULL) gets the lines that enc_dump() must give for it, sorted.
 */
enum otp_status enc_random_tell(const struct enc_random *r, struct otp_visitor *v,
                                struct enc_lines *want);

#endif
