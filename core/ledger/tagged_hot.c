/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/map.h"
#include "core/ledger/parts.h"

struct otp_account **otp_ledger_tag_buckets;
struct otp_account *otp_ledger_newest_tagged;
struct otp_account *otp_ledger_free_cells[OTP_LEDGER_CLASSES];
size_t otp_ledger_tag_bytes;

static size_t limit_bytes;
static size_t cut_bytes; /* taken from the ledger's memory so far */
static uint32_t is_collection_wanted;

void otp_ledger_set_tag_limit(size_t bytes)
{
    otp_store_relaxed(&limit_bytes, bytes);
}

size_t otp_ledger_tagged_bytes(void)
{
    return otp_load_relaxed(&otp_ledger_tag_bytes);
}

bool otp_ledger_wants_collection(void)
{
    return otp_load_relaxed(&is_collection_wanted) != 0 &&
           otp_exchange_acq_rel(&is_collection_wanted, 0) != 0;
}

/*
 * What was given back comes first. A cell that is free is pushed by the worker alone, and only
 * after every thread that may have seen it as the head was outside capture (I5): so while this
 * thread is inside, a head that has left the list cannot come back.
 */
static struct otp_account *take_cell(size_t class)
{
    struct otp_account *a =
        otp_load_acquire(&otp_ledger_free_cells[class]); /* pairs: LEDGER-CELL */
    while (a != NULL &&
           !otp_cas_acq_rel(&otp_ledger_free_cells[class], &a, otp_load_relaxed(&a->next))) {
    }
    if (a != NULL) {
        memset(a, 0, sizeof(*a));
        return a;
    }
    size_t bytes = class * OTP_LEDGER_CELL;
    size_t before = otp_add_relaxed(&cut_bytes, bytes);
    a = before + bytes <= otp_load_relaxed(&limit_bytes) ? otp_ledger_cut(bytes) : NULL;
    if (a == NULL) {
        (void)otp_sub_relaxed(&cut_bytes, bytes);
    }
    return a;
}

static struct otp_account *make(struct otp_account *stack, const struct otp_tag *tag, size_t len,
                                uint64_t hash)
{
    size_t class = otp_ledger_class(len);
    struct otp_account *a = take_cell(class);
    if (a == NULL) {
        (void)otp_exchange_acq_rel(&is_collection_wanted, 1);
        return NULL;
    }
    size_t bytes = class * OTP_LEDGER_CELL;
    size_t before = otp_add_relaxed(&otp_ledger_tag_bytes, bytes);
    size_t half = otp_load_relaxed(&limit_bytes) / 2;
    if (before < half && before + bytes >= half) {
        otp_store_relaxed(&is_collection_wanted, 1);
    }
    a->hash = hash;
    a->context = stack->context;
    a->interval = stack->interval;
    a->stack = stack;
    a->tag_bytes = (uint32_t)len;
    a->tag_number = OTP_LEDGER_NOT_NUMBERED;
    memcpy(a->frames, tag, len);
    return a;
}

/* An account may be seen in its bucket a moment before it is in the list of all. */
static void list(struct otp_account *a)
{
    a->older = otp_load_relaxed(&otp_ledger_newest_tagged);
    while (!otp_cas_acq_rel(&otp_ledger_newest_tagged, &a->older, a)) { /* pairs: LEDGER-LIST */
    }
}

static bool matches(const struct otp_account *a, uint64_t hash, const struct otp_account *stack,
                    const struct otp_tag *tag, size_t len)
{
    return a->hash == hash && a->stack == stack && a->tag_bytes == len &&
           memcmp(a->frames, tag, len) == 0;
}

struct otp_account *otp_ledger_tagged(struct otp_account *stack, const struct otp_tag *tag)
{
    size_t len = otp_tag_bytes(tag);
    if (otp_load_relaxed(&limit_bytes) == 0 ||
        otp_ledger_buckets(&otp_ledger_tag_buckets) == NULL) {
        return NULL;
    }
    uint64_t hash = otp_hash_bytes(tag, len, (uint64_t)(uintptr_t)stack);
    struct otp_account **head = otp_ledger_tag_bucket(hash);
    struct otp_account *fresh = NULL;
    struct otp_account *searched_to = NULL;
    for (;;) {
        struct otp_account *first = otp_load_acquire(head); /* pairs: LEDGER-ADD */
        /* What was searched before may have been taken out meanwhile: then to the end. */
        for (struct otp_account *a = first; a != NULL && a != searched_to;
             a = otp_load_acquire(&a->next)) {
            if (matches(a, hash, stack, tag, len)) {
                if (fresh != NULL) {
                    fresh->phase = OTP_LEDGER_ORPHAN;
                    list(fresh); /* the worker takes it back */
                }
                return a;
            }
        }
        searched_to = first;
        fresh = fresh != NULL ? fresh : make(stack, tag, len, hash);
        if (fresh == NULL) {
            return NULL;
        }
        fresh->next = first;
        if (otp_cas_acq_rel(head, &first, fresh)) { /* pairs: LEDGER-ADD */
            list(fresh);
            return fresh;
        }
    }
}
