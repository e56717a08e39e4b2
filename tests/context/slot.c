/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose SDK is linked to it, part of it (-DOWN), or loaded late (first argument: its
 * path), with threads from before and after that, and a fork child. Spans, by their first byte:
 * 01 main, 02 a thread from before, 03 one from after, 04 the child, 05 set again after the SDK was
 * unloaded and loaded once more. Each burns 300 ms; and 300 ms without a span each time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../truth.h"
#include "sdk.h"

#ifdef OWN
#include "sdk.c"
#endif

#define PART 0.3

static volatile unsigned long sink;
static pthread_barrier_t loaded;
static pthread_barrier_t done;

static __typeof__(&sdk_publish) publish;
static __typeof__(&sdk_attach) attach;
static __typeof__(&sdk_detach) detach;

__attribute__((noinline)) static void spin(double seconds)
{
    struct timespec t;
    double start = 0;
    for (int is_first = 1;; is_first = 0) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        double now = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
        start = is_first ? now : start;
        if (now - start > seconds) {
            return;
        }
        for (unsigned long i = 0; i < 20000; i++) {
            sink = sink + i;
        }
    }
}

/* Tells what it has used, by a name with the number. */
__attribute__((noinline)) void burn_with(uint8_t number)
{
    char name[16];
    long long begin = truth_clock();
    snprintf(name, sizeof(name), "with-%02u", number);
    spin(PART);
    truth_tell(name, begin);
    sink++;
}

__attribute__((noinline)) void burn_without(void)
{
    spin(PART);
    sink++;
}

__attribute__((noinline)) void burn_unknown(double seconds)
{
    spin(seconds);
    sink++;
}

static void work(uint8_t number, const char *value)
{
    attach(number, value);
    burn_with(number);
    detach();
    burn_without();
}

static void *before(void *arg)
{
    (void)arg;
    burn_without();
    pthread_barrier_wait(&loaded);
    work(2, "/before");
    pthread_barrier_wait(&done);
    return NULL;
}

static void *after(void *arg)
{
    (void)arg;
    work(3, "/after");
    return NULL;
}

static void *get(void *handle, const char *name)
{
    void *p = dlsym(handle, name);
    if (p == NULL) {
        printf("%s\n", dlerror());
        exit(2);
    }
    return p;
}

static void *load(const char *path)
{
#if defined(OWN) || defined(LINKED)
    (void)path;
    (void)get;
    publish = sdk_publish;
    attach = sdk_attach;
    detach = sdk_detach;
    return NULL;
#else
    void *handle = dlopen(path, RTLD_NOW);
    if (handle == NULL) {
        printf("%s\n", dlerror());
        exit(2);
    }
    *(void **)&publish = get(handle, "sdk_publish");
    *(void **)&attach = get(handle, "sdk_attach");
    *(void **)&detach = get(handle, "sdk_detach");
    return handle;
#endif
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"http_route", "unused"};
    pthread_t t;
    pthread_barrier_init(&loaded, NULL, 2);
    pthread_barrier_init(&done, NULL, 2);
    pthread_create(&t, NULL, before, NULL);
    void *handle = NULL;
    burn_without();
    handle = load(argc > 1 ? argv[1] : NULL);
    publish("tlsdesc_v1_dev", names, 2);
    burn_unknown(argc > 1 ? 1.5 : 0.1); /* the profiler looks once a second */
    work(1, "/main");
    pthread_barrier_wait(&loaded);
    pthread_barrier_wait(&done);
    pthread_join(t, NULL);
    pthread_create(&t, NULL, after, NULL);
    pthread_join(t, NULL);
    pid_t child = fork();
    if (child == 0) {
        work(4, "/child");
        exit(0);
    }
    waitpid(child, NULL, 0);
    if (handle != NULL) {
        attach(9, "/left behind");
        dlclose(handle);
        burn_without();
        handle = load(argv[1]);
        burn_without(); /* the new SDK has not been used in this thread */
        burn_unknown(1.5);
        work(5, "/again");
    }
    printf("done\n");
    return 0;
}
