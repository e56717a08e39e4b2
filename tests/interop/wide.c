/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wide COUNT: allocates COUNT times, each time through another chain of calls: a profile with many
 * different stacks, too large for one request of a Collector's gRPC receiver.
 */
#include <stdio.h>
#include <stdlib.h>

#define DEPTH 40

static void *volatile last;

__attribute__((noinline)) static unsigned left(unsigned long path, unsigned depth);
__attribute__((noinline)) static unsigned right(unsigned long path, unsigned depth);

/* The sums keep the calls from becoming jumps. */
static unsigned go(unsigned long path, unsigned depth)
{
    if (depth == 0) {
        free(last);
        last = malloc(64);
        return 1;
    }
    return path & 1 ? left(path >> 1, depth - 1) + 1 : right(path >> 1, depth - 1) + 2;
}

static unsigned left(unsigned long path, unsigned depth)
{
    return go(path, depth) + 1;
}

static unsigned right(unsigned long path, unsigned depth)
{
    return go(path, depth) + 3;
}

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    unsigned sum = 0;
    for (unsigned long i = 0; i < count; i++) {
        sum += left(i * 0x9e3779b97f4a7c15UL, DEPTH);
    }
    return sum == 0;
}
