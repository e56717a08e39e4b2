/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that 16 threads allocate on while flush follows flush, and no block is mixed up. */
/* host: rows B31 B24 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 OTELPROF_INTERVAL=10ms */
/* host: sees alloc_objects fill_and_check */
#include "host.h"

#include <pthread.h>

#define THREADS 16
#define SLOTS 64

HOST_NOINLINE static void *fill_and_check(void *arg)
{
    unsigned char *slot[SLOTS] = {NULL};
    size_t size[SLOTS] = {0};
    long wrong = 0;
    unsigned seed = (unsigned)(size_t)&slot;
    for (int i = 0; i < 20000; i++) {
        unsigned n = (seed = seed * 1103515245U + 12345U) >> 16;
        unsigned k = n % SLOTS;
        if (slot[k] != NULL) {
            wrong += slot[k][0] != (unsigned char)k || slot[k][size[k] - 1] != (unsigned char)k;
            free(slot[k]);
        }
        size[k] = n % 5000 + 1;
        slot[k] = malloc(size[k]);
        memset(slot[k], (int)k, size[k]);
    }
    for (int k = 0; k < SLOTS; k++) {
        free(slot[k]);
    }
    return wrong == 0 ? arg : NULL;
}

int main(void)
{
    pthread_t t[THREADS];
    int good = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&t[i], NULL, fill_and_check, &good);
    }
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(t[i], &result);
        good += result == &good;
    }
    host_check(good == THREADS, "every block kept what was written to it");
    return host_end("16 threads, 320000 blocks");
}
