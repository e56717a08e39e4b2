/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that thread-local data which the loader allocates at first use is whole in every thread.
 */
/* host: rows B09 */
/* host: libs big_tls */
/* host: flags -ldl */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=5000 */
/* host: sees alloc_objects busy */
#include "host.h"

#include <dlfcn.h>
#include <pthread.h>

#define THREADS 100

static char *(*big_tls)(size_t);

HOST_NOINLINE static void *busy(void *arg)
{
    for (int i = 0; i < 500; i++) {
        free(host_hide(malloc((size_t)(i % 100 + 1))));
        if (i == 250) {
            for (size_t n = 0; n < 300000; n += 1000) {
                arg = *big_tls(n) == 0 ? arg : NULL;
                *big_tls(n) = 'x';
            }
        }
    }
    return arg;
}

int main(void)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/big_tls.so", getenv("HOST_LIBS"));
    void *h = dlopen(path, RTLD_NOW);
    host_check(h != NULL, "the library loads");
    if (h == NULL) {
        return host_end("nothing");
    }
    big_tls = (char *(*)(size_t))dlsym(h, "big_tls");
    pthread_t t[THREADS];
    int good = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&t[i], NULL, busy, &good);
    }
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(t[i], &result);
        good += result == &good;
    }
    host_check(good == THREADS, "each thread had its own, zeroed");
    dlclose(h);
    return host_end("100 threads with lazily allocated thread-local data");
}
