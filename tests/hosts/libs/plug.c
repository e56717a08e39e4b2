/* SPDX-License-Identifier: Apache-2.0 */
/* Something to load and unload: it allocates when loaded and burns when asked to. */
#include <stdlib.h>

static void *kept;

__attribute__((constructor)) static void plug_loaded(void)
{
    kept = malloc(1000);
}

__attribute__((destructor)) static void plug_unloaded(void)
{
    free(kept);
}

unsigned long plug_work(unsigned long rounds);
unsigned long plug_work(unsigned long rounds)
{
    unsigned long x = rounds;
    void *p = malloc(64);
    for (unsigned long i = 0; i < rounds; i++) {
        x = x * 1103515245UL + 12345UL;
        __asm__ volatile("" : "+r"(x));
    }
    free(p);
    return x;
}
