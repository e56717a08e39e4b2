/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that cancelling threads anywhere in their work runs each clean-up handler exactly once. */
/* host: rows B74 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees alloc_objects work */
#include "host.h"

#include <pthread.h>

#define ROUNDS 100

static int cleaned;
static int started;
static int lost;

static void clean(void *arg)
{
    free(arg);
    (void)__atomic_fetch_add(&cleaned, 1, __ATOMIC_RELAXED);
}

/* Between malloc and the handler there is no cancellation point: nothing can get lost. */
HOST_NOINLINE static void work(void)
{
    void *p = host_hide(malloc(100));
    (void)__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
    pthread_cleanup_push(clean, p);
    (void)__atomic_fetch_sub(&lost, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 20; i++) {
        free(host_hide(malloc(50)));
        free(host_hide(realloc(host_hide(calloc(3, 50)), 4000)));
    }
    (void)__atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
    pthread_testcancel();
    pthread_cleanup_pop(1);
}

static void *loop(void *arg)
{
    for (;;) {
        work();
    }
    return arg;
}

static void *waits(void *arg)
{
    pthread_cleanup_push(clean, malloc(10));
    (void)__atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
    pause();
    pthread_cleanup_pop(0);
    return arg;
}

int main(void)
{
    int cancelled = 0;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t t;
        void *result = NULL;
        int before = __atomic_load_n(&started, __ATOMIC_ACQUIRE);
        pthread_create(&t, NULL, i % 10 == 0 ? waits : loop, NULL);
        while (__atomic_load_n(&started, __ATOMIC_ACQUIRE) == before) {
        }
        pthread_cancel(t);
        pthread_join(t, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    host_check(cancelled == ROUNDS, "every thread was cancelled");
    host_check(cleaned == started, "every clean-up ran once");
    host_check(lost == 0, "none was lost between allocation and handler");
    return host_end("100 cancelled threads");
}
