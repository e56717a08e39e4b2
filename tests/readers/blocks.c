/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that use CPU time, and functions that allocate: what stays, what goes, what grows. */
#include <stdlib.h>

static volatile double sink;
static void *volatile kept[4096];

__attribute__((noinline)) static void first(int n)
{
    for (int i = 0; i < n; i++) {
        sink = sink + i * 0.5;
    }
    sink = 0;
}

__attribute__((noinline)) static void second(int n)
{
    for (int i = 0; i < n; i++) {
        sink = sink * 0.5 + i;
    }
    sink = 0;
}

__attribute__((noinline)) static void keep(int i)
{
    kept[i] = malloc(1000 + (size_t)i % 7);
    sink = i;
}

__attribute__((noinline)) static void pass(int i)
{
    void *volatile p = malloc(300 + (size_t)i % 5);
    free(p);
    sink = i;
}

__attribute__((noinline)) static void grow(void)
{
    static void *volatile p;
    for (size_t size = 10; size < 100000; size *= 2) {
        p = realloc(p, size);
    }
    sink = 0;
}

int main(void)
{
    for (int i = 0; i < 2000; i++) {
        keep(i);
        pass(i);
    }
    grow();
    for (int i = 0; i < 60; i++) {
        first(1000000);
        second(500000);
    }
    return 0;
}
