/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that more exit handlers than libc keeps without allocating all run, in order. */
/* host: rows B11 B112 */
/* host: set OTELPROF_HEAP_INTERVAL=1 */
/* host: sees alloc_objects at_end */
#include "host.h"

static int calls;
static void *kept[200];

HOST_NOINLINE static void at_end(void)
{
    kept[calls] = host_hide(malloc(64));
    calls++;
    if (calls % 50 == 0) {
        printf("%d exit handlers\n", calls);
        fflush(stdout);
    }
}

static void at_end_quick(void)
{
    at_end();
}

__attribute__((constructor)) static void before_main(void)
{
    for (int i = 0; i < 100; i++) {
        atexit(at_end);
    }
}

int main(int argc, char **argv)
{
    for (int i = 0; i < 100; i++) {
        atexit(at_end);
        at_quick_exit(at_end_quick);
    }
    host_end("exit handlers");
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "quick") == 0) {
        quick_exit(4);
    }
    return 4;
}
/* host: runs exit|quick */
