/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the decoders are, for a program that shows it. Where nobody asks, a look at one variable
 * for each entry of a table, or for megabytes of samples, is all that it costs.
 */
#ifndef OTP_DECODE_METER_H
#define OTP_DECODE_METER_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/annot.h"

/* Gets what is done ("reading"), and bytes: how many of how many. */
typedef void (*otp_meter)(const char *what, uint64_t done, uint64_t all);

/* Who asks; NULL, as it is at first: nobody. To be set while nothing is decoded. */
extern otp_meter otp_meter_show;

/* The bytes that are a file's, so that it is said how far in the file a message is; NULL, NULL: not
 * any more. Context: any. */
void otp_meter_file(const uint8_t *begin, const uint8_t *end);

#define OTP_METER_EVERY 1024U /* calls from one look to the next */

/* As otp_meter_at, for its calls number 0, OTP_METER_EVERY and so on. */
void otp_meter_tell(const char *what, const uint8_t *begin, const uint8_t *at, const uint8_t *end,
                    uint64_t number);

/* Tells how far a loop over [begin, end) is, in its turn of that number. Context: any. */
OTP_INLINE void otp_meter_at(const char *what, const uint8_t *begin, const uint8_t *at,
                             const uint8_t *end, uint64_t number)
{
    if (OTP_UNLIKELY(otp_meter_show != NULL)) {
        otp_meter_tell(what, begin, at, end, number);
    }
}

#endif
