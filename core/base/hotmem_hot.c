/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/hotmem.h"

#include "core/base/atomic.h"
#include "core/base/sys.h"

static size_t limit_bytes = (size_t)32 << 20;
static size_t used_bytes;

void otp_hotmem_set_limit(size_t bytes)
{
    otp_store_relaxed(&limit_bytes, bytes);
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

size_t otp_hotmem_used(void)
{
    return otp_load_relaxed(&used_bytes);
}
