/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash index: finds the number of an item that the caller keeps in an array of his own. The caller
 * gives hash and equality, so that one piece of code interns strings, stacks, attributes and all
 * else.
 */
#ifndef OTP_BASE_MAP_H
#define OTP_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"

#define OTP_MAP_NONE UINT32_MAX

struct otp_map_slot {
    uint32_t hash;
    uint32_t id; /* OTP_MAP_NONE: empty */
};

struct otp_map {
    struct otp_heap *heap;
    struct otp_map_slot *slots;
    uint32_t count;
    uint32_t capacity; /* power of two, or 0 */
};

/* True when the item of number id equals key. */
typedef bool (*otp_map_equal)(const void *ctx, uint32_t id, const void *key);

/* An empty map. Context: any. */
void otp_map_init(struct otp_map *m, struct otp_heap *heap);
/* Frees the slots. */
void otp_map_fini(struct otp_map *m);
/* Forgets all items, keeps the slots. */
void otp_map_clear(struct otp_map *m);
/* Number of the item that equals key, or OTP_MAP_NONE. */
uint32_t otp_map_find(const struct otp_map *m, uint64_t hash, const void *key, otp_map_equal equal,
                      const void *ctx);
/*
 * The slot of the item that equals key; when there is none, an empty slot, which otp_map_fill may
 * then give to the item, before anything else is done with m. NULL: none, and the memory limit.
 */
struct otp_map_slot *otp_map_seek(struct otp_map *m, uint64_t hash, const void *key,
                                  otp_map_equal equal, const void *ctx);
static inline void otp_map_fill(struct otp_map *m, struct otp_map_slot *slot, uint32_t id)
{
    slot->id = id;
    m->count++;
}
/* Begins to load the place of hash from memory, for who will ask for it a little later. */
void otp_map_prefetch(const struct otp_map *m, uint64_t hash);
/* Adds id under hash (the caller has looked for it before); false at the memory limit. */
bool otp_map_add(struct otp_map *m, uint64_t hash, uint32_t id);

/* 64-bit hash of len bytes, 16 of them for each multiplication of 64 by 64 bits. */
uint64_t otp_hash_bytes(const void *data, size_t len, uint64_t seed);
/* Mixes one word into a running hash. */
static inline uint64_t otp_hash_mix(uint64_t h, uint64_t word)
{
    h ^= word;
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdU;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53U;
    h ^= h >> 33;
    return h;
}

#endif
