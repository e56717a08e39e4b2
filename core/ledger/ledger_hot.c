/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/hotmem.h"
#include "core/base/map.h"
#include "core/ledger/parts.h"

#define CHUNK_BYTES ((size_t)256 << 10) /* at most */
#define CHUNK_BYTES_MIN ((size_t)16 << 10)
#define LIMIT_PART 16U /* for the heads of buckets, and for one chunk half of that */

/* Accounts are cut from chunks; used may run past the end, then the chunk is full. */
struct chunk {
    struct chunk *older;
    uint64_t used;
    unsigned char data[];
};

uint32_t otp_ledger_bucket_mask = OTP_LEDGER_BUCKETS - 1;
static size_t chunk_bytes = CHUNK_BYTES;
static struct otp_account **buckets; /* mapped on first use */
static struct chunk *newest;
static struct otp_account *newest_account; /* head of the list of all */
static uint64_t account_count;
static uint64_t seed; /* grows with each account */

void otp_ledger_set_limit(size_t bytes)
{
    uint32_t count = OTP_LEDGER_BUCKETS;
    while (count > OTP_LEDGER_BUCKETS_MIN && count * sizeof(*buckets) > bytes / LIMIT_PART) {
        count /= 2;
    }
    otp_ledger_bucket_mask = count - 1;
    chunk_bytes = CHUNK_BYTES;
    while (chunk_bytes > CHUNK_BYTES_MIN && chunk_bytes > bytes / LIMIT_PART / 2) {
        chunk_bytes /= 2;
    }
}

struct otp_account **otp_ledger_buckets(struct otp_account ***table)
{
    size_t count = (size_t)otp_ledger_bucket_mask + 1;
    return otp_hotmem_share((otp_hotmem_slot *)table, count * sizeof(**table));
}

void otp_ledger_set_seed(uint64_t value)
{
    otp_store_relaxed(&seed, value);
}

uint32_t otp_ledger_start(uint64_t hash)
{
    uint64_t number = otp_add_relaxed(&seed, 1);
    return (uint32_t)(otp_hash_mix(number, hash) >> (64 - OTP_OBJECTS_SHIFT));
}

void *otp_ledger_cut(size_t bytes)
{
    const size_t room = chunk_bytes - sizeof(struct chunk);
    if (bytes > room) {
        return NULL;
    }
    for (;;) {
        struct chunk *c = otp_load_acquire(&newest); /* pairs: LEDGER-CHUNK */
        if (c != NULL) {
            uint64_t at = otp_add_relaxed(&c->used, bytes);
            if (at + bytes <= room) {
                return c->data + at;
            }
        }
        struct chunk *fresh = otp_hotmem_map(chunk_bytes);
        if (fresh == NULL && c == otp_load_acquire(&newest)) {
            return NULL;
        }
        if (fresh == NULL) {
            continue; /* another thread was faster, and has what is left */
        }
        fresh->older = c;
        if (!otp_cas_acq_rel(&newest, &c, fresh)) { /* pairs: LEDGER-CHUNK */
            otp_hotmem_unmap(fresh, chunk_bytes);
        }
    }
}

/* What an account is for. */
struct key {
    const uint64_t *frames;
    uint32_t depth;
    uint32_t context;
    uint32_t interval;
};

static bool matches(const struct otp_account *a, uint64_t hash, const struct key *k)
{
    return a->hash == hash && a->depth == k->depth && a->context == k->context &&
           a->interval == k->interval &&
           memcmp(a->frames, k->frames, k->depth * sizeof(k->frames[0])) == 0;
}

/* An account is in its bucket a moment before it is in the list of all: the worker may see it a
 * flush later. */
static void list(struct otp_account *a)
{
    a->older = otp_load_relaxed(&newest_account);
    while (!otp_cas_acq_rel(&newest_account, &a->older, a)) { /* pairs: LEDGER-LIST */
    }
    (void)otp_add_relaxed(&account_count, 1);
}

/*
 * Four frames at a time in lanes of their own, so that a multiplication need not wait for the one
 * before: a stack is hashed at every sample. Equality is decided by the frames themselves.
 */
