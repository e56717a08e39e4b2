/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that coroutines are sampled without harm: stacks full of junk, with a hole above, switched
 * a million times by swapcontext and by hand without unwind information.
 */
/* host: rows B57 B58 B59 B60 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=10000 */
/* host: sees cpu in_coroutine */
/* host: sees alloc_objects in_coroutine */
/* host: runs ucontext|hand */
#include "host.h"

#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK 32768
#define COROUTINES 8
#define SWITCHES 25000

static ucontext_t main_context;
static ucontext_t contexts[COROUTINES];
static char *stacks[COROUTINES];
static int current;
static long visits[COROUTINES];

HOST_NOINLINE static void in_coroutine(int n)
{
    visits[n]++;
    if (visits[n] % 50 == 0) {
        free(host_hide(malloc(100)));
    }
    for (int i = 0; i < 1500; i++) {
        __asm__ volatile("" ::: "memory");
    }
}

static void coroutine(void)
{
    for (;;) {
        in_coroutine(current);
        swapcontext(&contexts[current], &main_context);
    }
}

/* switch_stack(&save_here, other): no frame, no unwind information, rbp full of junk. */
void switch_stack(void **save, void *other);
__asm__(".text\n"
        ".globl switch_stack\n"
        ".type switch_stack, @function\n"
        "switch_stack:\n"
        "    push %rbp\n"
        "    push %rbx\n"
        "    push %r12\n"
        "    push %r13\n"
        "    push %r14\n"
        "    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov $0x4141414141414140, %rbp\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15\n"
        "    pop %r14\n"
        "    pop %r13\n"
        "    pop %r12\n"
        "    pop %rbx\n"
        "    pop %rbp\n"
        "    ret\n"
        "    .size switch_stack, . - switch_stack\n");

static void *main_stack;
static void *hand_stacks[COROUTINES];

static void hand_coroutine(void)
{
    for (;;) {
        in_coroutine(current);
        switch_stack(&hand_stacks[current], main_stack);
    }
}

/* The bottom of a new stack: nothing but junk, up to a page that does not exist. */
static void make_stack(int n)
{
    char *p = mmap(NULL, STACK + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(p + 4096, STACK, PROT_READ | PROT_WRITE);
    stacks[n] = p + 4096;
    uint64_t *words = (uint64_t *)(void *)stacks[n];
    for (size_t i = 0; i < STACK / 8; i++) {
        words[i] = i % 3 == 0   ? (uintptr_t)&words[i % 64]
                   : i % 3 == 1 ? (uintptr_t)in_coroutine + i % 100
                                : 0x5555555555550000U + i;
    }
}

int main(int argc, char **argv)
{
    int is_by_hand = argc > 1 && strcmp(argv[1], "hand") == 0;
    for (int n = 0; n < COROUTINES; n++) {
        make_stack(n);
        getcontext(&contexts[n]);
        contexts[n].uc_stack.ss_sp = stacks[n];
        contexts[n].uc_stack.ss_size = STACK;
        makecontext(&contexts[n], coroutine, 0);
        /* Six registers of junk, then where to begin: misaligned by 8 as after a call. */
        uint64_t *top = (uint64_t *)(void *)(stacks[n] + STACK - 256);
        top[6] = (uintptr_t)hand_coroutine;
        top[5] = 0x4242424242424242U;
        hand_stacks[n] = top;
    }
    for (int i = 0; i < SWITCHES * COROUTINES; i++) {
        current = i % COROUTINES;
        if (is_by_hand) {
            switch_stack(&main_stack, hand_stacks[current]);
        } else {
            swapcontext(&main_context, &contexts[current]);
        }
    }
    int good = 0;
    for (int n = 0; n < COROUTINES; n++) {
        good += visits[n] == SWITCHES;
    }
    host_check(good == COROUTINES, "every coroutine had its turns");
    return host_end("200000 visits of 8 coroutines");
}
