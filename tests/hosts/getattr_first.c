/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that pthread_getattr_np, which locks and allocates, works as the first act of threads. */
/* host: rows B26 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees alloc_objects ask_first */
#include "host.h"

#include <pthread.h>

HOST_NOINLINE static void *ask_first(void *arg)
{
    pthread_attr_t a;
    void *low = NULL;
    size_t bytes = 0;
    char here;
    cpu_set_t cpus;
    if (pthread_getattr_np(pthread_self(), &a) != 0 ||
        pthread_attr_getstack(&a, &low, &bytes) != 0) {
        return NULL;
    }
    int got = pthread_attr_getaffinity_np(&a, sizeof(cpus), &cpus);
    pthread_attr_destroy(&a);
    free(host_hide(malloc(10)));
    return got == 0 && &here > (char *)low && &here < (char *)low + bytes ? arg : NULL;
}

int main(void)
{
    int good = 0;
    for (int i = 0; i < 300; i++) {
        pthread_t t[2];
        void *result = NULL;
        for (int k = 0; k < 2; k++) {
            pthread_create(&t[k], NULL, ask_first, &good);
        }
        for (int k = 0; k < 2; k++) {
            pthread_join(t[k], &result);
            good += result == &good;
        }
    }
    good += ask_first(&good) == &good;
    host_check(good == 601, "each thread found its own stack");
    return host_end("600 threads that ask for their attributes");
}
