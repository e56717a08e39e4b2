/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process a profile is of, in one line of text: for formats that have a place for comments
 * and none for a resource. The line is in docs/FORMATS.md.
 */
#ifndef OTP_BASE_ORIGIN_H
#define OTP_BASE_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/text.h"

enum otp_origin_field {
    OTP_ORIGIN_PID, /* in decimal */
    OTP_ORIGIN_INSTANCE,
    OTP_ORIGIN_HOST,
    OTP_ORIGIN_SCOPE_NAME, /* what wrote it */
    OTP_ORIGIN_SCOPE_VERSION,
    OTP_ORIGIN_FIELDS
};

/* The values, empty where not known; borrowed. */
struct otp_origin {
    struct otp_text field[OTP_ORIGIN_FIELDS];
};

/* The keys of the fields: of attributes of a resource, or of a scope. */
extern const char *const otp_origin_keys[OTP_ORIGIN_FIELDS];

/* Does it name a process? Context: any. */
static inline bool otp_origin_is_known(const struct otp_origin *o)
{
    return o->field[OTP_ORIGIN_PID].len > 0 || o->field[OTP_ORIGIN_INSTANCE].len > 0;
}

/* Appends the line; false: no room in out. Context: any. */
bool otp_origin_write(const struct otp_origin *o, struct otp_buf *out);
/* Is a comment meant as such a line? Context: any. */
bool otp_origin_is_line(struct otp_text comment);
/*
 * Reads a line. Values are put into room, which has as many bytes as the line and outlives out.
 * False: it is none, or says something else than we write. Context: any.
 */
bool otp_origin_read(struct otp_text line, char *room, struct otp_origin *out);

#endif
