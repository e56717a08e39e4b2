/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks that capture runs on, so that it needs next to nothing of the host's stack, which may be
 * that of a coroutine or nearly used up. A few are shared by all threads: as many are needed as
 * captures run at the same moment, and there are fewer where memory is short.
 *
 * I1  All signals are blocked while code runs on a scratch stack (otp_sys_block_signals; a tick has
 * them blocked already): the host's handlers run on the stack that they interrupt, need any amount
 * of it, and may never come back.
 */
#ifndef OTP_CAPTURE_SCRATCH_H
#define OTP_CAPTURE_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OTP_SCRATCH_BYTES ((size_t)64 << 10) /* of each; aligned to this */
#define OTP_SCRATCH_COUNT 32U                /* at most */
#define OTP_SCRATCH_COUNT_MIN 2U
#define OTP_SCRATCH_PART 4U /* of the limit of hot memory, for all of them: one part in so many */

/* Maps as many stacks as their part of the limit allows; false: no memory for the fewest. Context:
 * init. */
bool otp_scratch_init(void);
/* Takes a free stack: its number plus 1, or 0 when all are in use. Context: hot. */
uint32_t otp_scratch_claim(void);
/* Gives it back; 0 is ignored. Context: hot. */
void otp_scratch_release(uint32_t taken);
/* In a fork child: all are free but the one that the forking thread has taken, 0 none. Context:
 * init. */
void otp_scratch_forget(uint32_t taken);
/* Lowest address of a taken stack. Context: hot. */
void *otp_scratch_base(uint32_t taken);
/* Base of the stack on which the caller runs; only valid while running on one. Context: hot. */
void *otp_scratch_own_base(void);
/* Whether sp points into one of them. Context: hot. */
bool otp_scratch_holds(uintptr_t sp);

#endif
