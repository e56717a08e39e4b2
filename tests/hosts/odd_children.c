/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that children that no fork handler is told of (clone, raw fork) end as they do without us,
 * also when nothing was sampled before they began.
 */
/* host: rows B16 */
/* host: set OTELPROF_HEAP_INTERVAL=64k OTELPROF_CPU_HZ=1000 */
/* host: sees cpu burn */
/* host: runs copy|vm|vfork|raw */
#define _GNU_SOURCE
#include "host.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define STACK (256 * 1024)

HOST_NOINLINE static void burn(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        __asm__ volatile("" ::: "memory");
    }
}

static int child(void *arg)
{
    for (int i = 0; i < 100; i++) {
        free(malloc(50000));
    }
    burn(300000000);
    _exit(7 + (arg != NULL));
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int flags = SIGCHLD | (strcmp(how, "vm") == 0      ? CLONE_VM
                           : strcmp(how, "vfork") == 0 ? CLONE_VFORK
                                                       : 0);
    static char stack[STACK] __attribute__((aligned(16)));
    int status = 0;
    for (int i = 0; i < 3; i++) {
        long pid =
            strcmp(how, "raw") == 0 ? syscall(SYS_fork) : clone(child, stack + STACK, flags, NULL);
        if (pid == 0) {
            child(NULL);
        }
        waitpid((pid_t)pid, &status, 0);
        printf("status %#x\n", status);
    }
    burn(300000000);
    return 0;
}
