/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live table: which addresses are sampled objects that have not been freed yet, and on which
 * account they stand. Host threads insert and remove without locks.
 *
 * The table is a few levels, each eight times as large as the one before and mapped when first
 * needed. A level is an array of buckets; a bucket is one cache line of eight keys, and the eight
 * values elsewhere. An address can only be in its own bucket of each level.
 *
 * I1  An address is inserted by the thread that allocated it, before the host sees it, and removed
 * by the thread that frees it, before it is given back: so nobody else can be inserting or removing
 * the same address at that moment.
 *
 * I2  A key goes 0 -> BUSY -> address -> 0. Values are written while BUSY and published by
 *     the key (pairs: LIVE-KEY).
 *
 * I3  A level once mapped stays mapped.
 */
#ifndef OTP_LEDGER_LIVE_H
#define OTP_LEDGER_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ledger/ledger.h"

#define OTP_LIVE_OBJECTS_MAX ((UINT64_C(1) << 40) - 1)
#define OTP_LIVE_SIZE_MAX ((UINT64_C(1) << 24) - 1)

/* What is remembered of a sampled object. */
struct otp_live {
    struct otp_account *account;
    uint64_t bytes;        /* as booked (already scaled) */
    uint64_t objects : 40; /* as booked: at most one for each byte of an interval */
    uint64_t size : 24;    /* that was asked for; larger ones: OTP_LIVE_SIZE_MAX */
};

/* Remembers addr; an entry left behind under the same address is booked as freed. False: no room.
 */
bool otp_live_insert(uintptr_t addr, const struct otp_live *item);
/* What is remembered of addr, whose block the caller holds; false when it is not there. */
bool otp_live_find(uintptr_t addr, struct otp_live *out_item);
/* Forgets addr; false when it was not there. */
bool otp_live_remove(uintptr_t addr, struct otp_live *out_item);
/* Number of addresses (a sum over levels, exact when nothing changes). Context: any. */
uint64_t otp_live_count(void);

#endif
