/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that tasks made by clone itself get along with us: threads with thread-local data of their
 * own, processes that share memory, processes that do not.
 */
/* host: rows B16 B30 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 OTELPROF_INTERVAL=100ms */
/* host: sees alloc_objects parent_allocates */
/* host: runs thread|vm|fork|raw-fork */
#include "host.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define STACK (256 * 1024)

static int tid_word;
static volatile unsigned long spun;

HOST_NOINLINE static void parent_allocates(void)
{
    for (int i = 0; i < 1000; i++) {
        free(host_hide(malloc(100)));
    }
}

/* No library call: there may be no thread-local data. */
HOST_NOINLINE static int spin_alone(void *arg)
{
    (void)arg;
    for (unsigned long i = 0; i < 100000000; i++) {
        spun = i;
    }
    return 0;
}

static int ends_well(void *arg)
{
    (void)arg;
    parent_allocates();
    _exit(5);
}

static void run_thread(char *stack)
{
    /* A block of its own for %fs, with nothing in it but the pointer to itself. */
    static uint64_t block[64] __attribute__((aligned(64)));
    block[32] = (uintptr_t)&block[32];
    tid_word = 1;
    int r = clone(spin_alone, stack + STACK,
                  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                      CLONE_SETTLS | CLONE_CHILD_CLEARTID,
                  NULL, NULL, &block[32], &tid_word);
    host_check(r > 0, "a thread of clone's");
    while (__atomic_load_n(&tid_word, __ATOMIC_ACQUIRE) != 0) {
        parent_allocates();
        host_burn(1);
    }
}

static void run_process(char *stack, int flags)
{
    int status = -1;
    int r = clone(flags == 0 ? ends_well : spin_alone, stack + STACK, flags | SIGCHLD, NULL);
    host_check(r > 0, "a process of clone's");
    parent_allocates();
    waitpid(r, &status, 0);
    host_check(WIFEXITED(status) && WEXITSTATUS(status) == (flags == 0 ? 5 : 0), "it ended well");
}

static void run_raw(void)
{
    int status = -1;
    long r = syscall(SYS_fork);
    if (r == 0) {
        parent_allocates();
        exit(5);
    }
    waitpid((pid_t)r, &status, 0);
    host_check(WIFEXITED(status) && WEXITSTATUS(status) == 5, "it ended well");
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "thread";
    char *stack =
        mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    parent_allocates();
    for (int i = 0; i < 3; i++) {
        if (strcmp(how, "thread") == 0) {
            run_thread(stack);
        } else if (strcmp(how, "vm") == 0) {
            run_process(stack, CLONE_VM);
        } else if (strcmp(how, "fork") == 0) {
            run_process(stack, 0);
        } else {
            run_raw();
        }
    }
    parent_allocates();
    return host_end("three tasks of clone's");
}
