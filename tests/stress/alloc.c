/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that 256 threads which allocate at once, free each other's blocks, and are sampled at each
 * allocation, corrupt nothing and come to an end. */
/* stress: set CPU_HZ=1000 HEAP_INTERVAL=1 INTERVAL=200ms MEMORY_LIMIT=32m */
/* stress: set CPU_HZ=1000 HEAP_INTERVAL=256k INTERVAL=200ms MEMORY_LIMIT=32m */
/* stress: sees alloc_objects allocates */
#include "growth.h"

#include <pthread.h>
#include <stdint.h>

#define THREADS 256
#define ROUNDS 1500
#define SLOTS 4096

static unsigned char *slots[SLOTS];
static pthread_barrier_t all_there;
static int corrupted;

/* The size is in the block, and its last byte follows from it. */
static void check(unsigned char *p)
{
    uint32_t size;
    if (p == NULL) {
        return;
    }
    memcpy(&size, p, sizeof(size));
    if (p[size - 1] != (unsigned char)(size * 31)) {
        (void)__atomic_fetch_add(&corrupted, 1, __ATOMIC_RELAXED);
    }
    free(p);
}

static unsigned char *sized(unsigned char *p, uint32_t size)
{
    memcpy(p, &size, sizeof(size));
    p[size - 1] = (unsigned char)(size * 31);
    return p;
}

__attribute__((noinline)) static void *allocates(void *arg)
{
    uint32_t x = (uint32_t)(size_t)arg + 1;
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < ROUNDS; i++) {
        x = x * 1664525U + 1013904223U;
        uint32_t size = 8 + (x >> 8) % (i % 50 == 0 ? 200000 : 3000);
        unsigned char *p = (x >> 28) == 0 ? calloc(1, size) : malloc(size);
        if (i % 7 == 0) {
            size += 500;
            p = realloc(p, size);
        }
        check(__atomic_exchange_n(&slots[(x >> 4) % SLOTS], sized(p, size), __ATOMIC_ACQ_REL));
    }
    return arg;
}

static void wave(void)
{
    static pthread_t t[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        if (pthread_create(&t[i], NULL, allocates, (void *)i) != 0) {
            printf("a thread cannot be made\n");
            exit(1);
        }
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
    }
    for (size_t i = 0; i < SLOTS; i++) {
        check(__atomic_exchange_n(&slots[i], NULL, __ATOMIC_ACQ_REL));
    }
}

int main(void)
{
    pthread_barrier_init(&all_there, NULL, THREADS);
    wave();
    struct growth warm = growth_now();
    wave();
    /* Arenas of the allocator come and go: memory is not looked at closely here. */
    growth_compare(warm, 200000, 400);
    printf("%d threads twice, %d blocks corrupted\n", THREADS, corrupted);
    return corrupted != 0 || growth_failures != 0;
}
