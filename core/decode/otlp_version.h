/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which version of the messages is this? There is no mark on the wire, and the numbers of Sample
 * moved between 1.9 and 1.10, so the version is told from wire types and from which fields are
 * there.
 */
#ifndef OTP_DECODE_OTLP_VERSION_H
#define OTP_DECODE_OTLP_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/decode/model.h"
#include "core/decode/wire.h"

#define OTP_OTLP_UNCLEAR "samples may be numbered as in proto 1.9 or as in 1.10: it does not show"

struct otp_otlp_version {
    enum otp_wire_version version;
    bool is_doubtful; /* read as 1.10, but 1.9 fits the wire as well: see otp_otlp_version_fits */
    bool is_old;      /* of 1.4 to 1.7, so that otp_old_otlp_decode can read it */
    struct otp_wire_fault fault; /* with a reason: it must not be read as 1.8 or later */
};

/* Looks at a ProfilesData. Faults inside are left to the decoder. Context: any. */
void otp_otlp_version_find(const void *data, size_t len, struct otp_otlp_version *out_version);
/*
 * Is what was decoded as 1.10 after a doubtful finding plausible? In 1.9 the attributes of samples
 * would be values, so they must name existing attributes of samples, each once.
 */
bool otp_otlp_version_fits(const struct otp_profiles *m);

#endif
