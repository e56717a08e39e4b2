/* SPDX-License-Identifier: Apache-2.0 */
/* 300,000 blocks of 64 bytes from one place, all live at the end: more than small tables list. */
#include <stdio.h>
#include <stdlib.h>

#define BLOCKS 300000

static void *blocks[BLOCKS];

__attribute__((noinline)) void *make_live(size_t size)
{
    return malloc(size);
}

int main(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = make_live(64);
    }
    printf("%d\n", BLOCKS);
    return 0;
}
