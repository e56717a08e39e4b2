/* SPDX-License-Identifier: Apache-2.0 */
/* Burns CPU time in burn_here, then says what getrusage says: burn MILLISECONDS [THREADS]. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../truth.h"

static long milliseconds;

static long used_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

__attribute__((noinline)) uint64_t burn_here(long ms)
{
    volatile uint64_t x = 1;
    while (used_ms() < ms) {
        for (int i = 0; i < 100000; i++) {
            x = x * 6364136223846793005U + 1;
        }
    }
    truth_tell("burn_here", 0);
    return x;
}

static void *work(void *arg)
{
    (void)burn_here(milliseconds);
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t threads[64];
    milliseconds = argc > 1 ? atol(argv[1]) : 100;
    int count = argc > 2 ? atoi(argv[2]) : 0;
    for (int i = 0; i < count; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    (void)burn_here(milliseconds);
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    puts("burnt");
    return 0;
}
