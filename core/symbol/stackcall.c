/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/stackcall.h"

/*
 * Both ends keep what the System V x86-64 ABI lets a caller rely on: rbx, rbp, r12 to r15 and rsp.
 * The control words of SSE and x87 stay, because nobody in between changes them.
 */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl otp_stackcall_run\n"
        ".hidden otp_stackcall_run\n"
        ".type otp_stackcall_run, @function\n"
        "otp_stackcall_run:\n" /* rdi: c, rsi: function, rdx: arg, rcx: top */
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rdi, %rbx\n"
        "    movq %rcx, %rsp\n"
        "    movq %rdx, %rdi\n"
        "    call *%rsi\n"
        "    movl $1, %eax\n"
        "    movq (%rbx), %rsp\n"
        ".Lotp_stackcall_end:\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size otp_stackcall_run, . - otp_stackcall_run\n"
        ".globl otp_stackcall_leave\n"
        ".hidden otp_stackcall_leave\n"
        ".type otp_stackcall_leave, @function\n"
        "otp_stackcall_leave:\n" /* rdi: c */
        "    movq (%rdi), %rsp\n"
        "    xorl %eax, %eax\n"
        "    jmp .Lotp_stackcall_end\n"
        ".size otp_stackcall_leave, . - otp_stackcall_leave\n");
