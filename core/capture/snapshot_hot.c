/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/snapshot.h"

#include <stddef.h>

#include "core/base/atomic.h"
#include "core/base/real.h"
#include "core/capture/capture.h"
#include "core/capture/snapshot_table.h"

struct otp_snapshot *otp_snapshot_current;
uint32_t otp_snapshot_is_missed;

bool otp_snapshot_is_needed(void)
{
    return otp_real.find_object == NULL;
}

/* The worker shall look again, soon: it is told by whoever is the first. */
static bool miss(void)
{
    uint32_t no = 0;
    if (otp_load_relaxed(&otp_snapshot_is_missed) == 0 &&
        otp_cas_acq_rel(&otp_snapshot_is_missed, &no, 1)) {
        otp_capture_wake();
    }
    return false;
}

bool otp_snapshot_find(uintptr_t pc, struct otp_object_range *out)
{
    const struct otp_snapshot *s = otp_load_acquire(&otp_snapshot_current); /* pairs: SNAPSHOT */
    uint32_t low = 0;
    uint32_t high = s == NULL ? 0 : s->count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct otp_snapshot_entry *e = &s->entries[mid];
        if (pc >= e->range.end) {
            low = mid + 1;
        } else if (pc < e->range.start) {
            high = mid;
        } else if (!e->is_permanent && s->epoch != otp_load_acquire(&otp_unload_epoch)) {
            return miss();
        } else {
            *out = e->range;
            return true;
        }
    }
    return miss();
}
