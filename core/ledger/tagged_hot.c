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
 * thread is inside, a head that has left the list cannot come back. A thread that comes second
 * still looks at its next, to no effect: so whoever has the cell writes that one atomically too.
 */
static struct otp_account *take_cell(size_t class)
{
    struct otp_account *a =
        otp_load_acquire(&otp_ledger_free_cells[class]); /* pairs: LEDGER-CELL */
    while (a != NULL &&
           !otp_cas_acq_rel(&otp_ledger_free_cells[class], &a, otp_load_relaxed(&a->next))) {
    }
    if (a != NULL) {
        otp_store_relaxed(&a->next, NULL);
        memset(&a->older, 0, sizeof(*a) - offsetof(struct otp_account, older));
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

/* What an account is known by. */
struct wanted {
    struct otp_account *stack;
    const struct otp_tag *tag;
    size_t len;
    uint64_t hash;
};

static struct otp_account *make(const struct wanted *w)
{
    size_t class = otp_ledger_class(w->len);
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
    a->hash = w->hash;
    a->context = w->stack->context;
    a->interval = w->stack->interval;
    a->stack = w->stack;
    a->rounding = otp_ledger_start(w->hash);
    a->tag_bytes = (uint32_t)w->len;
    a->tag_number = OTP_LEDGER_NOT_NUMBERED;
    memcpy(a->frames, w->tag, w->len);
    return a;
}

/* An account may be seen in its bucket a moment before it is in the list of all. */
static void list(struct otp_account *a)
{
    a->older = otp_load_relaxed(&otp_ledger_newest_tagged);
    while (!otp_cas_acq_rel(&otp_ledger_newest_tagged, &a->older, a)) { /* pairs: LEDGER-LIST */
    }
}

static bool matches(const struct otp_account *a, const struct wanted *w)
{
    return a->hash == w->hash && a->stack == w->stack && a->tag_bytes == w->len &&
           memcmp(a->frames, w->tag, w->len) == 0;
}

/* The account that is looked for, among those of its bucket that were put there after `to`. */
static struct otp_account *search(struct otp_account *first, const struct otp_account *to,
                                  const struct wanted *w)
{
    struct otp_account *a = first;
    /* What was searched before may have been taken out meanwhile: then to the end. */
    while (a != NULL && a != to && !matches(a, w)) {
        a = otp_load_acquire(&a->next);
    }
    return a == to ? NULL : a;
}

struct otp_account *otp_ledger_tagged(struct otp_account *stack, const struct otp_tag *tag)
{
    struct wanted w = {.stack = stack, .tag = tag, .len = otp_tag_bytes(tag)};
    if (otp_load_relaxed(&limit_bytes) == 0 ||
        otp_ledger_buckets(&otp_ledger_tag_buckets) == NULL) {
        return NULL;
    }
    w.hash = otp_hash_bytes(tag, w.len, (uint64_t)(uintptr_t)stack);
    struct otp_account **head = otp_ledger_tag_bucket(w.hash);
    struct otp_account *fresh = NULL;
    struct otp_account *searched_to = NULL;
    for (;;) {
        struct otp_account *first = otp_load_acquire(head); /* pairs: LEDGER-ADD */
        struct otp_account *found = search(first, searched_to, &w);
        if (found != NULL) {
            if (fresh != NULL) {
                fresh->phase = OTP_LEDGER_ORPHAN;
                list(fresh); /* the worker takes it back */
            }
            return found;
        }
        searched_to = first;
        fresh = fresh != NULL ? fresh : make(&w);
        if (fresh == NULL) {
            return NULL;
        }
        otp_store_relaxed(&fresh->next, first);
        if (otp_cas_acq_rel(head, &first, fresh)) { /* pairs: LEDGER-ADD */
            list(fresh);
            return fresh;
        }
    }
}
