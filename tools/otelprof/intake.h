/* SPDX-License-Identifier: Apache-2.0 */
/* A message that somebody sent: is it a profile, and then into the store with it. */
#ifndef OTP_OTELPROF_INTAKE_H
#define OTP_OTELPROF_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/otelprof/store.h"

#define OTP_INTAKE_UNPACKED_MAX ((size_t)64 << 20) /* bytes that a packed message may become */

enum otp_intake {
    OTP_INTAKE_STORED,
    OTP_INTAKE_EMPTY,     /* no profile in it: nothing to store */
    OTP_INTAKE_MALFORMED, /* it is not what it should be, and never will be */
    OTP_INTAKE_TOO_LARGE,
    OTP_INTAKE_FAILED /* it could not be stored now */
};

enum otp_intake_packing { OTP_INTAKE_PLAIN, OTP_INTAKE_GZIP, OTP_INTAKE_ZSTD };

struct otp_intake_message {
    const uint8_t *bytes; /* one ProfilesData or ExportProfilesServiceRequest: they are the same */
    size_t size;
    bool is_json;
    enum otp_intake_packing packing;
    const char *peer; /* who sent it, for messages */
};

/* why: room of OTP_STORE_PATH bytes for the reason when it is not stored. Tells on stdout what was
 * stored. */
enum otp_intake otp_intake_take(struct otp_store *store, const struct otp_intake_message *m,
                                char *why);

#endif
