/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a child of vfork which allocates takes nothing from the thread whose memory it runs
 * on, also when that thread was made before sampling began and is not known yet.
 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_START=false */
/* host: sees alloc_objects allocate_after */
#include "host.h"

#include <pthread.h>
#include <sys/wait.h>

int otelprof_v1_start(void) __attribute__((weak));

static pthread_barrier_t barrier;

HOST_NOINLINE static void allocate_after(void)
{
    for (int i = 0; i < 100; i++) {
        free(host_hide(malloc(1000)));
    }
}

static void *made_before(void *arg)
{
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    pid_t pid = vfork();
    if (pid == 0) {
        for (int i = 0; i < 100; i++) {
            free(host_hide(malloc(1000)));
        }
        _exit(4);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    host_check(WIFEXITED(status) && WEXITSTATUS(status) == 4, "the child's status");
    allocate_after();
    return arg;
}

int main(void)
{
    pthread_t t;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&t, NULL, made_before, NULL);
    pthread_barrier_wait(&barrier);
    if (otelprof_v1_start != NULL) {
        host_check(otelprof_v1_start() == 1, "sampling begins");
    }
    pthread_barrier_wait(&barrier);
    pthread_join(t, NULL);
    return host_end("a child of vfork has allocated");
}
