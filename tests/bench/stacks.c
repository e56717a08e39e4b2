/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates under many different stacks: stacks COUNT ALLOCATIONS ROUNDS PAUSE_MS. A stack
 * is the digits of its number, four to the power of the depth: as many different call paths as
 * wanted from eight call sites. A round allocates ALLOCATIONS blocks, spread over COUNT stacks, and
 * frees them. Prints the resident KiB after half of the rounds, then after the last.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 10

static void *volatile sink;

static long resident_kib(void)
{
    char line[256];
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        pages = strtol(strchr(line, ' '), NULL, 10);
    }
    if (f != NULL) {
        fclose(f);
    }
    return pages * 4;
}

__attribute__((noinline)) static void descend(unsigned digits, int left)
{
    volatile int pad = 0;
    if (left == 0) {
        sink = malloc(64);
        free(sink);
        return;
    }
    switch (digits & 3) {
    case 0:
        descend(digits >> 2, left - 1);
        break;
    case 1:
        descend(digits >> 2, left - 1);
        pad = 1;
        break;
    case 2:
        descend(digits >> 2, left - 1);
        pad = 2;
        break;
    default:
        descend(digits >> 2, left - 1);
        pad = 3;
        break;
    }
    (void)pad;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        return 2;
    }
    unsigned count = (unsigned)strtoul(argv[1], NULL, 10);
    long allocations = strtol(argv[2], NULL, 10);
    long rounds = strtol(argv[3], NULL, 10);
    long pause_ms = strtol(argv[4], NULL, 10);
    struct timespec pause = {.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000};
    (void)resident_kib(); /* reading it touches pages as well */
    setvbuf(stdout, NULL, _IONBF, 0);
    for (long r = 0; r < rounds; r++) {
        for (long i = 0; i < allocations; i++) {
            descend((unsigned)i % count, DEPTH);
        }
        nanosleep(&pause, NULL);
        if (r == rounds / 2 || r == rounds - 1) {
            printf("%ld\n", resident_kib());
        }
    }
    return 0;
}
