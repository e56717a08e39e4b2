/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/hotmem.h"

#include <stdbool.h>

#include "core/base/atomic.h"
#include "core/base/sys.h"

static size_t limit_bytes = (size_t)32 << 20;
static size_t used_bytes;

void otp_hotmem_set_limit(size_t bytes)
{
    otp_store_relaxed(&limit_bytes, bytes);
}

size_t otp_hotmem_limit(void)
{
    return otp_load_relaxed(&limit_bytes);
}

void *otp_hotmem_map(size_t bytes)
{
    size_t before = otp_add_relaxed(&used_bytes, bytes);
    if (before + bytes <= otp_load_relaxed(&limit_bytes)) {
        void *p = otp_sys_map(bytes);
        if (p != NULL) {
            return p;
        }
    }
    (void)otp_sub_relaxed(&used_bytes, bytes);
    return NULL;
}

void otp_hotmem_unmap(void *p, size_t bytes)
{
    otp_sys_unmap(p, bytes);
    (void)otp_sub_relaxed(&used_bytes, bytes);
}

void *otp_hotmem_share(otp_hotmem_slot *slot, size_t bytes)
{
    void *there = otp_load_acquire(slot);
    if (there != NULL) {
        return there;
    }
    bool fits = otp_load_relaxed(&used_bytes) + bytes <= otp_load_relaxed(&limit_bytes);
    void *fresh = fits ? otp_sys_map(bytes) : NULL;
    if (fresh == NULL) {
        return otp_load_acquire(slot); /* perhaps what does not fit any more is just this */
    }
    if (!otp_cas_acq_rel(slot, &there, fresh)) {
        otp_sys_unmap(fresh, bytes);
        return there;
    }
    (void)otp_add_relaxed(&used_bytes, bytes);
    return fresh;
}

size_t otp_hotmem_used(void)
{
    return otp_load_relaxed(&used_bytes);
}
