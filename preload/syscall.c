/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscall(2), only to see a program forbid itself system calls (seccomp has no other name in libc)
 * or change its namespaces, or end or be replaced, or change what a signal does, without libc.
 * It must not leave a frame on the stack: some of its calls return twice. So it is a jump, written
 * by hand.
 */
#include <stddef.h>
#include <sys/syscall.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"
#include "core/base/real.h"
#include "core/capture/thread.h"
#include "core/engine/engine.h"

/* Where it jumps to; NULL until the first call. */
long (*otp_syscall_target)(long number, ...);

void otp_syscall_look(long number);

/* For the first call, and for seccomp. */
void otp_syscall_look(long number)
{
    otp_real_init();
    otp_syscall_target = otp_real.syscall;
    if (number == SYS_seccomp) {
        otp_engine_stand_down();
    }
}

long otp_syscall_alone(long number, long a, long b);

/* For calls that the kernel refuses to a process of more than one thread. */
long otp_syscall_alone(long number, long a, long b)
{
    otp_real_init();
    bool has_paused = otp_engine_step_aside();
    long r = otp_real.syscall(number, a, b);
    for (int i = 0; has_paused && otp_engine_ask_again(r, i); i++) {
        r = otp_real.syscall(number, a, b);
    }
    otp_engine_step_back();
    return r;
}

void otp_syscall_exit(long number, long status) __attribute__((noreturn));

/* exit_group as _exit, exit as pthread_exit. */
void otp_syscall_exit(long number, long status)
{
    otp_real_init();
    if (number == SYS_exit) {
        otp_thread_end();
        otp_store_relaxed(&otp_last_exit_status, (uint32_t)status);
    } else {
        otp_engine_stop();
    }
    (void)otp_real.syscall(number, status);
    __builtin_unreachable();
}

long otp_syscall_exec(long number, long a, long b, long c, long d, long e);

/* execve and execveat, as libc's functions of these names. */
long otp_syscall_exec(long number, long a, long b, long c, long d, long e)
{
    otp_real_init();
    bool is_held = otp_engine_before_exec();
    long r = otp_real.syscall(number, a, b, c, d, e);
    otp_engine_after_exec(is_held);
    return r;
}

_Static_assert(SYS_rt_sigaction == 13, "in the assembly below; otp_syscall_sigaction: signal.c");
_Static_assert(SYS_execve == 59 && SYS_execveat == 322, "the numbers in the assembly below");
_Static_assert(SYS_seccomp == 317 && SYS_unshare == 272 && SYS_setns == 308 &&
                   SYS_exit_group == 231 && SYS_exit == 60,
               "the numbers in the assembly below");

__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        "    .cfi_startproc\n"
        "    mov otp_syscall_target(%rip), %r11\n"
        "    cmp $317, %rdi\n"
        "    je 1f\n"
        "    cmp $272, %rdi\n"
        "    je otp_syscall_alone\n"
        "    cmp $308, %rdi\n"
        "    je otp_syscall_alone\n"
        "    cmp $231, %rdi\n"
        "    je otp_syscall_exit\n"
        "    cmp $60, %rdi\n"
        "    je otp_syscall_exit\n"
        "    cmp $13, %rdi\n"
        "    je otp_syscall_sigaction\n"
        "    cmp $59, %rdi\n"
        "    je otp_syscall_exec\n"
        "    cmp $322, %rdi\n"
        "    je otp_syscall_exec\n"
        "    test %r11, %r11\n"
        "    jz 1f\n"
        "    jmp *%r11\n"
        "1:\n"
        "    push %rdi\n"
        "    push %rsi\n"
        "    push %rdx\n"
        "    push %rcx\n"
        "    push %r8\n"
        "    push %r9\n"
        "    sub $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 56\n"
        "    call otp_syscall_look\n"
        "    add $8, %rsp\n"
        "    pop %r9\n"
        "    pop %r8\n"
        "    pop %rcx\n"
        "    pop %rdx\n"
        "    pop %rsi\n"
        "    pop %rdi\n"
        "    .cfi_adjust_cfa_offset -56\n"
        "    jmp *otp_syscall_target(%rip)\n"
        "    .cfi_endproc\n"
        "    .size syscall, . - syscall\n");
