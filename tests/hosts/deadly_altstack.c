/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a signal which ends the program ends it by that signal, although there would be no
 * room for a handler on its alternate stack, or no such stack any more.
 */
/* host: rows B55 */
/* host: set OTELPROF_HEAP_INTERVAL=1 */
/* host: sees alloc_objects takes */
/* host: runs small|unmapped|freed|small OTELPROF_CPU=false|unmapped OTELPROF_CPU=false */
#include "host.h"

#include <signal.h>
#include <sys/mman.h>

#define BYTES ((size_t)64 << 10)
#define SMALLEST 2048

HOST_NOINLINE static void takes(void)
{
    for (int i = 0; i < 100; i++) {
        free(host_hide(malloc(100)));
    }
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        putenv(argv[2]);
        argv[2] = NULL;
        execv("/proc/self/exe", argv);
        return 3;
    }
    int is_small = argc > 1 && strcmp(argv[1], "small") == 0;
    int is_freed = argc > 1 && strcmp(argv[1], "freed") == 0;
    char *low = is_freed ? malloc(16 * BYTES)
                         : mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t s = {.ss_sp = low + BYTES, .ss_size = is_small ? SMALLEST : BYTES};
    takes();
    if (sigaltstack(&s, NULL) != 0) {
        return 2;
    }
    if (is_small) {
        mprotect(low, BYTES, PROT_NONE);
    } else if (is_freed) {
        free(low); /* a mapping of its own */
    } else {
        munmap(low, 2 * BYTES);
    }
    printf("about to end\n");
    fflush(stdout);
    raise(SIGTERM);
    return 1;
}
