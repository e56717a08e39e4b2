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
 * I3  Objects are whole. A sample stands for the inverse of a probability; each account rounds the
 * sum of those down, from a start in [0, 1) that was drawn for it, and a sample is given what it
 * adds to that, once (otp_ledger_round). So every number is right on average, also the sum of many
 * accounts of one sample, an account is never off by more than 1, and nothing is left over.
 *
 * I4  The due_ fields, and those with a note, belong to the worker alone.
 *
 * What a thread was doing (its span and labels, a tag) makes accounts of their own below that of
 * the stack. There may be millions of them in the life of a process, so they are the exception to
 * I1:
 *
 * I5  A tagged account without live objects may be taken back. The worker takes it out of its
 * bucket, waits until every thread was seen outside capture, and looks again: whoever found it
 * before has then booked on it. Freeing needs no such care: an account with a live object stays.
 */
#ifndef OTP_LEDGER_LEDGER_H
#define OTP_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/tag.h"

#define OTP_OBJECTS_SHIFT 16 /* of what otp_ledger_round takes */
#define OTP_LEDGER_NOT_NUMBERED UINT32_MAX

struct otp_account {
    struct otp_account *next;  /* in its bucket */
    struct otp_account *older; /* the one made before it, of all; both fixed once published, but for
                                  the worker, which takes accounts with a tag out again */
    uint64_t hash;
    uint32_t context;
    uint32_t depth;
    uint32_t interval;   /* number of the interval that its samples were taken at */
    uint32_t tag_bytes;  /* 0: it has none */
    uint32_t tag_number; /* the worker's, for one flush */
    uint8_t phase;       /* the worker's: whether it is in its bucket */
    uint8_t is_admitted; /* the worker's, for one visit: there is room for the stack of this one; of
                            one with a tag: for the tag */
    uint32_t rounding;   /* what the samples stood for, in 1/65536, and the start; it wraps */
    uint32_t looked;     /* the worker's: objects allocated when it last looked */
    uint64_t alloc_objects;
    uint64_t alloc_bytes;
    uint64_t freed_objects;
    uint64_t freed_bytes;
    uint64_t told_objects; /* of the allocated: in a flush, or one by one with their times */
    uint64_t told_bytes;
    uint64_t due_objects; /* told, once the flush under way comes out */
    uint64_t due_bytes;
    struct otp_account *stack; /* whose frames and context hold: itself, unless it has a tag */
    uint64_t frames[];         /* depth words, leaf first; or the tag */
};

/* The account of a stack, made when it is new; NULL at the memory limit. Context: hot. */
struct otp_account *otp_ledger_account(const uint64_t *frames, uint32_t depth, uint32_t context,
                                       uint32_t interval);
/* The whole objects that a sample is told as which stands for so many 1/65536. Context: hot. */
uint64_t otp_ledger_round(struct otp_account *a, uint64_t objects);
/* Books an allocation. Context: hot. */
void otp_ledger_add(struct otp_account *a, uint64_t objects, uint64_t bytes);
/* Notes that so much of it is told; of an allocation that is told by itself, before it is booked.
 * Context: hot. */
void otp_ledger_told(struct otp_account *a, uint64_t objects, uint64_t bytes);
/* Books the end of one. Context: hot. */
void otp_ledger_sub(struct otp_account *a, uint64_t objects, uint64_t bytes);
/* Calls visit for each account there is. Context: worker. */
void otp_ledger_each(void (*visit)(struct otp_account *a, void *arg), void *arg);
/* Number of accounts, of those without a tag. Context: any. */
uint64_t otp_ledger_count(void);
/* Where the starts of roundings come from; no two processes shall have the same. Context: init. */
void otp_ledger_set_seed(uint64_t seed);

/* The most memory that accounts with tags may take; 0 is none of them. Context: init. */
void otp_ledger_set_tag_limit(size_t bytes);
/* Sizes the tables for a limit of hot memory of so many bytes. Before the first account. Context:
 * init. */
void otp_ledger_set_limit(size_t bytes);
/*
 * The account of a stack's account and a tag; NULL at the limit. Only inside capture, with the
 * handlers of the thread blocked. Context: hot.
 */
struct otp_account *otp_ledger_tagged(struct otp_account *stack, const struct otp_tag *tag);
/* True once each time that half of the limit is passed. Context: hot. */
bool otp_ledger_wants_collection(void);
/* Bytes of tagged accounts in use. Context: any. */
size_t otp_ledger_tagged_bytes(void);
/* Calls visit for each account with a tag. Context: worker. */
void otp_ledger_each_tagged(void (*visit)(struct otp_account *a, void *arg), void *arg);
/*
 * Takes accounts without live objects out of their buckets: those that were not used since the last
 * call, or with is_pressed all. The number of accounts that wait for otp_ledger_reclaim. Context:
 * worker.
 */
size_t otp_ledger_unlink_idle(bool is_pressed);
/*
 * Gives the memory of those back that still have no live object, after visit has seen what is
 * booked; the others go into their buckets again. To be called when every thread was seen outside
 * capture since. Context: worker.
 */
void otp_ledger_reclaim(void (*visit)(struct otp_account *a, void *arg), void *arg);

#endif
