/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A preload that wraps open and mmap and allocates in them at first use, and whose allocator-like
 * constructor blocks signals and asks for names.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

static int (*next_open)(const char *, int, ...);
static void *(*next_mmap)(void *, size_t, int, int, int, off_t);

static void allocate(void)
{
    void *p[50];
    for (size_t i = 0; i < 50; i++) {
        p[i] = malloc(i * 100);
    }
    for (size_t i = 0; i < 50; i++) {
        free(p[i]);
    }
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    unsigned mode = va_arg(args, unsigned);
    va_end(args);
    if (next_open == NULL) {
        allocate();
        next_open = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    }
    allocate();
    return next_open(path, flags, mode);
}

void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
    if (next_mmap == NULL) {
        next_mmap = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
        allocate();
    }
    return next_mmap(at, len, prot, flags, fd, offset);
}

static void *in_thread(void *arg)
{
    allocate();
    return arg;
}

__attribute__((constructor)) static void early(void)
{
    pthread_t t;
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    allocate();
    close(open("/dev/null", O_RDONLY));
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (pthread_create(&t, NULL, in_thread, NULL) == 0) {
        pthread_join(t, NULL);
    }
}