static uint64_t hash_of(const struct key *key)
{
    const uint64_t k = 0x9e3779b97f4a7c15U;
    const uint64_t *frames = key->frames;
    uint32_t depth = key->depth;
    uint64_t lane[4] = {key->context + k, depth, ~k - key->interval, k >> 1};
    uint32_t i = 0;
    for (; i + 4 <= depth; i += 4) {
        for (uint32_t n = 0; n < 4; n++) {
            lane[n] = (lane[n] ^ frames[i + n]) * k;
            lane[n] ^= lane[n] >> 32;
        }
    }
    for (; i < depth; i++) {
        lane[0] = (lane[0] ^ frames[i]) * k;
        lane[0] ^= lane[0] >> 32;
    }
    return otp_hash_mix(otp_hash_mix(lane[0], lane[1]), otp_hash_mix(lane[2], lane[3]));
}

struct otp_account *otp_ledger_account(const uint64_t *frames, uint32_t depth, uint32_t context,
                                       uint32_t interval)
{
    const struct key key = {
        .frames = frames, .depth = depth, .context = context, .interval = interval};
    struct otp_account **table = otp_ledger_buckets(&buckets);
    if (table == NULL) {
        return NULL;
    }
    uint64_t hash = hash_of(&key);
    struct otp_account **head = &table[(uint32_t)hash & otp_ledger_bucket_mask];
    struct otp_account *fresh = NULL;
    struct otp_account *searched_to = NULL;
    for (;;) {
        struct otp_account *first = otp_load_acquire(head); /* pairs: LEDGER-ADD */
        for (struct otp_account *a = first; a != searched_to; a = a->next) {
            if (matches(a, hash, &key)) {
                return a; /* a fresh one made meanwhile is given up: a few hundred bytes, very rare
                           */
            }
        }
        searched_to = first;
        if (fresh == NULL) {
            fresh = otp_ledger_cut(sizeof(*fresh) + depth * sizeof(frames[0]));
            if (fresh == NULL) {
                return NULL;
            }
            fresh->hash = hash;
            fresh->context = context;
            fresh->depth = depth;
            fresh->interval = interval;
            fresh->stack = fresh;
            fresh->tag_number = OTP_LEDGER_NOT_NUMBERED;
            fresh->rounding = otp_ledger_start(hash);
            memcpy(fresh->frames, frames, depth * sizeof(frames[0]));
        }
        fresh->next = first;
        if (otp_cas_acq_rel(head, &first, fresh)) { /* pairs: LEDGER-ADD */
            list(fresh);
            return fresh;
        }
    }
}

uint64_t otp_ledger_round(struct otp_account *a, uint64_t objects)
{
    const uint64_t mask = (UINT64_C(1) << OTP_OBJECTS_SHIFT) - 1;
    uint64_t rest = objects & mask;
    if (rest != 0) {
        uint64_t before = otp_add_relaxed(&a->rounding, (uint32_t)rest) & mask;
        objects += (before + rest > mask) ? mask + 1 : 0;
    }
    return objects >> OTP_OBJECTS_SHIFT;
}

void otp_ledger_add(struct otp_account *a, uint64_t objects, uint64_t bytes)
{
    (void)otp_add_relaxed(&a->alloc_objects, objects);
    (void)otp_add_acq_rel(&a->alloc_bytes, bytes); /* pairs: LEDGER-SUMS */
}

void otp_ledger_told(struct otp_account *a, uint64_t objects, uint64_t bytes)
{
    (void)otp_add_relaxed(&a->told_objects, objects);
    (void)otp_add_relaxed(&a->told_bytes, bytes);
}

void otp_ledger_sub(struct otp_account *a, uint64_t objects, uint64_t bytes)
{
    (void)otp_add_relaxed(&a->freed_objects, objects);
    (void)otp_add_acq_rel(&a->freed_bytes, bytes); /* pairs: LEDGER-SUMS */
}

void otp_ledger_each(void (*visit)(struct otp_account *a, void *arg), void *arg)
{
    struct otp_account *a = otp_load_acquire(&newest_account); /* pairs: LEDGER-LIST */
    for (; a != NULL; a = a->older) {
        visit(a, arg);
    }
}

uint64_t otp_ledger_count(void)
{
    return otp_load_relaxed(&account_count);
}
