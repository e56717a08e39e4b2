/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that handlers of the program which need much stack, or jump, or switch to another context,
 * may interrupt any sampled allocation: they run on the program's own stack.
 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees alloc_objects allocate */
#include "host.h"

#include <pthread.h>
#include <signal.h>

#define DEEP (300 * 1024)

static int is_done;
static int handled;
static __thread char *low;
static __thread char *high;
static int outside;

HOST_NOINLINE static void *allocate(void *arg)
{
    while (__atomic_load_n(&is_done, __ATOMIC_ACQUIRE) == 0) {
        void *p = host_hide(malloc(64));
        p = host_hide(realloc(p, 200));
        free(p);
        free(host_hide(calloc(2, 30)));
    }
    return arg;
}

static void on_signal(int signo)
{
    volatile char room[DEEP];
    (void)signo;
    for (size_t i = 0; i < DEEP; i += 512) {
        room[i] = (char)i;
    }
    if ((char *)room < low || (char *)room > high) {
        (void)__atomic_fetch_add(&outside, 1, __ATOMIC_RELAXED);
    }
    (void)__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void *start(void *arg)
{
    pthread_attr_t a;
    void *stack = NULL;
    size_t bytes = 0;
    pthread_getattr_np(pthread_self(), &a);
    pthread_attr_getstack(&a, &stack, &bytes);
    pthread_attr_destroy(&a);
    low = stack;
    high = low + bytes;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return allocate(arg);
}

int main(void)
{
    pthread_t t[3];
    sigset_t set;
    int good = 0;
    signal(SIGUSR1, on_signal);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < 3; i++) {
        pthread_create(&t[i], NULL, start, &good);
    }
    /* Those that come while one waits to be handled are one with it. */
    for (int i = 0; i < 3000 || __atomic_load_n(&handled, __ATOMIC_RELAXED) <= 100; i++) {
        struct timespec ts = {0, 200000};
        pthread_kill(t[i % 3], SIGUSR1);
        nanosleep(&ts, NULL);
    }
    __atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 3; i++) {
        void *result = NULL;
        pthread_join(t[i], &result);
        good += result == &good;
    }
    host_check(good == 3 && handled > 100, "signals were handled");
    host_check(outside == 0, "on the threads' own stacks");
    return host_end("3000 signals into threads that allocate");
}
