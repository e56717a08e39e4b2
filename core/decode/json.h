/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP/JSON: one message, or one after the other as in JSON Lines. Each becomes the protobuf bytes
 * that say the same. Strict JSON; unknown names are passed over, as OTLP asks of receivers.
 */
#ifndef OTP_DECODE_JSON_H
#define OTP_DECODE_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/decode/emit.h"

/* Objects and arrays inside each other. */
#define OTP_JSON_DEPTH 100U

/*
 * Reads the first JSON value of data, a ProfilesData, into t->out and sets t->used to the bytes it
 * took with the white space behind it. On failure t->fault says what and where. Context: any.
 */
OTP_MUST_CHECK enum otp_status otp_json_decode(const uint8_t *data, size_t len,
                                               struct otp_translation *t);

#endif
