/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates at the bottom of a recursion: deep DEPTH. */
#include <stdio.h>
#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline, noclone)) int deep_down(int left)
{
    if (left <= 1) {
        kept = malloc(1000000);
        return 0;
    }
    int r = deep_down(left - 1) + 1;
    __asm__ volatile("" : "+r"(r));
    return r;
}

int main(int argc, char **argv)
{
    printf("%d\n", deep_down(argc > 1 ? atoi(argv[1]) : 10));
    return 0;
}
