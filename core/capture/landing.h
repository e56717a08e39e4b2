/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a thread goes on that throws. The function that ends the search for a handler (libgcc's
 * _Unwind_Resume and its like, made by __builtin_eh_return) overwrites its own saved registers and
 * its return address with those of the frame with the handler, long before it moves the stack
 * pointer there; in between, its call frame information tells a mixture of two frames.
 */
#ifndef OTP_CAPTURE_LANDING_H
#define OTP_CAPTURE_LANDING_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#define OTP_LANDING_FRAME_MAX 4096U /* bytes; larger frames are not looked at */

/* Registers with which a thread will go on: pc is an address of code to come, not one behind a
 * call. */
struct otp_landing {
    uintptr_t pc;
    uintptr_t sp;
    uintptr_t bp;
};

/* Reads one word of the thread's memory; false: it cannot be read. */
typedef bool (*otp_landing_read)(void *arg, uintptr_t addr, uintptr_t *out);

/* The frame of a function that may go on elsewhere. */
struct otp_landing_frame {
    uintptr_t low; /* its stack pointer; from here to cfa everything can be read */
    uintptr_t cfa;
    uintptr_t saved_bp;   /* where the caller's rbp is saved */
    bool is_caller_by_bp; /* the caller's frame is found by rbp */
};

/*
 * True when the registers stand at one of the last instructions of such a function, by the bytes of
 * the code around them: the stack pointer is about to move, or has. The code at pc can be read.
 * Context: hot.
 */
bool otp_landing_of_tail(const greg_t *regs, otp_landing_read read, void *arg,
                         struct otp_landing *out);
/*
 * True when the function's own frame is already that of the other one, by what libgcc keeps in it
 * (two struct _Unwind_Context, laid out so since GCC 4.3). Context: hot.
 */
bool otp_landing_of_frame(const struct otp_landing_frame *f, otp_landing_read read, void *arg,
                          struct otp_landing *out);

/*
 * The same for code that switches contexts, as libc's swapcontext (whose tables tell the old stack
 * all along, as setcontext's do before glibc 2.19): whether the thread, whose stack pointer is the
 * other context's already, is still before the push of its return address. Context: hot.
 */
bool otp_landing_of_switch(const greg_t *regs, otp_landing_read read, void *arg,
                           struct otp_landing *out);

#endif
