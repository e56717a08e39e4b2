/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that threads with every signal blocked disturb nobody, and that what could not be sampled
 * is counted. */
/* host: rows B40 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees alloc_objects blocked_work */
/* host: sees cpu open_work */
#include "host.h"

#include <pthread.h>
#include <signal.h>

HOST_NOINLINE static void *blocked_work(void *arg)
{
    sigset_t pending;
    free(host_hide(malloc(100)));
    host_burn(50);
    sigemptyset(&pending);
    sigpending(&pending);
    for (int s = 1; s < 65; s++) {
        if (sigismember(&pending, s) == 1) {
            return NULL;
        }
    }
    return arg;
}

HOST_NOINLINE static void *open_work(void *arg)
{
    host_burn(100);
    return arg;
}

int main(void)
{
    sigset_t all;
    sigset_t old;
    pthread_t t[8];
    int good = 0;
    sigfillset(&all);
    for (int i = 0; i < 8; i++) {
        pthread_sigmask(SIG_SETMASK, &all, &old);
        if (i % 2 != 0) {
            pthread_sigmask(SIG_SETMASK, &old, NULL);
        }
        pthread_create(&t[i], NULL, i % 2 == 0 ? blocked_work : open_work, &good);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    for (int i = 0; i < 8; i++) {
        void *result = NULL;
        pthread_join(t[i], &result);
        good += result == &good;
    }
    host_check(good == 8, "no signal was seen to be pending");
    return host_end("4 threads with all signals blocked, 4 without");
}
