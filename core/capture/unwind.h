/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinding of the calling thread's own stack by libunwind, on a scratch stack.
 *
 * I1  Every word of the host's stack is read by otp_unw_access_mem, which knows what is mapped: the
 * rest of a stack whose bounds are known, else pages that the kernel has just confirmed. Nothing is
 *     remembered from one sample to the next.
 *
 * I2  libunwind makes no system call, takes no lock and asks the loader nothing: those of its
 * references are bound to functions here (see docs/SIGNAL-SAFETY.md).
 *
 * I3  The stack pointer must grow from frame to frame, except out of a signal frame.
 */
#ifndef OTP_CAPTURE_UNWIND_H
#define OTP_CAPTURE_UNWIND_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "core/base/frame.h"
#include "core/capture/arch.h"
#include "core/capture/thread.h"

struct otp_unwind;

/* Prepares libunwind; once, before the first sample. Context: init. */
void otp_unwind_init(void);

/*
 * The unwinder that lives at the base of a scratch stack. It is filled on the host's stack, and the
 * rest happens on the scratch stack. Context: hot.
 */
struct otp_unwind *otp_unwind_at(void *scratch_base);
/* Start from the context that the kernel gave to a signal handler. */
void otp_unwind_from_signal(struct otp_unwind *u, const struct otp_thread *t, const ucontext_t *uc);
/* Start from the caller of an interposed function. */
void otp_unwind_from_call(struct otp_unwind *u, const struct otp_thread *t,
                          const struct otp_regs *regs);
/* Walks the stack; to be called on the scratch stack. Returns the number of frames, at least 1. */
uint32_t otp_unwind_run(struct otp_unwind *u);
/* The same by rules alone, from the caller of an interposed function, on any stack: it needs some 2
 * KiB of it. 0: the walk is one for otp_unwind_run. */
uint32_t otp_unwind_try(struct otp_unwind *u);
/* Whether it could not go on before the end of the stack; the caller counts that. */
bool otp_unwind_was_cut(const struct otp_unwind *u);
/* The frames, leaf first; a cut stack ends in OTP_FRAME_TRUNCATED. Valid until the stack is
 * released. */
const uint64_t *otp_unwind_frames(const struct otp_unwind *u);
/* Where to start calls on the scratch stack. */
void *otp_unwind_stack_top(void *scratch_base);

#endif
