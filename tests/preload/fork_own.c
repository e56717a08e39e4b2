/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a child of fork has of its own: fork_own ids, a thread named "forker" forks a child that
 * forks a child, and each of the three works; fork_own phases, children that burn half a period
 * each; fork_own gaps, children that allocate the same.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static void *volatile kept;
static volatile unsigned long sink;

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

NOINLINE void burn(double seconds)
{
    double end = cpu_now() + seconds;
    while (cpu_now() < end) {
        for (unsigned long i = 0; i < 1000; i++) {
            sink = sink + i * i;
        }
    }
}

NOINLINE void allocate(int count)
{
    for (int i = 0; i < count; i++) {
        kept = malloc(1000);
        free(kept);
    }
}

static void work(void)
{
    allocate(100);
    burn(0.1);
}

static int reap(pid_t pid)
{
    int status = -1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

/* The calling thread works, and so does a child of it, depth deep. */
static int descend(int depth)
{
    work();
    if (depth == 0) {
        return 0;
    }
    pid_t pid = fork();
    if (pid == 0) {
        exit(descend(depth - 1));
    }
    return reap(pid);
}

static void *forker(void *arg)
{
    pthread_setname_np(pthread_self(), "forker");
    *(int *)arg = descend(2);
    return NULL;
}

static int children(int count, double seconds, int blocks)
{
    int bad = 0;
    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            burn(seconds);
            allocate(blocks);
            exit(0);
        }
        bad += reap(pid);
    }
    return bad;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int bad = 1;
    if (strcmp(what, "ids") == 0) {
        pthread_t t;
        if (pthread_create(&t, NULL, forker, &bad) == 0) {
            pthread_join(t, NULL);
        }
    } else if (strcmp(what, "phases") == 0) {
        bad = children(60, 0.05, 0);
    } else if (strcmp(what, "gaps") == 0) {
        bad = children(12, 0, 10000);
    }
    printf("%s: %d\n", what, bad);
    return bad != 0;
}
