/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP/JSON of a finished message: the protobuf bytes are walked along a table of the format's
 * fields, so that one builder serves both encodings. Names in lowerCamelCase, trace, span and
 * profile ids in hex, other bytes in base64, 64-bit numbers as strings; fields that the table does
 * not know are left out.
 */
#ifndef OTP_ENCODE_JSON_H
#define OTP_ENCODE_JSON_H

#include <stdbool.h>

#include "core/base/annot.h"
#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/base/text.h"

/*
 * Appends message (a ProfilesData) as one line of JSON, with a newline. OTP_MALFORMED: it is none,
 * OTP_NO_MEMORY, OTP_TOO_LARGE (max of out); then out is as before. Context: worker.
 */
enum otp_status otp_json_profiles(struct otp_text message, struct otp_buf *out) OTP_MUST_CHECK;

/* Takes what is in the buffer and empties it; false: it cannot, and OTP_IO comes of it. */
typedef bool (*otp_json_drain)(void *arg, struct otp_buf *out);
/* As otp_json_profiles, a megabyte at a time. After a failure some of it has been taken. */
enum otp_status otp_json_profiles_drained(struct otp_text message, struct otp_buf *out,
                                          otp_json_drain drain, void *arg) OTP_MUST_CHECK;

#endif
