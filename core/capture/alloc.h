/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heap sampling. The fast path is a countdown of bytes in thread-local storage; what is sampled
 * goes through the otp_enter_ functions of arch.h into the otp_sampled_ functions of alloc_hot.c.
 *
 * Whether a block handed to free may be a sampled one is seen from its address alone while sampling
 * is coarse: sampled blocks lie at the start of a page, or 16 bytes into one (where malloc puts
 * blocks that are a mapping of their own). When sampling is fine enough for that to waste memory,
 * every free is looked up.
 *
 * I1  A free is booked before the block is given back (I-free-before): afterwards another thread
 * may own it.
 *
 * I2  What the profiler itself does never allocates from the host, and calls that the host's
 * allocator makes to itself are not counted again.
 */
#ifndef OTP_CAPTURE_ALLOC_H
#define OTP_CAPTURE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"
#include "core/capture/thread.h"

/*
 * Address bits that must all be 0 for a block to be looked up: 0 looks at every block, since each
 * may be a sample, or hold a thread's alternate stack.
 */
extern uintptr_t otp_free_mask;

/* Where a countdown leads. Long gaps are walked in pieces, so that a change is met soon. */
enum otp_gap { OTP_GAP_NONE = 0, OTP_GAP_SAMPLE = 1, OTP_GAP_PIECE = 2 };

/*
 * The intervals used in this process so far; a gap and an account carry the number of theirs, and
 * every sample is scaled by the interval that its gap was drawn with. Written by the worker.
 */
#define OTP_INTERVALS_MAX 16U
extern uint64_t otp_alloc_intervals[OTP_INTERVALS_MAX];
/* Number of the interval that gaps are drawn with now; atomic (pairs: INTERVAL). */
extern uint32_t otp_alloc_interval;

/* How many there are. Context: worker. */
uint32_t otp_alloc_interval_count(void);

/* Sets the way of telling sampled blocks, by the interval. Context: init. */
void otp_alloc_init(void);
/* From now on there may be sampled blocks: frees look for them. Context: init, worker. */
void otp_alloc_begin(void);
/* In the child of a fork: gaps of its own from here on, not those of its parent and of all other
 * children of that. Context: init. */
void otp_alloc_after_fork(void);
/* From now on every block is looked at when it is freed, since one may hold an alternate stack.
 * Context: hot. */
void otp_alloc_watch(void);
/*
 * Another interval for gaps that begin from now on; a thread meets it within 4 MiB that it
 * allocates. False: the table of intervals is full. Context: worker.
 */
bool otp_alloc_set_interval(uint64_t bytes);

/* True when an allocation of size bytes is not sampled; then it has been counted down. Context:
 * hot. */
OTP_INLINE bool otp_alloc_skip(size_t size)
{
    uint64_t left = otp_tls.countdown;
    if (OTP_LIKELY(size < left)) {
        otp_tls.countdown =
            left + ~(uint64_t)size; /* left - size - 1: an empty block counts as a byte */
        return true;
    }
    return false;
}

/* True when p cannot be a block of interest: sampled, or with an alternate stack. Context: hot. */
OTP_INLINE bool otp_free_skip(const void *p)
{
    return ((uintptr_t)p & otp_load_relaxed(&otp_free_mask)) != 0;
}

/*
 * What the host is told of the size of p, of which usable bytes can be used. Context: hot.
 *
 * A sampled block is larger than any other of its size, so that its address can tell; a program
 * that trims blocks by what they have to spare (redis does) would trim just those, and lose them.
 */
size_t otp_alloc_usable(const void *p, size_t usable);

/*
 * Books the end of p if it is a sampled block, and ends the ticks of a thread whose alternate stack
 * it holds. What the allocator is to free in its place: p, NULL
 * when the block is kept for a later sample, or another block. Context: hot.
 */
void *otp_alloc_release(void *p);

#endif
