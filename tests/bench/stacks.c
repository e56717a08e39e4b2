/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates under many different stacks: stacks COUNT ALLOCATIONS ROUNDS PAUSE_MS. A stack
 * is the digits of its number, four to the power of the depth: as many different call paths as
 * wanted from eight call sites. A round allocates ALLOCATIONS blocks, spread over COUNT stacks, and
 * frees them. Reads its resident memory after each round, and prints at the end, in KiB, the least
 * and the most of a tenth of the rounds, from the half of them on, then those of the last tenth: a
 * flush takes memory while it lasts, so that a single reading tells of nothing but its moment.
 *
 * The reading is smaps_rollup, which counts pages: statm and status tell of counters that each
 * thread or processor keeps a part of to itself, on some kernels. Nothing is printed between the
 * readings, since what stdio reaches for the first time is resident from then on.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../call_paths.h"

#define DEPTH 10

struct range {
    long least;
    long most;
};

static void widen(struct range *r, long value)
{
    r->least = r->most == 0 || value < r->least ? value : r->least;
    r->most = value > r->most ? value : r->most;
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
    long tenth = rounds < 10 ? 1 : rounds / 10;
    struct range half = {0, 0};
    struct range end = {0, 0};
    for (long r = 0; r < rounds; r++) {
        for (long i = 0; i < allocations; i++) {
            descend((unsigned)i % count, DEPTH);
        }
        nanosleep(&pause, NULL);
        long now = rollup_kib("\nRss:");
        if (r >= rounds / 2 && r < rounds / 2 + tenth) {
            widen(&half, now);
        }
        if (r >= rounds - tenth) {
            widen(&end, now);
        }
    }
    printf("%ld %ld %ld %ld\n", half.least, half.most, end.least, end.most);
    return end.least == 0; /* no reading */
}
