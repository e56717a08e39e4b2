/* SPDX-License-Identifier: Apache-2.0 */
/* From the bytes of a file to messages of a set: what format it is, unpacking, framing, decoding.
 */
#ifndef OTP_DECODE_INPUT_H
#define OTP_DECODE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/decode/model.h"

/* Most bytes of one message, and most that a packed file may unpack to. */
#define OTP_INPUT_MAX ((size_t)1 << 30)

enum otp_input_only { OTP_ONLY_NOTHING, OTP_ONLY_OTLP, OTP_ONLY_JSON };

struct otp_input {
    const char *name; /* for messages; copied */
    uint8_t *bytes;   /* from malloc; adopted, even on failure */
    size_t size;
    /* Anything else (packed bytes, frames, another format) is refused before it is unpacked. */
    enum otp_input_only only;
    bool with_notes;    /* keep what a check wants to know */
    bool with_verify;   /* refuse indices that point nowhere */
    bool is_consumed;   /* nobody wants the bytes of samples again: they are given back when read */
    bool with_original; /* but those of what another format was read from */
};

struct otp_input_fault {
    enum otp_status status;
    uint64_t off;     /* byte of the file where it is */
    bool in_unpacked; /* off counts in the unpacked data */
    char reason[400];
};

/*
 * Adds all messages of one file to set. On failure nothing of the file is in the set and *out_fault
 * says where and why. Context: any (allocates with malloc).
 */
OTP_MUST_CHECK enum otp_status otp_profile_set_add(struct otp_profile_set *set,
                                                   const struct otp_input *in,
                                                   struct otp_input_fault *out_fault);

#endif
