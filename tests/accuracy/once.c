/* SPDX-License-Identifier: Apache-2.0 */
/*
 * once THREADS SIZE [BLOCKS]: each thread allocates BLOCKS (1) blocks of SIZE bytes in its life,
 * and leaves every other one of them to be freed by the next thread. Prints "once_work objects
 * space live_objects live_space".
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

static size_t size;
static long blocks = 1;
static long live;
static void *left_behind; /* by the last thread that left one */

static void *opaque(void *p)
{
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

NOINLINE void *once_work(void *arg)
{
    long me = (long)(intptr_t)arg;
    for (long i = 0; i < blocks; i++) {
        void *p = opaque(malloc(size));
        if ((me + i) % 2 == 0) {
            free(p);
            continue;
        }
        p = __atomic_exchange_n(&left_behind, p, __ATOMIC_ACQ_REL);
        if (p != NULL && me % 4 == 1) {
            free(p);
        } else if (p != NULL) {
            __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long threads = argc > 2 ? atol(argv[1]) : 0;
    size = argc > 2 ? (size_t)atol(argv[2]) : 0;
    blocks = argc > 3 ? atol(argv[3]) : 1;
    pthread_t t[4];
    for (long i = 0; i < threads; i += 4) {
        for (long k = 0; k < 4; k++) {
            pthread_create(&t[k], NULL, once_work, (void *)(intptr_t)(i + k));
        }
        for (int k = 0; k < 4; k++) {
            pthread_join(t[k], NULL);
        }
    }
    live += left_behind != NULL;
    long total = (threads + 3) / 4 * 4 * blocks;
    printf("once_work %ld %ld %ld %ld\n", total, total * (long)size, live, live * (long)size);
    return 0;
}
