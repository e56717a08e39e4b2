/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of these tests share. They are built by the compiler of each root. */
#ifndef OTP_ROOTS_COMMON_H
#define OTP_ROOTS_COMMON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long burnt;
static void *volatile allocated;

/* Uses so much CPU time of the process. */
__attribute__((noinline, unused)) static void burn_here(int ms)
{
    clock_t end = clock() + (clock_t)ms * (CLOCKS_PER_SEC / 1000);
    while (clock() < end) {
        for (int i = 0; i < 10000; i++) {
            burnt = burnt * 3 + 1;
        }
    }
}

__attribute__((noinline, unused)) static void allocate_here(int count)
{
    for (int i = 0; i < count; i++) {
        allocated = malloc(100);
        free(allocated);
    }
}

#endif
