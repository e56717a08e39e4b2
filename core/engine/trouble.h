/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the log has said of one thing that goes wrong again and again: a trouble is said when it
 * begins and when it turns into another one, then counted. One that comes and goes is said once in
 * a while, and so are troubles that turn into ever new ones: never more than OTP_TROUBLE_KINDS of
 * them in that time.
 *
 * Context of everything here: any; state without locks, for one caller at a time.
 */
#ifndef OTP_ENGINE_TROUBLE_H
#define OTP_ENGINE_TROUBLE_H

#include <stdbool.h>
#include <stdint.h>

#define OTP_TROUBLE_KINDS 4U
#define OTP_TROUBLE_QUIET_NS UINT64_C(600000000000) /* nothing is said twice within */

struct otp_trouble {
    uint64_t kinds[OTP_TROUBLE_KINDS]; /* that were said; 0: none */
    uint64_t said_ns[OTP_TROUBLE_KINDS];
    uint64_t now;    /* kind of the trouble that goes on; 0: all is well */
    uint64_t count;  /* how often it came since the last word about it */
    bool has_spoken; /* of the trouble that goes on */
};

/*
 * It went wrong in this way (not 0). True: to be said; *out_before is then how often it went wrong
 * without a word before. time_ns is monotonic.
 */
bool otp_trouble_comes(struct otp_trouble *t, uint64_t kind, uint64_t time_ns,
                       uint64_t *out_before);

/* It went well. True: that is to be said; *out_count is how often it had gone wrong. */
bool otp_trouble_ends(struct otp_trouble *t, uint64_t *out_count);

/* A kind that stands for a text and a number; never 0. */
uint64_t otp_trouble_kind(const char *text, uint64_t number);

#endif
