/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that a thread whose whole life is calloc, malloc and free, calloc first, runs as ever. */
/* host: rows B01 B25 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees alloc_objects first_calloc */
#include "host.h"

#include <pthread.h>

#define THREADS 1000

HOST_NOINLINE static void *first_calloc(size_t n)
{
    return host_hide(calloc(n, 3));
}

static void *life(void *arg)
{
    long sum = 0;
    unsigned char *p = first_calloc(100);
    for (int i = 0; i < 300; i++) {
        sum += p[i];
    }
    for (int i = 1; i < 200; i++) {
        void *q = host_hide(malloc((size_t)i));
        memset(q, i, (size_t)i);
        free(q);
    }
    free(p);
    return (void *)sum == NULL ? arg : NULL;
}

int main(void)
{
    int good = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_t t;
        void *result = NULL;
        if (pthread_create(&t, NULL, life, &good) == 0 && pthread_join(t, &result) == 0) {
            good += result == &good;
        }
    }
    host_check(good == THREADS, "every thread got zeroed memory");
    return host_end("1000 short threads");
}
