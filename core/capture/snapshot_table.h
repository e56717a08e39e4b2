/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of the table that the hot and the cold half of the snapshot share. */
#ifndef OTP_CAPTURE_SNAPSHOT_TABLE_H
#define OTP_CAPTURE_SNAPSHOT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/capture/object.h"

struct otp_snapshot_entry {
    struct otp_object_range range;
    bool is_permanent; /* there at the start, so never unloaded */
};

struct otp_snapshot {
    size_t bytes;   /* of the mapping */
    uint32_t epoch; /* of unloads, when it was built */
    uint32_t count;
    struct otp_snapshot_entry entries[]; /* by address, not overlapping */
};

extern struct otp_snapshot *otp_snapshot_current;
extern uint32_t otp_snapshot_is_missed; /* somebody has looked for an object in vain */

#endif
