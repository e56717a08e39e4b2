/* SPDX-License-Identifier: Apache-2.0 */
/* A library that uses threads; needs libpthread where that is a library. */
#define _GNU_SOURCE
#include "common.h"

#include <pthread.h>
#include <signal.h>

#define THREADS 4

static void *work(void *arg)
{
    pthread_setname_np(pthread_self(), "late-worker");
    burn_here(100); /* so long that the library is noticed where the loader does not tell of it */
    allocate_here(50);
    if (arg != NULL) {
        pthread_exit(arg);
    }
    return NULL;
}

/* The number of the first thing that does not hold; 0: all does. */
int run_threads(void)
{
    pthread_t ids[THREADS];
    pthread_attr_t attr;
    sigset_t set;
    sigset_t old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    if (pthread_sigmask(SIG_BLOCK, &set, &old) != 0 || sigismember(&old, SIGUSR2) != 0) {
        return 1;
    }
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 << 10);
    for (long i = 0; i < THREADS; i++) {
        if (pthread_create(&ids[i], i < 2 ? &attr : NULL, work, (void *)(i % 2)) != 0) {
            return 2;
        }
    }
    for (long i = 0; i < THREADS; i++) {
        void *result = NULL;
        if (pthread_join(ids[i], &result) != 0 || result != (void *)(i % 2)) {
            return 3;
        }
    }
    return pthread_sigmask(SIG_SETMASK, &old, NULL) == 0 ? 0 : 4;
}
