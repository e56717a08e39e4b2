/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's half of tagged accounts: taking those back that nothing lives on any more. Host
 * threads only ever push at the head of a bucket and of the list of all, and only this file takes
 * something out, so what lies behind a head stands still meanwhile.
 *
 * A fork may copy the lists between any two steps: at worst a few cells are then lost to the child.
 */
#include "core/base/atomic.h"
#include "core/ledger/parts.h"

/* Freed first: see I2. A last addition of 0 bytes may still be under way, and does no harm. */
static bool is_idle(const struct otp_account *a)
{
    uint64_t freed_bytes = otp_load_acquire(&a->freed_bytes); /* pairs: LEDGER-SUMS */
    uint64_t freed_objects = otp_load_acquire(&a->freed_objects);
    return freed_bytes == otp_load_acquire(&a->alloc_bytes) &&
           freed_objects == otp_load_acquire(&a->alloc_objects);
}

void otp_ledger_each_tagged(void (*visit)(struct otp_account *a, void *arg), void *arg)
{
    struct otp_account *a = otp_load_acquire(&otp_ledger_newest_tagged); /* pairs: LEDGER-LIST */
    for (; a != NULL; a = a->older) {
        visit(a, arg);
    }
}

static void take_out_of_bucket(struct otp_account *a)
{
    struct otp_account **head = otp_ledger_tag_bucket(a->hash);
    struct otp_account *first = a;
    if (otp_cas_acq_rel(head, &first, otp_load_relaxed(&a->next))) {
        return;
    }
    for (struct otp_account *p = first; p != NULL; p = otp_load_relaxed(&p->next)) {
        if (otp_load_relaxed(&p->next) == a) {
            otp_store_release(&p->next, otp_load_relaxed(&a->next));
            return;
        }
    }
}

static void put_into_bucket(struct otp_account *a)
{
    struct otp_account **head = otp_ledger_tag_bucket(a->hash);
    struct otp_account *first = otp_load_relaxed(head);
    do {
        otp_store_relaxed(&a->next, first);
    } while (!otp_cas_acq_rel(head, &first, a)); /* pairs: LEDGER-ADD */
}

size_t otp_ledger_unlink_idle(bool is_pressed)
{
    size_t count = 0;
    struct otp_account *a = otp_load_acquire(&otp_ledger_newest_tagged); /* pairs: LEDGER-LIST */
    for (; a != NULL; a = a->older) {
        uint64_t objects = otp_load_relaxed(&a->alloc_objects);
        bool is_unused = is_pressed || (uint32_t)objects == a->looked;
        a->looked = (uint32_t)objects;
        if (a->phase == OTP_LEDGER_LINKED && is_unused && objects != 0 && is_idle(a)) {
            a->phase = OTP_LEDGER_UNLINKED;
            take_out_of_bucket(a);
        } else if (a->phase == OTP_LEDGER_ORPHAN) {
            a->phase = OTP_LEDGER_UNLINKED;
        }
        count += a->phase != OTP_LEDGER_LINKED;
    }
    return count;
}

/* Takes a out of the list of all; before: what the walk found in front of it, NULL: nothing. */
static struct otp_account *take_out_of_list(struct otp_account *a, struct otp_account *before)
{
    struct otp_account *first = a;
    if (before == NULL) {
        if (otp_cas_acq_rel(&otp_ledger_newest_tagged, &first, a->older)) {
            return NULL;
        }
        before = first; /* somebody has put others in front since */
        while (before->older != a) {
            before = before->older;
        }
    }
    before->older = a->older;
    return before;
}

static void give_back(struct otp_account *a)
{
    size_t class = otp_ledger_class(a->tag_bytes);
    struct otp_account **head = &otp_ledger_free_cells[class];
    struct otp_account *first = otp_load_relaxed(head);
    (void)otp_sub_relaxed(&otp_ledger_tag_bytes, class * OTP_LEDGER_CELL);
    do {
        otp_store_relaxed(&a->next, first);
    } while (!otp_cas_acq_rel(head, &first, a)); /* pairs: LEDGER-CELL */
}

void otp_ledger_reclaim(void (*visit)(struct otp_account *a, void *arg), void *arg)
{
    struct otp_account *before = NULL;
    struct otp_account *a = otp_load_acquire(&otp_ledger_newest_tagged); /* pairs: LEDGER-LIST */
    while (a != NULL) {
        struct otp_account *older = a->older;
        bool is_waiting = a->phase == OTP_LEDGER_UNLINKED; /* since before everybody was seen */
        if (is_waiting && is_idle(a)) {
            visit(a, arg);
            before = take_out_of_list(a, before);
            give_back(a);
        } else {
            if (is_waiting) {
                a->phase = OTP_LEDGER_LINKED;
                put_into_bucket(a);
            }
            before = a;
        }
        a = older;
    }
}
