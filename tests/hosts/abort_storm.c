/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that abort among threads that start, allocate and burn ends the process at once, by
 * SIGABRT. */
/* host: rows B18 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees alloc_objects storm */
/* host: runs main|thread */
#include "host.h"

#include <pthread.h>
#include <sys/resource.h>

static void *brief(void *arg)
{
    free(host_hide(malloc(100)));
    return arg;
}

HOST_NOINLINE static void *storm(void *arg)
{
    for (;;) {
        pthread_t t;
        free(host_hide(malloc(1000)));
        host_burn(1);
        if (pthread_create(&t, NULL, brief, arg) == 0) {
            pthread_detach(t);
        }
    }
    return NULL;
}

static void *abort_here(void *arg)
{
    host_burn(50);
    abort();
    return arg;
}

int main(int argc, char **argv)
{
    struct rlimit none = {0};
    setrlimit(RLIMIT_CORE, &none);
    host_end("abort among threads");
    fflush(stdout);
    for (int i = 0; i < 4; i++) {
        pthread_t t;
        pthread_create(&t, NULL, storm, NULL);
    }
    if (argc > 1 && strcmp(argv[1], "thread") == 0) {
        pthread_t t;
        pthread_create(&t, NULL, abort_here, NULL);
        pthread_join(t, NULL);
    }
    (void)abort_here(NULL);
    return 0;
}
