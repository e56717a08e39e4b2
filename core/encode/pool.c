/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/pool.h"

#include <string.h>

#define BLOCK_FIRST ((size_t)2048)
#define BLOCK_MOST (((size_t)64 << 10) - 64) /* with the heap's own head just below whole pages */

struct otp_arena_block {
    struct otp_arena_block *next;
    size_t unused;
};

void otp_arena_init(struct otp_arena *a, struct otp_heap *heap)
{
    memset(a, 0, sizeof(*a));
    a->heap = heap;
    a->block_bytes = BLOCK_FIRST;
}

void otp_arena_fini(struct otp_arena *a)
{
    struct otp_arena_block *b = a->blocks;
    while (b != NULL) {
        struct otp_arena_block *next = b->next;
        otp_heap_free(a->heap, b);
        b = next;
    }
    otp_arena_init(a, a->heap);
}

static void *add_block(struct otp_arena *a, size_t size)
{
    struct otp_arena_block *b = otp_heap_alloc(a->heap, sizeof(*b) + size);
    if (b == NULL) {
        return NULL;
    }
    b->next = a->blocks;
    a->blocks = b;
    return b + 1;
}

void *otp_arena_alloc(struct otp_arena *a, size_t size)
{
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size = (size + 7) & ~(size_t)7;
    if (size > (size_t)(a->end - a->next)) {
        if (size > BLOCK_MOST / 8) {
            return add_block(a, size); /* the block in use stays in use */
        }
        char *block = add_block(a, a->block_bytes);
        if (block == NULL) {
            return NULL;
        }
        a->next = block;
        a->end = block + a->block_bytes;
        a->block_bytes = a->block_bytes * 2 > BLOCK_MOST ? BLOCK_MOST : a->block_bytes * 2;
        if (size > (size_t)(a->end - a->next)) {
            return add_block(a, size);
        }
    }
    void *p = a->next;
    a->next += size;
    return p;
}

enum otp_status otp_pool_init(struct otp_pool *p, struct otp_heap *heap, struct otp_arena *arena,
                              size_t head_size)
{
    static const uint64_t zero[8];
    uint32_t id;
    memset(p, 0, sizeof(*p));
    p->heap = heap;
    p->arena = arena;
    p->head_size = head_size;
    otp_map_init(&p->map, heap);
    return head_size > sizeof(zero) ? OTP_INVALID : otp_pool_intern(p, zero, "", 0, &id);
}

void otp_pool_fini(struct otp_pool *p)
{
    otp_map_fini(&p->map);
    otp_heap_free(p->heap, p->heads);
    otp_heap_free(p->heap, p->tails);
    p->heads = NULL;
    p->tails = NULL;
    p->count = 0;
    p->capacity = 0;
}

struct key {
    const void *head;
    const void *tail;
    size_t tail_len;
};

static bool equal(const void *ctx, uint32_t id, const void *key)
{
    const struct otp_pool *p = ctx;
    const struct key *k = key;
    if (p->arena != NULL) {
        struct otp_pool_tail t = p->tails[id];
        if (t.len != k->tail_len || memcmp(t.data, k->tail, t.len) != 0) {
            return false;
        }
    }
    return p->head_size == 0 || memcmp(otp_pool_head(p, id), k->head, p->head_size) == 0;
}

static bool grow(struct otp_pool *p)
{
    uint32_t capacity = p->capacity == 0 ? 16 : p->capacity + p->capacity / 2;
    if (p->head_size > 0) {
        unsigned char *heads = otp_heap_realloc(p->heap, p->heads, capacity * p->head_size);
        if (heads == NULL) {
            return false;
        }
        p->heads = heads;
    }
    if (p->arena != NULL) {
        struct otp_pool_tail *tails =
            otp_heap_realloc(p->heap, p->tails, capacity * sizeof(tails[0]));
        if (tails == NULL) {
            return false;
        }
        p->tails = tails;
    }
    p->capacity = capacity;
    return true;
}

static bool add_tail(struct otp_pool *p, const struct key *k)
{
    char *copy = otp_arena_alloc(p->arena, k->tail_len + 1);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, k->tail, k->tail_len);
    copy[k->tail_len] = '\0';
    p->tails[p->count].data = copy;
    p->tails[p->count].len = k->tail_len;
    if (k->tail_len > p->longest_tail) {
        p->longest_tail = k->tail_len;
    }
    return true;
}

static uint64_t hash_of(const struct otp_pool *p, const void *head, const void *tail,
                        size_t tail_len)
{
    uint64_t hash = tail_len == 0 ? 0 : otp_hash_bytes(tail, tail_len, 0);
    return p->head_size > 0 ? otp_hash_bytes(head, p->head_size, hash) : hash;
}

enum otp_status otp_pool_append(struct otp_pool *p, const void *head, uint32_t *out_id)
{
    if (p->count >= OTP_POOL_MAX) {
        return OTP_FULL;
    }
    if (p->count == p->capacity && !grow(p)) {
        return OTP_NO_MEMORY;
    }
    memcpy(p->heads + (size_t)p->count * p->head_size, head, p->head_size);
    *out_id = p->count++;
    return OTP_OK;
}

bool otp_pool_index(struct otp_pool *p)
{
    bool ok = true;
    for (uint32_t id = p->map.count; id < p->count && ok; id++) { /* the others are known */
        ok = otp_map_add(&p->map, hash_of(p, otp_pool_head(p, id), "", 0), id);
    }
    return ok;
}

uint64_t otp_pool_prefetch(const struct otp_pool *p, const void *head, const void *tail,
                           size_t tail_len)
{
    uint64_t hash = hash_of(p, head, tail, tail_len);
    otp_map_prefetch(&p->map, hash);
    return hash;
}

enum otp_status otp_pool_intern(struct otp_pool *p, const void *head, const void *tail,
                                size_t tail_len, uint32_t *out_id)
{
    return otp_pool_intern_hashed(p, hash_of(p, head, tail, tail_len), head, tail, tail_len,
                                  out_id);
}

enum otp_status otp_pool_intern_hashed(struct otp_pool *p, uint64_t hash, const void *head,
                                       const void *tail, size_t tail_len, uint32_t *out_id)
{
    const struct key k = {.head = head, .tail = tail_len == 0 ? "" : tail, .tail_len = tail_len};
    struct otp_map_slot *slot = otp_map_seek(&p->map, hash, &k, equal, p);
    if (slot != NULL && slot->id != OTP_MAP_NONE) {
        *out_id = slot->id;
        return OTP_OK;
    }
    *out_id = 0;
    if (p->count >= OTP_POOL_MAX) {
        return OTP_FULL;
    }
    if (slot == NULL || (p->count == p->capacity && !grow(p)) ||
        (p->arena != NULL && !add_tail(p, &k))) {
        return OTP_NO_MEMORY;
    }
    if (p->head_size > 0) {
        memcpy(p->heads + (size_t)p->count * p->head_size, head, p->head_size);
    }
    otp_map_fill(&p->map, slot, p->count);
    *out_id = p->count++;
    return OTP_OK;
}
