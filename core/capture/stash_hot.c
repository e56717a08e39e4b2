/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/stash.h"

#include <stdbool.h>
#include <stdint.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"

#define CLASSES 8U
#define MAX_SLOTS 31U
#define PAGE_SHIFT 12U

/* A class takes blocks from its size on, below twice that. glibc's per-thread cache ends at 1032:
 * what is given back after all must not get into it. */
static const size_t class_bytes[CLASSES] = {1040, 1536, 2048, 3072, 4096, 6144, 8192, 12288};
static const uint32_t class_slots[CLASSES] = {31, 21, 16, 10, 8, 5, 4, 2};

struct stash {
    uint32_t full;   /* bit n: slots[n] has a block */
    uint32_t filled; /* bit n: slots[n] is taken by somebody or has a block */
    void *slots[MAX_SLOTS];
};

static struct stash stashes[CLASSES];

/* The smallest class for size; CLASSES: none. */
static unsigned class_for(size_t size)
{
    unsigned c = 0;
    while (c < CLASSES && class_bytes[c] < size) {
        c++;
    }
    return c;
}

size_t otp_stash_size(size_t size)
{
    unsigned c = class_for(size);
    return c < CLASSES ? class_bytes[c] : size;
}

/* Makes the block of one slot the caller's, and the slot too; 0: there is no block. */
static uint32_t claim_full(struct stash *s, uint32_t preferred)
{
    uint32_t full = otp_load_relaxed(&s->full);
    while (full != 0) {
        uint32_t some = (full & preferred) != 0 ? full & preferred : full;
        uint32_t bit = some & -some;
        if (otp_cas_acq_rel(&s->full, &full, full & ~bit)) { /* pairs: STASH-FULL */
            return bit;
        }
    }
    return 0;
}

void *otp_stash_take(size_t size)
{
    unsigned c = class_for(size);
    struct stash *s = &stashes[c < CLASSES ? c : 0];
    uint32_t bit = c < CLASSES ? claim_full(s, UINT32_MAX) : 0;
    if (bit == 0) {
        return NULL;
    }
    void *p = s->slots[__builtin_ctz(bit)];
    (void)otp_and_release(&s->filled, ~bit); /* pairs: STASH-VACANT */
    return p;
}

static bool put_into(struct stash *s, uint32_t slots, void *block)
{
    const uint32_t all = (UINT32_C(1) << slots) - 1;
    uint32_t filled = otp_load_relaxed(&s->filled);
    while ((filled & all) != all) {
        uint32_t bit = ~filled & (filled + 1);
        if (otp_cas_acq_rel(&s->filled, &filled, filled | bit)) { /* pairs: STASH-VACANT */
            s->slots[__builtin_ctz(bit)] = block;
            (void)otp_or_release(&s->full, bit); /* pairs: STASH-FULL */
            return true;
        }
    }
    return false;
}

void *otp_stash_put(void *block, size_t usable)
{
    unsigned c = CLASSES;
    while (c > 0 && class_bytes[c - 1] > usable) {
        c--;
    }
    if (c == 0 || usable >= 2 * class_bytes[c - 1]) {
        return block;
    }
    struct stash *s = &stashes[c - 1];
    uint32_t slots = class_slots[c - 1];
    if (put_into(s, slots, block)) {
        return NULL;
    }
    /* Full: a slot that the address chooses keeps the lower of two. */
    uint32_t bit = claim_full(s, UINT32_MAX << (((uintptr_t)block >> PAGE_SHIFT) % slots));
    if (bit == 0) {
        return block;
    }
    void **slot = &s->slots[__builtin_ctz(bit)];
    if ((uintptr_t)block < (uintptr_t)*slot) {
        void *high = *slot;
        *slot = block;
        block = high;
    }
    (void)otp_or_release(&s->full, bit); /* pairs: STASH-FULL */
    return block;
}
