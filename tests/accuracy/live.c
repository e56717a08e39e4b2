/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live SECONDS [SLOTS]: a leak made once at the start, and a set of blocks that is replaced again
 * and again but stays the same in number and sizes; half of it is replaced by another thread than
 * the one that allocated. Ends when its main thread has used that much CPU time. Prints, as
 * "NAME objects space live_objects live_space", leak_once and churn.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_SLOTS 20000
#define LEAKED 4000
#define NOINLINE __attribute__((noinline, noclone))

static const size_t sizes[4] = {48, 300, 5000, 70000};
static void *slots[MAX_SLOTS];
static long slot_count = 2000;
static long made[4];
static int is_over;

static double cpu_seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

NOINLINE void leak_once(void)
{
    static void *volatile leaked;
    for (long i = 0; i < LEAKED; i++) {
        leaked = malloc(sizes[i % 4]);
    }
    (void)leaked;
}

/* Slot i always holds a block of the size that its number says. */
NOINLINE void churn(long i)
{
    void *fresh = malloc(sizes[i % 4]);
    __atomic_add_fetch(&made[i % 4], 1, __ATOMIC_RELAXED);
    free(__atomic_exchange_n(&slots[i], fresh, __ATOMIC_ACQ_REL));
}

static void *replace(void *arg)
{
    uint64_t state = (uint64_t)(uintptr_t)arg;
    while (__atomic_load_n(&is_over, __ATOMIC_RELAXED) == 0) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        churn((long)((state >> 33) % (uint64_t)slot_count));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    slot_count = argc > 2 ? atol(argv[2]) : slot_count;
    leak_once();
    for (long i = 0; i < slot_count; i++) {
        churn(i);
    }
    pthread_t t;
    pthread_create(&t, NULL, replace, (void *)(uintptr_t)1);
    uint64_t state = 2;
    while (cpu_seconds() < seconds) {
        for (int k = 0; k < 100; k++) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            churn((long)((state >> 33) % (uint64_t)slot_count));
        }
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    pthread_join(t, NULL);
    long space[2] = {0};
    long objects = 0;
    for (long i = 0; i < 4; i++) {
        objects += made[i];
        space[0] += made[i] * (long)sizes[i];
        space[1] += slot_count / 4 * (long)sizes[i];
    }
    printf("churn %ld %ld %ld %ld\n", objects, space[0], slot_count, space[1]);
    long leaked = LEAKED / 4 * (long)(sizes[0] + sizes[1] + sizes[2] + sizes[3]);
    printf("leak_once %d %ld %d %ld\n", LEAKED, leaked, LEAKED, leaked);
    return 0;
}
