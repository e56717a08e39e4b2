/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reuse THREADS ROUNDS SIZE: threads that share one arena without caches (the caller's
 * GLIBC_TUNABLES see to that) free blocks whose addresses another thread gets the same instant.
 * Each keeps a few to the end. Prints "reuse_N objects space live_objects live_space" for each
 * thread, and how often a thread got an address that another had just given back.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KEPT 7
#define NOINLINE __attribute__((noinline, noclone))
#define MAX_THREADS 4

static long rounds;
static size_t size;
static void *given_back; /* the last address that was freed, and by whom, in its low bits */
static long taken_over;
static pthread_barrier_t together;
static void *volatile kept[MAX_THREADS][KEPT];

static inline __attribute__((always_inline)) void run(uintptr_t me)
{
    pthread_barrier_wait(&together);
    for (long i = 0; i < rounds; i++) {
        if (i % 64 == 0) {
            sched_yield();
        }
        void *p = malloc(size + me);
        __asm__ volatile("" : "+r"(p) : : "memory");
        uintptr_t last = (uintptr_t)__atomic_load_n(&given_back, __ATOMIC_RELAXED);
        if ((last & ~(uintptr_t)7) == (uintptr_t)p && (last & 7) != me) {
            __atomic_add_fetch(&taken_over, 1, __ATOMIC_RELAXED);
        }
        if (i >= rounds - KEPT) {
            kept[me][i - (rounds - KEPT)] = p;
            continue;
        }
        __atomic_store_n(&given_back, (void *)((uintptr_t)p | me), __ATOMIC_RELAXED);
        free(p);
    }
}

#define REUSE(n)                                                                                   \
    static NOINLINE void *reuse_##n(void *arg)                                                     \
    {                                                                                              \
        (void)arg;                                                                                 \
        run(n);                                                                                    \
        return NULL;                                                                               \
    }
REUSE(0)
REUSE(1)
REUSE(2)
REUSE(3)

int main(int argc, char **argv)
{
    static void *(*const runs[MAX_THREADS])(void *) = {reuse_0, reuse_1, reuse_2, reuse_3};
    int threads = argc > 3 ? atoi(argv[1]) : 0;
    rounds = argc > 3 ? atol(argv[2]) : 0;
    size = argc > 3 ? (size_t)atol(argv[3]) : 0;
    pthread_t t[MAX_THREADS];
    if (threads < 1 || threads > MAX_THREADS) {
        return 2;
    }
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        pthread_create(&t[i], NULL, runs[i], NULL);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(t[i], NULL);
    }
    for (long i = 0; i < threads; i++) {
        long bytes = (long)size + i;
        printf("reuse_%ld %ld %ld %d %ld\n", i, rounds, rounds * bytes, KEPT, KEPT * bytes);
    }
    printf("taken_over %ld\n", taken_over);
    return 0;
}
