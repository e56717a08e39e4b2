/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that ten million allocations of a thousand stacks, each recorded, over a hundred flushes
 * and more leave not a page behind: what is resident after half of them is what is resident at the
 * end. */
/* stress: set CPU=false HEAP_INTERVAL=1 INTERVAL=50ms */
/* stress: set CPU_HZ=4000 HEAP_INTERVAL=1 INTERVAL=50ms */
/* stress: sees alloc_objects descend */
/* stress: profiles 100 */
#include "growth.h"

#include <time.h>

#include "../call_paths.h"

#define STACKS 1000U
#define DEPTH 5 /* four to the power of it is more than STACKS */
#define ALLOCATIONS 100000U
#define ROUNDS 100
#define READINGS 4
#define NEW_NAMES_KIB 1024 /* ticks are in new places: what is kept of them goes up and down */

/* Private pages, as the kernel counts them: those of libc's code come as they are needed. A flush
 * takes memory while it lasts: the least of many readings is what stays. */
static void anonymous_kib(long *least)
{
    static const struct timespec moment = {.tv_nsec = 3000000};
    for (int i = 0; i < READINGS; i++) {
        nanosleep(&moment, NULL);
        long kib = rollup_kib("\nAnonymous:");
        *least = *least == 0 || kib < *least ? kib : *least;
    }
}

int main(void)
{
    struct growth warm = {0, 0, 0, 0, 0, 0};
    long half = 0;
    long end = 0;
    for (int r = 0; r < ROUNDS; r++) {
        for (unsigned i = 0; i < ALLOCATIONS; i++) {
            descend(i % STACKS, DEPTH);
        }
        if (r == 0 || r == ROUNDS / 4) { /* from one place: what it allocates are stacks, too */
            warm = growth_now();
        }
        anonymous_kib(r < ROUNDS / 2 ? &half : &end);
        if (r == ROUNDS / 4) {
            half = 0; /* what came before is the warming up */
        }
    }
    growth_check("private KiB", half, end, getenv("OTELPROF_CPU_HZ") == NULL ? 0 : NEW_NAMES_KIB);
    growth_compare(warm, 2048, 16); /* in the middle of a flush, perhaps */
    printf("%u allocations of %u stacks, memory was %s\n", ROUNDS * ALLOCATIONS, STACKS,
           half > 0 && end > 0 ? "read" : "not read");
    return growth_failures != 0;
}
