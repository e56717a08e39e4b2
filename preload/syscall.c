/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscall(2), only to see a program forbid itself system calls (seccomp has no other name in libc)
 * or change its namespaces, or end, be replaced or copied, or change what a signal does, without
 * libc. It must not leave a frame on the stack: some of its calls return twice. So it is a jump,
 * written by hand.
 */
#define _GNU_SOURCE /* flags of clone */
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"
#include "core/base/real.h"
#include "core/capture/thread.h"
#include "core/engine/engine.h"
#include "preload/fork.h"

/* Where it jumps to; NULL until the first call. */
long (*otp_syscall_target)(long number, ...);

bool otp_syscall_look(long number, long a, long b);

/* For the first call, seccomp and clone3; true: otp_syscall_fork goes on with it. */
bool otp_syscall_look(long number, long a, long b)
{
    otp_real_init();
    otp_syscall_target = otp_real.syscall;
    if (number == SYS_seccomp) {
        otp_engine_stand_down();
    }
    return number == SYS_clone3 && otp_syscall_is_copy(a, b);
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
_Static_assert(SYS_fork == 57 && SYS_clone == 56 && SYS_clone3 == 435 &&
                   (CLONE_VM | CLONE_THREAD | CLONE_SETTLS) == 0x90100,
               "the numbers in the assembly below");
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
        "    cmp $435, %rdi\n"
        "    je 1f\n"
        "    cmp $57, %rdi\n"
        "    je otp_syscall_fork\n"
        "    cmp $56, %rdi\n"
        "    je 2f\n"
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
        "3:\n"
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
        "    test %al, %al\n"
        "    lea 8(%rsp), %rsp\n" /* and pop: the flags stay */
        "    pop %r9\n"
        "    pop %r8\n"
        "    pop %rcx\n"
        "    pop %rdx\n"
        "    pop %rsi\n"
        "    pop %rdi\n"
        "    .cfi_adjust_cfa_offset -56\n"
        "    jnz otp_syscall_fork\n"
        "    jmp *otp_syscall_target(%rip)\n"
        "2:\n" /* clone: a copy, on the same stack? */
        "    test $0x90100, %esi\n"
        "    jnz 3b\n"
        "    test %rdx, %rdx\n"
        "    jnz 3b\n"
        "    jmp otp_syscall_fork\n"
        "    .cfi_endproc\n"
        "    .size syscall, . - syscall\n");
