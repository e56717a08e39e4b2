/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that compute and allocate, then some more one after the other, of which one may not come
 * into being. What it prints follows from what the calls of the program itself have answered.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 3
#define ONE_BY_ONE 4

static void *volatile kept;

__attribute__((noinline)) static unsigned long computes(long ms)
{
    struct timespec ts;
    unsigned long x = 1;
    long end = -1;
    do {
        for (int i = 0; i < 20000; i++) {
            x = x * 1103515245UL + 12345UL;
        }
        void *p = malloc(3000);
        kept = p;
        memset(p, 1, 3000);
        free(p);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        long now = (long)(ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
        end = end < 0 ? now + ms : end;
        if (now >= end) {
            return x;
        }
    } while (1);
}

static void *run(void *arg)
{
    (void)computes(12);
    errno = 0;
    char *text = strdup("a text");
    free(text);
    return errno == 0 ? arg : NULL;
}

static void start(pthread_t *t, void *arg)
{
    int r = pthread_create(t, NULL, run, arg);
    if (r != 0) {
        printf("no thread: %s\n", strerror(r));
        *t = 0;
    }
}

static int end(pthread_t t, void *arg)
{
    void *result = NULL;
    return t != 0 && pthread_join(t, &result) == 0 && result == arg;
}

int main(void)
{
    pthread_t t[AT_ONCE];
    int good = 0;
    for (int i = 0; i < AT_ONCE; i++) {
        start(&t[i], &good);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        good += end(t[i], &good);
    }
    for (int i = 0; i < ONE_BY_ONE; i++) {
        start(&t[0], &good);
        good += end(t[0], &good);
    }
    (void)computes(10);
    printf("%d of %d threads\n", good, AT_ONCE + ONE_BY_ONE);
    return 3;
}
