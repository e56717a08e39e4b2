/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that allocating inside a dl_iterate_phdr callback, under the loader's lock, cannot hang.
 */
/* host: rows B20 */
/* host: libs plug */
/* host: flags -ldl */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=5000 */
/* host: sees alloc_objects in_callback */
#include "host.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

static char path[4096];

HOST_NOINLINE static int in_callback(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    for (int i = 0; i < 5; i++) {
        char *copy = strdup(info->dlpi_name == NULL ? "" : info->dlpi_name);
        free(host_hide(copy));
    }
    ++*(long *)data;
    return 0;
}

static void *iterate(void *arg)
{
    long objects = 0;
    for (int i = 0; i < 2000; i++) {
        dl_iterate_phdr(in_callback, &objects);
    }
    return objects >= 4000 ? arg : NULL;
}

static void *load(void *arg)
{
    for (int i = 0; i < 300; i++) {
        void *h = dlopen(path, RTLD_NOW);
        if (h == NULL || dlclose(h) != 0) {
            return NULL;
        }
    }
    return arg;
}

int main(void)
{
    pthread_t t[4];
    int good = 0;
    snprintf(path, sizeof(path), "%s/plug.so", getenv("HOST_LIBS"));
    for (int i = 0; i < 4; i++) {
        pthread_create(&t[i], NULL, i == 3 ? load : iterate, &good);
    }
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        pthread_join(t[i], &result);
        good += result == &good;
    }
    host_check(good == 4, "all came to their end");
    return host_end("callbacks that allocate, next to dlopen");
}
