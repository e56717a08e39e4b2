/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests share that look at a stack after each instruction: the processor's trap flag sends a
 * signal after each, whose handler walks the stack it has interrupted.
 */
#ifndef OTP_UNIT_TRAP_HELP_H
#define OTP_UNIT_TRAP_HELP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* register names of ucontext */
#endif
#include <check.h>
#include <signal.h>
#include <ucontext.h>

#include "core/base/real.h"
#include "core/capture/arch.h"
#include "core/capture/capture.h"
#include "core/capture/scratch.h"
#include "core/capture/thread.h"
#include "core/capture/unwind.h"

#define TRAP_FLAG 0x100
#define NOINLINE __attribute__((noinline))

static struct otp_thread the_thread;

/* handler gets the signals from now on; the flag is the caller's to set. */
static void trap_begin(void (*handler)(int signo, siginfo_t *info, void *context))
{
    struct sigaction act = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    otp_real_init();
    otp_settings.max_depth = 128;
    ck_assert(otp_scratch_init());
    otp_unwind_init();
    sigemptyset(&act.sa_mask);
    ck_assert_int_eq(sigaction(SIGTRAP, &act, NULL), 0);
}

/* In the handler: the interrupted stack, for walk, which gets the unwinder. */
static void trap_walk(void *context, void (*walk)(void *unwinder))
{
    uint32_t scratch = otp_scratch_claim();
    void *base = otp_scratch_base(scratch);
    struct otp_unwind *u = otp_unwind_at(base);
    otp_unwind_from_signal(u, &the_thread, context);
    otp_arch_call_on(otp_unwind_stack_top(base), walk, u);
    otp_scratch_release(scratch);
}

/* In the handler: this was the last one. */
static void trap_end(void *context)
{
    ucontext_t *uc = context;
    uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

#endif
