/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks as slices of one list of locations: a stack that is the end of another one (the caller of
 * what was called) or its beginning takes no room of its own.
 */
#ifndef OTP_ENCODE_SLICES_H
#define OTP_ENCODE_SLICES_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/encode/pool.h"

struct otp_slices {
    struct otp_heap *heap;
    const struct otp_pool *stacks;
    uint32_t *order; /* stacks that are written, as told */
    size_t count;
    uint32_t *host;  /* by stack: the one whose room it shares; itself: it has its own */
    uint32_t *skip;  /* by stack: where in its host it begins */
    uint64_t *start; /* by stack: where its room begins, for those that have their own */
};

/* Lays out the stacks whose number is not 0. OTP_NO_MEMORY. otp_slices_fini() is called in any
 * case. Context: worker. */
enum otp_status otp_slices_init(struct otp_slices *s, const struct otp_pool *stacks,
                                const uint32_t *numbers);
void otp_slices_fini(struct otp_slices *s);
/* Where a stack begins in the list. Context: worker. */
uint64_t otp_slices_start(const struct otp_slices *s, uint32_t stack);

#endif
