/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that wait long for their first moment on a CPU, because others keep it busy, and then burn 20
 * milliseconds in late_burn. They must not be counted twice.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define LATE 24
#define BUSY 4
#define ROUNDS 4

static volatile int is_over;

static long used_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

__attribute__((noinline)) void late_burn(void)
{
    volatile uint64_t x = 1;
    while (used_us() < 20000) {
        for (int i = 0; i < 10000; i++) {
            x = x * 6364136223846793005U + 1;
        }
    }
}

static void *late(void *arg)
{
    late_burn();
    return arg;
}

static void *busy(void *arg)
{
    long end = used_us() + 4000000;
    while (!is_over && used_us() < end) {
    }
    return arg;
}

int main(void)
{
    pthread_t busy_threads[BUSY];
    pthread_t late_threads[LATE];
    struct sched_param param = {.sched_priority = 0};
    for (int i = 0; i < BUSY; i++) {
        pthread_create(&busy_threads[i], NULL, busy, NULL);
    }
    /* Threads inherit it. */
    int refused = sched_setscheduler(0, SCHED_IDLE, &param) != 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < LATE; i++) {
            refused += pthread_create(&late_threads[i], NULL, late, NULL) != 0;
        }
        for (int i = 0; i < LATE; i++) {
            pthread_join(late_threads[i], NULL);
        }
    }
    is_over = 1;
    for (int i = 0; i < BUSY; i++) {
        pthread_join(busy_threads[i], NULL);
    }
    printf("refused %d\n", refused);
    return 0;
}
