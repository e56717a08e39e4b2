/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls a function on a stack of its own, from which deeper code can leave at once. For libraries
 * that recurse on their input and offer no way to stop them.
 */
#ifndef OTP_SYMBOL_STACKCALL_H
#define OTP_SYMBOL_STACKCALL_H

#include <stdbool.h>

/* Where the running call returns to; zeroed before the call. */
struct otp_stackcall {
    void *caller_stack;
};

/*
 * Calls function(arg) with the stack pointer at top, 16-byte aligned, the stack growing down from
 * there. True when it returned, false when it left through otp_stackcall_leave(c). Context: worker.
 */
bool otp_stackcall_run(struct otp_stackcall *c, void (*function)(void *), void *arg, void *top);
/* Ends the running otp_stackcall_run(c) and does not return; the frames in between just end,
 * whatever they hold. (Not declared noreturn: the address sanitizer cannot follow.) */
void otp_stackcall_leave(struct otp_stackcall *c);

#endif
