/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calm SECONDS [PAUSE_MS]: a program that does next to nothing, so that hundreds of it fit on one
 * machine, but has something to report in every interval: after each pause (of half a second) it
 * allocates and works for a millisecond. Prints "done" and returns 3.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void work(void)
{
    double end = now(CLOCK_THREAD_CPUTIME_ID) + 0.001;
    char *block = malloc(65536);
    if (block == NULL) {
        exit(4);
    }
    do {
        memset(block, 1, 65536);
    } while (now(CLOCK_THREAD_CPUTIME_ID) < end);
    free(block);
}

int main(int argc, char **argv)
{
    double end = now(CLOCK_MONOTONIC) + (argc > 1 ? atof(argv[1]) : 1);
    long pause_ms = argc > 2 ? atol(argv[2]) : 500;
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = pause_ms * 1000000};
    while (now(CLOCK_MONOTONIC) < end) {
        work();
        nanosleep(&pause, NULL);
    }
    puts("done");
    return 3;
}
