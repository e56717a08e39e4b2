/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap ledger: one account for each (stack, context, sampling interval) that allocated, kept up
 * to date in place by the host threads themselves with a few atomic additions. Nothing queues up
 * between an allocation and its account, so nothing can be lost to a full queue, and a free is
 * booked on the account of its allocation whatever thread it comes from.
 *
 * I1  Accounts are only ever added; a published account's key never changes (pairs: LEDGER-ADD).
 *
 * I2  The sums only grow. Live = allocated - freed; reading freed first keeps it from being
 * negative.
 *
 * I3  Objects are counted in 1/65536 so that the inverse of a probability can be added up.
 *
 * I4  The seen_ fields belong to the worker alone.
 */
#ifndef OTP_LEDGER_LEDGER_H
#define OTP_LEDGER_LEDGER_H

#include <stdint.h>

#define OTP_OBJECTS_SHIFT 16

struct otp_account {
    struct otp_account *next;  /* in its bucket; fixed once published */
    struct otp_account *older; /* the one made before it, of all; fixed once published */
    uint64_t hash;
    uint32_t context;
    uint32_t depth;
    uint32_t interval;      /* number of the interval that its samples were taken at */
    uint64_t alloc_objects; /* in 1/65536 */
    uint64_t alloc_bytes;
    uint64_t freed_objects;
    uint64_t freed_bytes;
    uint64_t timed_objects; /* of the allocated: told one by one, with their times */
    uint64_t timed_bytes;
    uint64_t seen_objects; /* whole objects of the others already reported */
    uint64_t seen_bytes;
    uint64_t frames[]; /* depth words, leaf first */
};

/* The account of a stack, made when it is new; NULL at the memory limit. Context: hot. */
struct otp_account *otp_ledger_account(const uint64_t *frames, uint32_t depth, uint32_t context,
                                       uint32_t interval);
/* Books an allocation. objects in 1/65536. Context: hot. */
void otp_ledger_add(struct otp_account *a, uint64_t objects, uint64_t bytes);
/* Notes that an allocation is told by itself; to be called before it is booked. Context: hot. */
void otp_ledger_timed(struct otp_account *a, uint64_t objects, uint64_t bytes);
/* Books the end of one. Context: hot. */
void otp_ledger_sub(struct otp_account *a, uint64_t objects, uint64_t bytes);
/* Calls visit for each account there is. Context: worker. */
void otp_ledger_each(void (*visit)(struct otp_account *a, void *arg), void *arg);
/* Number of accounts. Context: any. */
uint64_t otp_ledger_count(void);

#endif
