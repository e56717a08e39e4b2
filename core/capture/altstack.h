/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alternate signal stacks of the host. The kernel puts a tick on such a stack, and ends the process
 * when it does not fit there: so a thread whose alternate stack has no room for a tick gets none,
 * nor does one whose alternate stack was freed, or unmapped, and is set all the same.
 */
#ifndef OTP_CAPTURE_ALTSTACK_H
#define OTP_CAPTURE_ALTSTACK_H

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"

struct otp_thread;

/* The kernel takes no smaller one. */
#define OTP_ALTSTACK_MIN ((size_t)2048)

/* The highest end of any alternate stack there was; 0: none. Atomic, only grows. */
extern uintptr_t otp_altstack_highest;

/* frame_bytes: what the kernel needs for one signal, 0 unknown (AT_MINSIGSTKSZ). Context: init. */
void otp_altstack_init(size_t frame_bytes);
/* The calling thread is about to set its alternate stack to s. Context: hot. */
void otp_altstack_before(const stack_t *s);
/* It has done so (or the kernel has refused). Context: hot. */
void otp_altstack_after(const stack_t *s, bool is_done);
/*
 * The calling thread is at its end, and its record ENDED: no ticks from here on when an alternate
 * stack is set, which what is still to run may free without a word to the kernel. Context: hot.
 */
void otp_altstack_at_end(struct otp_thread *t);

/* Whether an alternate stack may lie at or beyond low; a quick look. Context: hot. */
OTP_INLINE bool otp_altstack_is_beyond(uintptr_t low)
{
    return low < otp_load_relaxed(&otp_altstack_highest);
}
/*
 * This memory is about to be freed, or taken away otherwise: threads that have their alternate
 * stack in it get no more ticks, until they set another. True when there are such threads. bytes
 * is 0 for a block of which only the beginning is known. Context: hot.
 */
bool otp_altstack_lose(uintptr_t low, size_t bytes);
/* It was not, and is all there still: such threads get ticks again. Context: hot. */
void otp_altstack_keep(uintptr_t low, size_t bytes);
/* The calling thread is about to change its mask: ticks from before it lost its alternate stack
 * must not come out. Context: hot. */
void otp_altstack_before_mask(void);

/*
 * Whether the calling thread is in a handler on its alternate stack in which ticks have been
 * blocked by us: then they must stay so until it leaves that stack. Context: hot.
 */
bool otp_altstack_is_shielded(void);
/*
 * The mask to set instead of set when the handler changes its mask: never one that lets a tick in.
 * set may be NULL. Context: hot.
 */
const sigset_t *otp_altstack_mask(int how, const sigset_t *set, sigset_t *copy);
/*
 * What to jump by instead of env: a jump off the alternate stack opens the mask before it leaves
 * the stack, so the tick is kept blocked in copy, and the jump goes by way of a landing that
 * unblocks it. env itself where this is not needed or its layout is not as known. Context: hot.
 */
struct __jmp_buf_tag *otp_altstack_jump(struct __jmp_buf_tag *env, struct __jmp_buf_tag *copy);

#endif
