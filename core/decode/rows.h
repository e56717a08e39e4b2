/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that stand beside the message of a translation, so that millions of them need not be
 * written as a message first: a row for each, with a value in each of several columns.
 */
#ifndef OTP_DECODE_ROWS_H
#define OTP_DECODE_ROWS_H

#include <stdint.h>

#include "core/decode/vec.h"

struct otp_row {
    uint32_t stack; /* place in the message's table; so are link and attributes */
    uint32_t link;
    uint32_t first_attr; /* in attrs */
    uint32_t attr_count;
};

struct otp_rows {
    struct otp_vec rows;   /* struct otp_row */
    struct otp_vec values; /* int64_t: width for each row; 0: there is no sample */
    struct otp_vec attrs;  /* uint32_t */
    uint32_t width; /* columns, as many as the message has profiles; 0: no rows are beside it */
    uint32_t first; /* column of profile 0; the others follow in their order */
};

/* Frees the arrays. Context: any. */
static inline void otp_rows_fini(struct otp_rows *r)
{
    otp_vec_fini(&r->rows);
    otp_vec_fini(&r->values);
    otp_vec_fini(&r->attrs);
}

/* The column of a profile, when column `first` is that of profile 0. Context: any. */
static inline uint32_t otp_rows_column(uint32_t profile, uint32_t first)
{
    return profile == 0 ? first : profile <= first ? profile - 1 : profile;
}

#endif
