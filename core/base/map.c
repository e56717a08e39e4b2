/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/map.h"

#include <string.h>

void otp_map_init(struct otp_map *m, struct otp_heap *heap)
{
    memset(m, 0, sizeof(*m));
    m->heap = heap;
}

void otp_map_fini(struct otp_map *m)
{
    otp_heap_free(m->heap, m->slots);
    otp_map_init(m, m->heap);
}

void otp_map_clear(struct otp_map *m)
{
    if (m->slots != NULL) {
        memset(m->slots, 0xff, (size_t)m->capacity * sizeof(m->slots[0]));
    }
    m->count = 0;
}

/* Home slot and tag are the same 32 bits, so that growing needs no second look at the items. */
static uint32_t fold(uint64_t hash)
{
    return (uint32_t)(hash ^ (hash >> 32));
}

uint32_t otp_map_find(const struct otp_map *m, uint64_t hash, const void *key, otp_map_equal equal,
                      const void *ctx)
{
    if (m->capacity == 0) {
        return OTP_MAP_NONE;
    }
    uint32_t mask = m->capacity - 1;
    uint32_t tag = fold(hash);
    for (uint32_t i = tag & mask;; i = (i + 1) & mask) {
        const struct otp_map_slot *s = &m->slots[i];
        if (s->id == OTP_MAP_NONE) {
            return OTP_MAP_NONE;
        }
        if (s->hash == tag && equal(ctx, s->id, key)) {
            return s->id;
        }
    }
}

static void put(struct otp_map_slot *slots, uint32_t mask, struct otp_map_slot item)
{
    uint32_t i = item.hash & mask;
    while (slots[i].id != OTP_MAP_NONE) {
        i = (i + 1) & mask;
    }
    slots[i] = item;
}

static bool grow(struct otp_map *m)
{
    uint32_t capacity = m->capacity == 0 ? 64 : m->capacity * 2;
    if (capacity == 0) {
        return false;
    }
    struct otp_map_slot *slots = otp_heap_alloc(m->heap, (size_t)capacity * sizeof(slots[0]));
    if (slots == NULL) {
        return false;
    }
    memset(slots, 0xff, (size_t)capacity * sizeof(slots[0]));
    for (uint32_t i = 0; i < m->capacity; i++) {
        if (m->slots[i].id != OTP_MAP_NONE) {
            put(slots, capacity - 1, m->slots[i]);
        }
    }
    otp_heap_free(m->heap, m->slots);
    m->slots = slots;
    m->capacity = capacity;
    return true;
}

void otp_map_prefetch(const struct otp_map *m, uint64_t hash)
{
    if (m->capacity > 0) {
        __builtin_prefetch(&m->slots[fold(hash) & (m->capacity - 1)], 1);
    }
}

struct otp_map_slot *otp_map_seek(struct otp_map *m, uint64_t hash, const void *key,
                                  otp_map_equal equal, const void *ctx)
{
    bool is_full = m->count >= m->capacity / 4 * 3 && !grow(m);
    if (m->capacity == 0) {
        return NULL;
    }
    uint32_t mask = m->capacity - 1;
    uint32_t tag = fold(hash);
    uint32_t i = tag & mask;
    for (; m->slots[i].id != OTP_MAP_NONE; i = (i + 1) & mask) {
        if (m->slots[i].hash == tag && equal(ctx, m->slots[i].id, key)) {
            return &m->slots[i];
        }
    }
    m->slots[i].hash = tag;
    return is_full ? NULL : &m->slots[i];
}

bool otp_map_add(struct otp_map *m, uint64_t hash, uint32_t id)
{
    if (m->count >= m->capacity / 4 * 3 && !grow(m)) {
        return false;
    }
    struct otp_map_slot item = {.hash = fold(hash), .id = id};
    put(m->slots, m->capacity - 1, item);
    m->count++;
    return true;
}

__extension__ typedef unsigned __int128 wide;

/* High and low half of the product, as one word: each bit of both factors counts in it. */
static inline uint64_t fold_product(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t word_at(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    return word;
}

/* The last len < 8 bytes as a word. */
static inline uint64_t rest_at(const unsigned char *p, size_t len)
{
    uint64_t word = 0;
    for (size_t i = 0; i < len; i++) {
        word = word << 8 | p[i];
    }
    return word;
}

uint64_t otp_hash_bytes(const void *data, size_t len, uint64_t seed)
{
    const uint64_t odd[] = {0x9e3779b97f4a7c15U, 0xbf58476d1ce4e5b9U, 0x94d049bb133111ebU};
    const unsigned char *p = data;
    uint64_t h = seed ^ (len * odd[0]);
    for (; len >= 16; p += 16, len -= 16) {
        h = fold_product(word_at(p) ^ odd[1], word_at(p + 8) ^ h ^ odd[2]);
    }
    if (len >= 8) {
        h = fold_product(word_at(p) ^ odd[1], h ^ odd[2]);
        p += 8;
        len -= 8;
    }
    return fold_product(rest_at(p, len) ^ odd[1], h ^ odd[2]);
}
