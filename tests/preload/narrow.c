/* SPDX-License-Identifier: Apache-2.0 */
/*
 * narrow COUNT STACKS: COUNT allocations of 1,000 bytes, each in a span of its own, in so many
 * different stacks of about 100 frames. The last 4,096 of them stay. Prints how many there were.
 */
#include "core/api/otelprof.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH 95
#define NOINLINE __attribute__((noinline, noclone))

static void *kept[4096];

NOINLINE void make_one(unsigned number);
NOINLINE void turn_left(unsigned path, unsigned depth, unsigned number);
NOINLINE void turn_right(unsigned path, unsigned depth, unsigned number);

NOINLINE void make_one(unsigned number)
{
    void **slot = &kept[number % 4096];
    free(*slot);
    *slot = malloc(1000);
    if (*slot == NULL) {
        exit(1);
    }
}

static inline __attribute__((always_inline)) void go_on(unsigned path, unsigned depth,
                                                        unsigned number)
{
    if (depth == 0) {
        make_one(number);
    } else if ((path & 1) != 0) {
        turn_left(path >> 1, depth - 1, number);
    } else {
        turn_right(path >> 1, depth - 1, number);
    }
    __asm__ volatile("");
}

NOINLINE void turn_left(unsigned path, unsigned depth, unsigned number)
{
    go_on(path, depth, number);
}

NOINLINE void turn_right(unsigned path, unsigned depth, unsigned number)
{
    go_on(path, depth, number);
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 2;
    }
    unsigned count = (unsigned)atoi(argv[1]);
    unsigned stacks = (unsigned)atoi(argv[2]);
    for (unsigned n = 1; n <= count; n++) {
        uint64_t span = n;
        uint64_t trace[2] = {n, 1};
        otelprof_span_set(trace, &span);
        turn_left(n % stacks, DEPTH, n);
        otelprof_span_clear();
    }
    printf("%u\n", count);
    return 0;
}
