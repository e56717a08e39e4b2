/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the profiles that a command line names. */
#ifndef OTP_OTELPROF_LOAD_H
#define OTP_OTELPROF_LOAD_H

#include <stdbool.h>

#include "core/decode/model.h"
#include "tools/otelprof/command.h"

enum otp_load_mode {
    OTP_LOAD_FOLLOW, /* indices are verified: the model's accessors may be used freely */
    OTP_LOAD_ATTACH, /* the same, and what another format was read from stays whole */
    OTP_LOAD_LOOK,   /* anything that decodes */
    OTP_LOAD_CHECK   /* anything that decodes, with notes */
};

/*
 * Adds the file `path` (`-`: standard input) to set. False: a line with file, offset and reason was
 * printed to stderr.
 */
bool otp_load_file(struct otp_profile_set *set, const char *path, enum otp_load_mode mode);
/* The same of an open file, read from where it is; name is for messages. */
bool otp_load_fd(struct otp_profile_set *set, int fd, const char *name, enum otp_load_mode mode);
/*
 * All operands of a command; at least one has to be there, and one profile in them. Else the exit
 * status for it, after a line on stderr. To OTP_LOAD_FOLLOW and _ATTACH, whose result would be
 * wrong without a file, the first one that cannot be read is the end; the others are told all of
 * them, and set has the rest.
 */
int otp_load_operands(struct otp_profile_set *set, const struct otp_args *args,
                      enum otp_load_mode mode);

#endif
