/* SPDX-License-Identifier: Apache-2.0 */
/* x86-64. Calling convention: System V psABI 3.2; signal return: the kernel's x86 rt_sigreturn
 * frame. */
#include "core/capture/arch.h"

#include <cpuid.h>

#define JUMP_SP 6
#define JUMP_PC 7
#define MANGLE_BITS 17

static uint64_t pointer_guard(void)
{
    uint64_t guard;
    __asm__("mov %%fs:0x30, %0" : "=r"(guard));
    return guard;
}

static uintptr_t demangle(long word)
{
    uint64_t v = (uint64_t)word;
    return (v >> MANGLE_BITS | v << (64 - MANGLE_BITS)) ^ pointer_guard();
}

uintptr_t otp_arch_jump_pc(const long *words)
{
    return demangle(words[JUMP_PC]);
}

uintptr_t otp_arch_jump_sp(const long *words)
{
    return demangle(words[JUMP_SP]);
}

void otp_arch_set_jump_pc(long *words, uintptr_t pc)
{
    uint64_t v = pc ^ pointer_guard();
    words[JUMP_PC] = (long)(v << MANGLE_BITS | v >> (64 - MANGLE_BITS));
}

/* rax is what setjmp returns; the stack is aligned as after the call of setjmp. */
__asm__(".text\n"
        ".globl otp_arch_jump_landing\n"
        ".hidden otp_arch_jump_landing\n"
        ".type otp_arch_jump_landing, @function\n"
        "otp_arch_jump_landing:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined %rip\n"
        "    push %rax\n"
        "    sub $8, %rsp\n"
        "    call otp_jump_landed\n"
        "    mov %rax, %r11\n"
        "    add $8, %rsp\n"
        "    pop %rax\n"
        "    jmp *%r11\n"
        "    .cfi_endproc\n"
        "    .size otp_arch_jump_landing, . - otp_arch_jump_landing\n");

#define FRAME_REST ((size_t)704) /* ucontext, siginfo, markers and alignment */
#define FXSAVE_BYTES ((size_t)512)

size_t otp_arch_signal_frame_bytes(void)
{
    unsigned a = 0;
    unsigned state = 0;
    unsigned c = 0;
    unsigned d = 0;
    /* Leaf 13: size of the state in use. Source: Intel SDM, CPUID. */
    if (__get_cpuid_count(13, 0, &a, &state, &c, &d) == 0 || state < FXSAVE_BYTES) {
        return FXSAVE_BYTES + FRAME_REST;
    }
    return state + FRAME_REST;
}

__asm__(".text\n"
        ".globl otp_arch_call_on\n"
        ".hidden otp_arch_call_on\n"
        ".type otp_arch_call_on, @function\n"
        "otp_arch_call_on:\n"
        "    .cfi_startproc\n"
        "    push %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset %rbp, -16\n"
        "    mov %rsp, %rbp\n"
        "    .cfi_def_cfa_register %rbp\n"
        "    mov %rdi, %rsp\n"
        "    mov %rdx, %rdi\n"
        "    call *%rsi\n"
        "    leave\n"
        "    .cfi_def_cfa %rsp, 8\n"
        "    ret\n"
        "    .cfi_endproc\n"
        "    .size otp_arch_call_on, . - otp_arch_call_on\n");

/* The nop in front keeps unwinders that look one byte back from seeing another function. */
__asm__(".text\n"
        "    nop\n"
        ".globl otp_arch_sigreturn\n"
        ".hidden otp_arch_sigreturn\n"
        ".type otp_arch_sigreturn, @function\n"
        "otp_arch_sigreturn:\n"
        "    mov $15, %rax\n"
        "    syscall\n"
        "    .size otp_arch_sigreturn, . - otp_arch_sigreturn\n");

/* rdi flags, rsi stack, rdx tid word, rcx tls, r8 fn, r9 arg -> clone(flags, stack, tid, tid, tls).
 */
