/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a thread may lose the memory of its alternate stack, in any way and to any thread,
 * and leave the stack set: nothing is written there, the program sees what it has set and its
 * handlers run there, and once there is another alternate stack the thread is sampled again.
 */
/* host: rows B55 */
/* host: set OTELPROF_CPU_HZ=1000 */
/* host: sees cpu before */
/* host: sees cpu behind */
/* host: runs free own|free other|inside own|inside other|realloc own|realloc other */
/* host: runs munmap own|munmap other|protect own|protect other */
/* host: runs over own|over other|move own|move other */
/* host: runs free own OTELPROF_HEAP=false|free other OTELPROF_HEAP=false */
/* host: runs realloc own OTELPROF_HEAP=false */
/* host: runs free own OTELPROF_HEAP_INTERVAL=1|inside other OTELPROF_HEAP_INTERVAL=1 */
/* host: runs free own OTELPROF_CPU_ENGINE=perf|munmap other OTELPROF_CPU_ENGINE=perf */
#include "host.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#define BLOCK ((size_t)96 << 10)
#define STACK ((size_t)64 << 10)
#define LOOKED_AT ((size_t)16 << 10) /* at the upper end, where a signal comes */

static const char *how;
static int is_by_other;
static char second[STACK];
static int step;              /* of the thread whose stack it is; then of who takes it away */
static char *low;             /* of the alternate stack */
static char *block;           /* that it lies in */
static volatile uintptr_t at; /* a place in the frame of the handler */

HOST_NOINLINE static void before(void)
{
    host_burn(100);
}

HOST_NOINLINE static void without(void)
{
    host_burn(100);
}

HOST_NOINLINE static void behind(void)
{
    host_burn(100);
}

static void on_usr1(int signo)
{
    (void)signo;
    at = (uintptr_t)__builtin_frame_address(0);
}

static int is_it(const char *name)
{
    return strcmp(how, name) == 0;
}

static int is_mapped(void)
{
    return !is_it("free") && !is_it("inside") && !is_it("realloc");
}

static void *map(void *addr, int flags)
{
    return mmap(addr, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static void make(void)
{
    size_t skipped = is_it("inside") ? 1008 : 0;
    mallopt(M_TRIM_THRESHOLD, 1 << 30); /* what is freed can still be written to */
    block = is_mapped() ? map(NULL, 0) : malloc(BLOCK);
    low = block + skipped;
    stack_t s = {.ss_sp = low, .ss_size = STACK};
    host_check(sigaltstack(&s, NULL) == 0, "there is an alternate stack");
    if (!is_mapped()) {
        char *same = realloc(block, BLOCK);
        host_check(same != NULL, "there is memory");
        low = same + skipped;
        if (same != block) { /* it was moved: it is sampled, or was */
            s.ss_sp = low;
            sigaltstack(&s, NULL);
        }
        block = same;
    }
}

/* True when memory that can still be written to is there. */
static int take_away(void)
{
    char *p = host_hide(block);
    if (is_it("munmap")) {
        munmap(p, BLOCK);
    } else if (is_it("protect")) {
        mprotect(p, BLOCK, PROT_READ);
    } else if (is_it("move")) {
        void *q = mmap(NULL, 4 * BLOCK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        host_check(mremap(p, BLOCK, 2 * BLOCK, MREMAP_MAYMOVE | MREMAP_FIXED, q) == q, "it moves");
    } else if (is_it("over")) {
        host_check(map(p, MAP_FIXED) == p, "something else is there");
    } else if (is_it("realloc")) {
        host_check(host_hide(realloc(p, 64 * BLOCK)) != low, "it has moved");
    } else {
        free(p);
    }
    return !is_it("munmap") && !is_it("protect") && !is_it("move");
}

static void fill(char *end)
{
    memset(end - LOOKED_AT, 'f', LOOKED_AT);
}

static int is_filled(const char *end)
{
    size_t same = 0;
    for (size_t i = 1; i <= LOOKED_AT; i++) {
        same += end[-(long)i] == 'f';
    }
    return same == LOOKED_AT;
}

static void await(int wanted)
{
    while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < wanted) {
        usleep(1000);
    }
}

static void reach(int done)
{
    __atomic_store_n(&step, done, __ATOMIC_RELEASE);
}

/* Takes the stack away while its thread computes, unless that does so itself. */
static void lose_it(void)
{
    char *end = host_hide(low + STACK);
    int is_there = take_away();
    if (is_there) {
        fill(end);
    }
    if (is_by_other) {
        reach(2);
        await(3);
    } else {
        without();
    }
    if (is_there) {
        host_check(is_filled(end), "nobody has written there");
    }
}

static void *life(void *arg)
{
    stack_t now;
    make();
    before();
    if (is_by_other) {
        reach(1);
        while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < 2) {
            host_burn(1);
        }
        without();
        reach(3);
    } else {
        lose_it();
    }
    host_check(sigaltstack(NULL, &now) == 0 && now.ss_sp == low && now.ss_size == STACK &&
                   now.ss_flags == 0,
               "the alternate stack is as it was set");
    if (is_it("free") || is_it("inside") || is_it("over")) {
        await(is_by_other ? 4 : 0);
        raise(SIGUSR1);
        host_check(at - (uintptr_t)low < STACK, "the handler runs there");
    }
    stack_t s = {.ss_sp = second, .ss_size = sizeof(second)};
    host_check(sigaltstack(&s, &now) == 0 && now.ss_sp == low, "there is another one");
    behind();
    raise(SIGUSR1);
    host_check(at - (uintptr_t)second < STACK, "the handler runs on that");
    return arg;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 2;
    }
    if (argc > 3) {
        putenv(argv[3]);
        argv[3] = NULL;
        execv("/proc/self/exe", argv);
        return 3;
    }
    how = argv[1];
    is_by_other = strcmp(argv[2], "other") == 0;
    struct sigaction a = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &a, NULL);
    if (is_by_other) {
        pthread_t t;
        pthread_create(&t, NULL, life, NULL);
        await(1);
        lose_it();
        reach(4);
        pthread_join(t, NULL);
    } else {
        life(NULL);
    }
    return host_end("an alternate stack without its memory");
}
