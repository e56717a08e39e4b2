/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that stacks which cannot be unwound well do no harm: code without unwind information, code
 * made at run time, code whose frame pointer is junk, a stack pointer moved by hand, very deep
 * recursion, and text moved elsewhere.
 */
/* host: rows B94 B99 B100 B101 B102 */
/* host: flags -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=2000 */
/* host: sees cpu host_burn */
/* host: sees alloc_objects without_tables */
/* host: runs plain|made|junk|moved|deep|remap */
#include "host.h"

#include <stdint.h>
#include <sys/mman.h>

HOST_NOINLINE static void without_tables(long ms)
{
    volatile char room[100];
    room[5] = 5;
    free(host_hide(malloc(20)));
    host_burn(ms);
    host_sink += (unsigned long)room[5];
}

/* Calls back into C from code that nobody knows anything of: push rbx; mov rdi, imm; call rax; pop
 * rbx; ret. */
static void run_made(void)
{
    unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static const unsigned char code[] = {0x53, 0x48, 0xc7, 0xc7, 100, 0, 0, 0, 0x48, 0xb8};
    memcpy(p, code, sizeof(code));
    uintptr_t to = (uintptr_t)without_tables;
    memcpy(p + sizeof(code), &to, sizeof(to));
    static const unsigned char rest[] = {0xff, 0xd0, 0x5b, 0xc3};
    memcpy(p + sizeof(code) + sizeof(to), rest, sizeof(rest));
    mprotect(p, 4096, PROT_READ | PROT_EXEC);
    void (*fn)(void);
    memcpy(&fn, &p, sizeof(fn));
    for (int i = 0; i < 3; i++) {
        fn();
    }
}

/* Frame pointer: anything at all, readable or not, while the time is spent. */
static void run_junk(void)
{
    static const uint64_t values[] = {
        0, 1, 8, 0x7fffffffffffffff, 0xffffffffffffff00, 0x4141414141414141, 4096, 0x7ffff0000000};
    for (size_t i = 0; i < HOST_LEN(values) * 20; i++) {
        uint64_t junk = values[i % HOST_LEN(values)];
        __asm__ volatile("push %%rbp\n"
                         "mov %0, %%rbp\n"
                         "mov $2000000, %%rcx\n"
                         "1: dec %%rcx\n"
                         "jnz 1b\n"
                         "pop %%rbp\n"
                         :
                         : "r"(junk)
                         : "rcx", "memory");
    }
    without_tables(100);
}

/* The stack pointer at the very end of what is mapped, above and below. */
static void run_moved(void)
{
    char *p = mmap(NULL, 12288, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(p + 4096, 4096, PROT_READ | PROT_WRITE);
    for (int i = 0; i < 100; i++) {
        /* A signal needs room below, so not at the lower end. */
        char *sp = p + 8192 - 8 * (i % 8);
        __asm__ volatile("mov %%rsp, %%rbx\n"
                         "mov %0, %%rsp\n"
                         "mov $1000000, %%rcx\n"
                         "1: dec %%rcx\n"
                         "jnz 1b\n"
                         "mov %%rbx, %%rsp\n"
                         :
                         : "r"(sp)
                         : "rbx", "rcx", "memory");
    }
    without_tables(100);
}

HOST_NOINLINE static int recurse(int depth)
{
    if (depth == 0) {
        without_tables(100);
        return 1;
    }
    return recurse(depth - 1) + (host_hide(&depth) == NULL);
}

/* As programs do that want their text on large pages. */
static void run_remap(void)
{
    extern char __executable_start[];
    extern char etext[];
    uintptr_t from = ((uintptr_t)__executable_start + 4096) & ~(uintptr_t)4095;
    uintptr_t to = ((uintptr_t)etext + 4095) & ~(uintptr_t)4095;
    char *copy = mmap(NULL, to - from, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(copy, (void *)from, to - from);
    host_check(mremap(copy, to - from, to - from, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)from) ==
                   (void *)from,
               "the text is moved");
    without_tables(100);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "plain";
    if (strcmp(how, "made") == 0) {
        run_made();
    } else if (strcmp(how, "junk") == 0) {
        run_junk();
    } else if (strcmp(how, "moved") == 0) {
        run_moved();
    } else if (strcmp(how, "deep") == 0) {
        recurse(5000);
    } else if (strcmp(how, "remap") == 0) {
        run_remap();
    } else {
        without_tables(100);
    }
    return host_end("stacks of all kinds");
}
