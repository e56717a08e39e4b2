/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/live.h"

#include <stddef.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/base/annot.h"
#include "core/base/atomic.h"
#include "core/base/hotmem.h"

#define WAYS 8U
#define LEVELS 6U
#define FIRST_BITS 6U /* level 0 has 64 buckets */
#define MORE_BITS 3U  /* each level 8 times as many: a look-up goes through all of them */
#define KEY_EMPTY ((uintptr_t)0)
#define KEY_BUSY ((uintptr_t)1)

struct keys {
    uintptr_t of[WAYS];
} OTP_ALIGNED(64);

struct items {
    struct otp_live of[WAYS];
} OTP_ALIGNED(64);

_Static_assert(sizeof(struct keys) == 64 && sizeof(struct items) == 192,
               "one line of keys, three of values");

/* A level is its keys, all together since most look-ups see nothing else, then its items. */
static struct keys *levels[LEVELS];
static uint32_t level_count;

/* The place of one address in one level. */
struct bucket {
    struct keys *keys;
    struct items *items;
};

static size_t bucket_count(uint32_t idx)
{
    return (size_t)1 << (FIRST_BITS + MORE_BITS * idx);
}

OTP_INLINE struct bucket bucket_of(uint32_t idx, uintptr_t addr)
{
    /* Blocks lie at even steps in several arenas at once: one multiplication leaves heaps of them.
     */
    uint64_t h = (uint64_t)addr * 0x9e3779b97f4a7c15U;
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93U;
    size_t at = h >> (64 - (FIRST_BITS + MORE_BITS * idx));
    struct keys *keys = otp_load_relaxed(&levels[idx]); /* there before it was counted */
    struct items *items = (struct items *)(void *)(keys + bucket_count(idx));
    return (struct bucket){.keys = keys + at, .items = items + at};
}

/*
 * Which of the eight keys equals key, or -1. This is what every free of an unsampled block costs
 * whose address looks like a sampled one, so the line is compared two keys at a time. A key that is
 * there was published long ago (I1), and each half of a vector load is one load of its key.
 */
static int find_key(const struct keys *k, uintptr_t key)
{
#if defined(__SSE2__) && !defined(OTP_SANITIZER)
    const __m128i wanted = _mm_set1_epi64x((long long)key);
    unsigned mask = 0;
    for (unsigned i = 0; i < WAYS; i += 2) {
        __m128i two = _mm_load_si128((const __m128i *)(const void *)&k->of[i]);
        __m128i same = _mm_cmpeq_epi32(two, wanted);
        same = _mm_and_si128(same, _mm_shuffle_epi32(same, 0xb1));
        mask |= (unsigned)_mm_movemask_pd(_mm_castsi128_pd(same)) << i;
    }
    return mask == 0 ? -1 : __builtin_ctz(mask);
#else
    for (unsigned i = 0; i < WAYS; i++) {
        if (otp_load_acquire(&k->of[i]) == key) { /* pairs: LIVE-KEY */
            return (int)i;
        }
    }
    return -1;
#endif
}

static bool put(struct bucket b, uintptr_t addr, const struct otp_live *item)
{
    for (unsigned i = 0; i < WAYS; i++) {
        uintptr_t expected = KEY_EMPTY;
        if (otp_load_relaxed(&b.keys->of[i]) == KEY_EMPTY &&
            otp_cas_acq_rel(&b.keys->of[i], &expected, KEY_BUSY)) {
            b.items->of[i] = *item;
            otp_store_release(&b.keys->of[i], addr); /* pairs: LIVE-KEY */
            return true;
        }
    }
    return false;
}

/* Maps the next level; true when there is one more now than count, made by whomever. */
static bool add_level(uint32_t count)
{
    if (count >= LEVELS) {
        return false;
    }
    size_t bytes = bucket_count(count) * (sizeof(struct keys) + sizeof(struct items));
    if (otp_hotmem_share((otp_hotmem_slot *)&levels[count], bytes) == NULL) {
        return false;
    }
    /* Whoever mapped it may not have come to this line yet: anybody may finish for him. */
    uint32_t expected = count;
    (void)otp_cas_acq_rel(&level_count, &expected, count + 1); /* pairs: LIVE-LEVEL */
    return true;
}

bool otp_live_insert(uintptr_t addr, const struct otp_live *item)
{
    struct otp_live old;
    if (OTP_UNLIKELY(otp_live_remove(addr, &old)) && old.account != NULL) {
        /* Freed by a way that is not interposed, and given out again. */
        otp_ledger_sub(old.account, old.objects, old.bytes);
    }
    uint32_t tried = 0;
    for (;;) {
        uint32_t count = otp_load_acquire(&level_count); /* pairs: LIVE-LEVEL */
        for (; tried < count; tried++) {
            if (put(bucket_of(tried, addr), addr, item)) {
                return true;
            }
        }
        if (!add_level(count)) {
            return false;
        }
    }
}

/* The place of an address, and what stands there; NULL when it is nowhere. */
OTP_INLINE uintptr_t *find(uintptr_t addr, struct otp_live *out_item)
{
    uint32_t count = otp_load_acquire(&level_count); /* pairs: LIVE-LEVEL */
    for (uint32_t n = count; n-- > 0;) {
        struct bucket b = bucket_of(n, addr);
        int i = find_key(b.keys, addr);
        if (i >= 0) {
            *out_item = b.items->of[i];
            return &b.keys->of[i];
        }
    }
    return NULL;
}

bool otp_live_find(uintptr_t addr, struct otp_live *out_item)
{
    return find(addr, out_item) != NULL;
}

bool otp_live_remove(uintptr_t addr, struct otp_live *out_item)
{
    uintptr_t *key = find(addr, out_item);
    if (key == NULL) {
        return false;
    }
    otp_store_release(key, KEY_EMPTY); /* pairs: LIVE-KEY */
    return true;
}

uint64_t otp_live_count(void)
{
    uint64_t sum = 0;
    uint32_t count = otp_load_acquire(&level_count); /* pairs: LIVE-LEVEL */
    for (uint32_t n = 0; n < count; n++) {
        const struct keys *keys = otp_load_relaxed(&levels[n]);
        for (size_t b = 0; b < bucket_count(n); b++) {
            for (unsigned i = 0; i < WAYS; i++) {
                sum += otp_load_relaxed(&keys[b].of[i]) > KEY_BUSY;
            }
        }
    }
    return sum;
}
