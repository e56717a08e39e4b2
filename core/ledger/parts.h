/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the ledger share; nobody else includes this. */
#ifndef OTP_LEDGER_PARTS_H
#define OTP_LEDGER_PARTS_H

#include <stddef.h>

#include "core/base/atomic.h"
#include "core/ledger/ledger.h"

#define OTP_LEDGER_BUCKETS 65536U /* at most */
#define OTP_LEDGER_BUCKETS_MIN 1024U
#define OTP_LEDGER_CELL                                                                            \
    64U /* tagged accounts take a multiple of that, so that their memory can be used again */
#define OTP_LEDGER_CLASSES                                                                         \
    ((sizeof(struct otp_account) + sizeof(struct otp_tag)) / OTP_LEDGER_CELL + 2)

/* Where a tagged account is: the worker's, in its field phase. */
enum otp_ledger_phase {
    OTP_LEDGER_LINKED = 0,
    OTP_LEDGER_UNLINKED = 1, /* was taken out of its bucket */
    OTP_LEDGER_ORPHAN = 2    /* was never in it: somebody else was faster with an equal one */
};

extern uint32_t otp_ledger_bucket_mask; /* their number less 1 */

/* The heads of a table, mapped on first use; NULL: no memory. Context: hot. */
struct otp_account **otp_ledger_buckets(struct otp_account ***table);
/* Zeroed memory that is never given back; NULL: none is left. Context: hot. */
void *otp_ledger_cut(size_t bytes);

/* Where the rounding of a new account starts. Context: hot. */
uint32_t otp_ledger_start(uint64_t hash);

/* Heads of buckets, of the list of all (by older), and of free memory (by next) by size. */
extern struct otp_account **otp_ledger_tag_buckets;
extern struct otp_account *otp_ledger_newest_tagged;
extern struct otp_account *otp_ledger_free_cells[OTP_LEDGER_CLASSES];
extern size_t otp_ledger_tag_bytes; /* in use */

/* Cells of a tagged account. */
static inline size_t otp_ledger_class(size_t tag_bytes)
{
    return (sizeof(struct otp_account) + tag_bytes + OTP_LEDGER_CELL - 1) / OTP_LEDGER_CELL;
}

static inline struct otp_account **otp_ledger_tag_bucket(uint64_t hash)
{
    return otp_load_relaxed(&otp_ledger_tag_buckets) + ((uint32_t)hash & otp_ledger_bucket_mask);
}

#endif
