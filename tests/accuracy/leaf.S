/* SPDX-License-Identifier: Apache-2.0 */
/* A leaf that burns CPU time and has no unwinding information at all, as hand-written code has not. */
        .text
        .globl  asm_leaf
        .type   asm_leaf, @function
asm_leaf:
        mov     %rdi, %rax
1:      sub     $1, %rax
        jnz     1b
        ret
        .size   asm_leaf, . - asm_leaf

/* The same with something on the stack, of which nothing tells either. */
        .globl  asm_pushes
        .type   asm_pushes, @function
asm_pushes:
        push    %rbx
        push    %rdi
        mov     %rdi, %rax
1:      sub     $1, %rax
        jnz     1b
        pop     %rdi
        pop     %rbx
        ret
        .size   asm_pushes, . - asm_pushes

/* And with information that is wrong: a stack address is where the return address is said to be. */
        .globl  asm_misled
        .type   asm_misled, @function
asm_misled:
        .cfi_startproc
        push    %rsp
        mov     %rdi, %rax
1:      sub     $1, %rax
        jnz     1b
        pop     %rdi
        ret
        .cfi_endproc
        .size   asm_misled, . - asm_misled

        .section .note.GNU-stack, "", @progbits
