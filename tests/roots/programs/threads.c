/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that threads work as ever and have their names: joined, detached, cancelled, with stacks
 * of their own, ended by pthread_exit; that masks and waits for signals do; and timers, whose
 * library comes later where it is one of its own.
 */
#define _GNU_SOURCE
#include "common.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#define THREADS 6

static sem_t is_over;
static int cleaned;

static void *named(void *arg)
{
    char name[16];
    snprintf(name, sizeof(name), "worker-%d", (int)(long)arg);
    pthread_setname_np(pthread_self(), name);
    burn_here(100);
    allocate_here(20);
    if ((long)arg % 2 == 1) {
        pthread_exit((void *)((long)arg * 10));
    }
    return (void *)((long)arg * 10);
}

static void *detached(void *arg)
{
    allocate_here(20);
    sem_post(arg);
    return NULL;
}

static void clean(void *arg)
{
    cleaned++;
    free(arg);
}

static void *cancelled(void *arg)
{
    pthread_cleanup_push(clean, malloc(100));
    sem_post(arg);
    for (;;) {
        allocate_here(1);
        usleep(1000);
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static void masks(void)
{
    sigset_t set;
    sigset_t old;
    int got = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    int r = pthread_sigmask(SIG_BLOCK, &set, &old);
    raise(SIGUSR2);
    printf("mask %d, ", r);
    r = sigwait(&set, &got);
    printf("wait %d, signal %d, ", r, got == SIGUSR2);
    r = pthread_sigmask(SIG_SETMASK, &old, NULL);
    printf("back %d, ", r);
    errno = 7;
    r = pthread_sigmask(99, &set, NULL);
    printf("wrong %d, errno %d\n", r == EINVAL, errno);
}

int main(void)
{
    pthread_t ids[THREADS];
    pthread_attr_t attr;
    pthread_t id;
    long sum = 0;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 << 10);
    for (long i = 0; i < THREADS; i++) {
        pthread_create(&ids[i], i < 3 ? &attr : NULL, named, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(ids[i], &result);
        sum += (long)result;
    }
    printf("joined, %ld\n", sum);
    sem_init(&is_over, 0, 0);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_create(&id, &attr, detached, &is_over);
    sem_wait(&is_over);
    pthread_create(&id, NULL, cancelled, &is_over);
    sem_wait(&is_over);
    void *result = NULL;
    pthread_cancel(id);
    pthread_join(id, &result);
    printf("cancelled %d, cleaned %d\n", result == PTHREAD_CANCELED, cleaned);
    masks();
    void *timers = dlopen("./timers.so", RTLD_NOW);
    int (*run)(void) = timers == NULL ? NULL : (int (*)(void))dlsym(timers, "run_timers");
    printf("timers %d\n", run == NULL ? -1 : run());
    return 4;
}
