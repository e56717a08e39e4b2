/* SPDX-License-Identifier: Apache-2.0 */
/* libunwind's memory pools, bound here: no lock, no mapping, nothing that outlives one step. */
#define _GNU_SOURCE /* dl_phdr_info */
#include "core/capture/libunwind_glue.h"

#include "core/base/annot.h"

#define MAX_POOLS 8U
#define DEFAULT_BYTES 1024U

struct pool_size {
    const void *pool;
    size_t bytes;
};

static struct pool_size sizes[MAX_POOLS];

void otp_unw_mempool_init(void *pool, size_t bytes, size_t reserve);
void *otp_unw_mempool_alloc(void *pool);
void otp_unw_mempool_free(void *pool, void *p);

/* Only called by libunwind's initialisation, from otp_unwind_init. */
void otp_unw_mempool_init(void *pool, size_t bytes, size_t reserve)
{
    (void)reserve;
    for (size_t i = 0; i < MAX_POOLS; i++) {
        if (sizes[i].pool == NULL || sizes[i].pool == pool) {
            sizes[i].pool = pool;
            sizes[i].bytes = bytes;
            return;
        }
    }
}

void *otp_unw_mempool_alloc(void *pool)
{
    for (size_t i = 0; i < MAX_POOLS && sizes[i].pool != NULL; i++) {
        if (sizes[i].pool == pool) {
            return otp_unw_pool_alloc(sizes[i].bytes);
        }
    }
    return otp_unw_pool_alloc(DEFAULT_BYTES);
}

void otp_unw_mempool_free(void *pool, void *p)
{
    (void)pool;
    (void)p;
}
