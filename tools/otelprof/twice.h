/* SPDX-License-Identifier: Apache-2.0 */
/* Flushes that are in a set more than once: one that was written in two formats, or sent twice. */
#ifndef OTP_OTELPROF_TWICE_H
#define OTP_OTELPROF_TWICE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/decode/model.h"
#include "tools/otelprof/command.h"

/* Two messages that say the same. */
struct otp_twice {
    bool is_found; /* else the rest means nothing */
    size_t first;  /* number of the message that came first */
    size_t second; /* of the first one that says the same again */
    bool by_id;    /* a profile id is in both; else start, length and the total of each type are
                      equal, and the process where it is known */
    size_t more;   /* how many other messages repeat one before them */
};

/* Looks through a verified set, before its samples are given back; the exit status, after a line on
 * stderr when there is no memory. */
int otp_twice_find(const struct otp_profile_set *set, const struct otp_command *command,
                   struct otp_twice *out_twice);
/* Says on stderr, in one line, what is there twice, if anything is; for when all else is done. */
void otp_twice_say(const struct otp_twice *t, const struct otp_profile_set *set,
                   const struct otp_command *command);

#endif
