/* SPDX-License-Identifier: Apache-2.0 */
/* A library that uses timers, each kind of notice; needs librt where that is a library. */
#define _GNU_SOURCE
#include "common.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

static volatile sig_atomic_t ticks;
static sem_t called;

static void on_tick(int signo)
{
    (void)signo;
    ticks++;
}

static void on_call(union sigval value)
{
    (void)value;
    allocate_here(5);
    sem_post(&called);
}

/* The number of the first thing that does not hold; 0: all does. */
int run_timers(void)
{
    struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    struct sigevent by_signal = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct sigevent by_call = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_call};
    struct itimerspec every = {{0, 2000000}, {0, 2000000}};
    struct timespec wait = {.tv_nsec = 5000000};
    timer_t a;
    timer_t b;
    sigaction(SIGUSR1, &sa, NULL);
    sem_init(&called, 0, 0);
    if (timer_create(CLOCK_MONOTONIC, &by_signal, &a) != 0) {
        return 1;
    }
    if (timer_create(CLOCK_MONOTONIC, &by_call, &b) != 0) {
        return 2;
    }
    if (timer_settime(a, 0, &every, NULL) != 0 || timer_settime(b, 0, &every, NULL) != 0) {
        return 3;
    }
    for (int i = 0; i < 1000 && ticks < 5; i++) {
        nanosleep(&wait, NULL);
    }
    for (int i = 0; i < 3; i++) {
        while (sem_wait(&called) != 0) {
        }
    }
    burn_here(100);
    if (timer_delete(a) != 0 || timer_delete(b) != 0) {
        return 4;
    }
    return ticks >= 5 ? 0 : 5;
}
