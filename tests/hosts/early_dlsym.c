/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that a constructor may look up missing names and allocate before main. */
/* host: rows B02 B03 */
/* host: flags -ldl */
/* host: set OTELPROF_HEAP_INTERVAL=1 */
/* host: sees alloc_objects early */
#include "host.h"

#include <dlfcn.h>
#include <pthread.h>

static int missing;
static int named;

HOST_NOINLINE static void early(void)
{
    for (int i = 0; i < 20; i++) {
        void *p = host_hide(calloc(1, 100));
        missing += dlsym(RTLD_DEFAULT, "no_such_name_anywhere") == NULL;
        missing += dlsym(RTLD_NEXT, "no_such_name_either") == NULL;
        named += dlerror() != NULL;
        missing += dlopen("/nonexistent/lib.so", RTLD_NOW) == NULL;
        named += dlerror() != NULL;
        free(p);
    }
}

static void *early_thread(void *arg)
{
    early();
    return arg;
}

__attribute__((constructor)) static void before_main(void)
{
    pthread_t t;
    early();
    if (pthread_create(&t, NULL, early_thread, NULL) == 0) {
        pthread_join(t, NULL);
    }
}

int main(void)
{
    host_check(missing == 120 && named == 80, "each missing name was missing, and said so");
    host_check(dlsym(RTLD_DEFAULT, "malloc") != NULL, "malloc is found");
    host_check(dlsym(RTLD_NEXT, "free") != NULL, "free is found");
    return host_end("40 times missing names in a constructor");
}
