/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that two thousand threads alive at once run, allocate and end. */
/* host: rows B73 B109 */
/* host: set OTELPROF_HEAP_INTERVAL=64k OTELPROF_CPU_HZ=1000 */
/* host: sees cpu only_burner */
#include "host.h"

#include <pthread.h>

#define THREADS 2000

static pthread_barrier_t all_there;

static void *idle(void *arg)
{
    void *p = host_hide(malloc(20000));
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&all_there);
    free(p);
    return arg;
}

HOST_NOINLINE static void only_burner(void)
{
    host_burn(100);
}

int main(void)
{
    static pthread_t t[THREADS];
    int good = 0;
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 131072);
    pthread_barrier_init(&all_there, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&t[i], &a, idle, &good) != 0) {
            host_check(0, "every thread can be made");
            return host_end("too few");
        }
    }
    pthread_barrier_wait(&all_there);
    only_burner();
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(t[i], &result);
        good += result == &good;
    }
    host_check(good == THREADS, "every thread came to its end");
    return host_end("2000 threads at once");
}