__asm__(".text\n"
        ".globl otp_arch_clone_thread\n"
        ".hidden otp_arch_clone_thread\n"
        ".type otp_arch_clone_thread, @function\n"
        "otp_arch_clone_thread:\n"
        "    .cfi_startproc\n"
        "    mov %r8, %r11\n"
        "    mov %rcx, %r8\n"
        "    mov %rdx, %r10\n"
        "    push %r12\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset %r12, 0\n"
        "    push %r13\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset %r13, 0\n"
        "    mov %r11, %r12\n"
        "    mov %r9, %r13\n"
        "    mov $56, %eax\n"
        "    syscall\n"
        "    test %rax, %rax\n"
        "    jz 1f\n"
        "    pop %r13\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    .cfi_restore %r13\n"
        "    pop %r12\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    .cfi_restore %r12\n"
        "    ret\n"
        "1:\n"
        "    .cfi_undefined %rip\n"
        "    xor %ebp, %ebp\n"
        "    mov %r13, %rdi\n"
        "    call *%r12\n"
        "    xor %edi, %edi\n"
        "    mov $60, %eax\n"
        "    syscall\n"
        "    ud2\n"
        "    .cfi_endproc\n"
        "    .size otp_arch_clone_thread, . - otp_arch_clone_thread\n");

/* Six pushes give struct otp_regs, its last word being the return address. arg_n gets its address.
 * A handler of the host may end its thread at any of them, which unwinds: so each is told. */
#define ENTER(name, arg_register)                                                                  \
    __asm__(".text\n"                                                                              \
            ".globl otp_enter_" #name "\n"                                                         \
            ".hidden otp_enter_" #name "\n"                                                        \
            ".type otp_enter_" #name ", @function\n"                                               \
            "otp_enter_" #name ":\n"                                                               \
            "    .cfi_startproc\n"                                                                 \
            "    push %rbp\n"                                                                      \
            "    .cfi_adjust_cfa_offset 8\n"                                                       \
            "    .cfi_rel_offset %rbp, 0\n"                                                        \
            "    push %rbx\n"                                                                      \
            "    .cfi_adjust_cfa_offset 8\n"                                                       \
            "    push %r12\n"                                                                      \
            "    .cfi_adjust_cfa_offset 8\n"                                                       \
            "    push %r13\n"                                                                      \
            "    .cfi_adjust_cfa_offset 8\n"                                                       \
            "    push %r14\n"                                                                      \
            "    .cfi_adjust_cfa_offset 8\n"                                                       \
            "    push %r15\n"                                                                      \
            "    .cfi_adjust_cfa_offset 8\n"                                                       \
            "    mov %rsp, %" arg_register "\n"                                                    \
            "    sub $8, %rsp\n"                                                                   \
            "    .cfi_adjust_cfa_offset 8\n"                                                       \
            "    call otp_sampled_" #name "\n"                                                     \
            "    add $40, %rsp\n"                                                                  \
            "    .cfi_adjust_cfa_offset -40\n"                                                     \
            "    pop %rbx\n"                                                                       \
            "    .cfi_adjust_cfa_offset -8\n"                                                      \
            "    pop %rbp\n"                                                                       \
            "    .cfi_adjust_cfa_offset -8\n"                                                      \
            "    .cfi_restore %rbp\n"                                                              \
            "    ret\n"                                                                            \
            "    .cfi_endproc\n"                                                                   \
            "    .size otp_enter_" #name ", . - otp_enter_" #name "\n")

ENTER(malloc, "rsi");
ENTER(calloc, "rdx");
ENTER(realloc, "rdx");
ENTER(memalign, "rdx");
ENTER(aligned_alloc, "rdx");
ENTER(posix_memalign, "rcx");
ENTER(valloc, "rsi");
ENTER(pvalloc, "rsi");
ENTER(last_tick, "rdi");
