/* SPDX-License-Identifier: Apache-2.0 */
/* The library that is exchanged. OTHER: the one that comes, with other names at the same places. */
#include <stdlib.h>

#ifdef OTHER
#define NAME(x) other_##x
#else
#define NAME(x) swapped_##x
#endif

void *NAME(kept);
void NAME(run)(void);

__attribute__((noinline)) static void NAME(inner)(void)
{
    for (int i = 0; i < 20; i++) {
        NAME(kept) = malloc(10000);
    }
}

void NAME(run)(void)
{
    NAME(inner)();
    __asm__ volatile("");
}
