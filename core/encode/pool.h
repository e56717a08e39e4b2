/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table in which equal entries have one number. An entry is a head of fixed size and, if the pool
 * has them, a tail of any length (the text of a string, the frames of a stack). Entry 0 is there
 * from the start: all zero, no tail.
 *
 * Heads are compared as bytes: their structs must have no padding.
 */
#ifndef OTP_ENCODE_POOL_H
#define OTP_ENCODE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/annot.h"
#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/base/status.h"

#define OTP_POOL_MAX ((uint32_t)INT32_MAX) /* entries; numbers on the wire are int32 */

/* Memory that is only given back as a whole. */
struct otp_arena {
    struct otp_heap *heap;
    struct otp_arena_block *blocks;
    char *next;
    char *end;
    size_t block_bytes;
};

/* An empty arena. Context: worker. */
void otp_arena_init(struct otp_arena *a, struct otp_heap *heap);
/* Frees everything that came from a. */
void otp_arena_fini(struct otp_arena *a);
/* size bytes, 8-byte aligned, or NULL. */
void *otp_arena_alloc(struct otp_arena *a, size_t size);

struct otp_pool_tail {
    const void *data; /* a NUL that len does not count is behind it */
    size_t len;       /* bytes */
};

struct otp_pool {
    struct otp_heap *heap;
    struct otp_arena *arena; /* where the tails are; NULL: no tails */
    struct otp_map map;
    unsigned char *heads;
    struct otp_pool_tail *tails;
    size_t head_size;
    size_t longest_tail;
    uint32_t count;
    uint32_t capacity;
};

/*
 * A pool with entry 0 in it. arena is borrowed; NULL for a pool without tails. head_size may be 0
 * when there are tails. After OTP_NO_MEMORY otp_pool_fini may be called. Context: worker.
 */
enum otp_status otp_pool_init(struct otp_pool *p, struct otp_heap *heap, struct otp_arena *arena,
                              size_t head_size);
/* Frees the tables. */
void otp_pool_fini(struct otp_pool *p);
/* The number of (head, tail), which is copied when it is new. OTP_NO_MEMORY, OTP_FULL. */
enum otp_status otp_pool_intern(struct otp_pool *p, const void *head, const void *tail,
                                size_t tail_len, uint32_t *out_id);

/* The same in two steps: what hash to intern with, and then some other work, while memory loads. */
uint64_t otp_pool_prefetch(const struct otp_pool *p, const void *head, const void *tail,
                           size_t tail_len);
enum otp_status otp_pool_intern_hashed(struct otp_pool *p, uint64_t hash, const void *head,
                                       const void *tail, size_t tail_len, uint32_t *out_id);

/*
 * Adds an entry of a pool without tails that is known to be new, without an index: it is not found
 * before otp_pool_index() has been called. OTP_NO_MEMORY, OTP_FULL.
 */
enum otp_status otp_pool_append(struct otp_pool *p, const void *head, uint32_t *out_id);
/* Makes all entries known to otp_pool_intern. False: no memory. */
bool otp_pool_index(struct otp_pool *p);

/* The head of entry id, which must exist; moves when the pool grows. Context: worker. */
static inline const void *otp_pool_head(const struct otp_pool *p, uint32_t id)
{
    return p->heads + (size_t)id * p->head_size;
}

/* The tail of entry id, which must exist; stays where it is. Context: worker. */
static inline struct otp_pool_tail otp_pool_tail(const struct otp_pool *p, uint32_t id)
{
    return p->tails[id];
}

#endif
