/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a block which was sampled and is freed twice is refused by the allocator like any
 * other, also while it is kept for the next sample.
 */
/* host: rows B04 B80 */
/* host: flags -fno-builtin -Wno-use-after-free */
/* host: set OTELPROF_HEAP_INTERVAL=256k OTELPROF_CPU=false */
/* host: runs 1000|30000 */
/* host: sees alloc_objects once */
#include "host.h"

#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>

/* So much is allocated in each child that something of it is sampled. */
#define BYTES ((size_t)2 << 20)
#define CHILDREN 20
#define SURVIVED 7
#define NOT_SEEN 8

/* Sampled blocks lie at the start of a page at this interval; others hardly ever do. */
HOST_NOINLINE static int twice(size_t size)
{
    void *next = host_hide(malloc(size)); /* so that what is freed does not join the rest */
    for (size_t i = 0; i < BYTES / size; i++) {
        void *p = host_hide(malloc(size));
        free(p);
        if (p != NULL && (uintptr_t)p % 4096 == 0) {
            free(host_hide(p));
            return SURVIVED;
        }
    }
    free(next);
    return NOT_SEEN;
}

HOST_NOINLINE static void once(size_t size)
{
    for (size_t i = 0; i < 4 * BYTES / size; i++) {
        free(host_hide(malloc(size)));
    }
}

int main(int argc, char **argv)
{
    size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    int refused = 0;
    int survived = 0;
    for (int i = 0; i < CHILDREN; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            close(STDERR_FILENO);
            for (size_t k = 0; k < (size_t)i * 16384 / size; k++) {
                free(host_hide(malloc(size))); /* the first sample comes at another moment */
            }
            _exit(twice(size));
        }
        waitpid(child, &status, 0);
        refused += WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
        survived += !WIFSIGNALED(status) && WEXITSTATUS(status) != NOT_SEEN;
    }
    host_check(survived == 0, "each second free is refused");
    host_check(refused > 0 || getenv("LD_PRELOAD") == NULL, "there were some");
    once(size);
    return host_end("freed twice");
}
