/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host programs share: burning CPU time, and saying what does not hold. Their output must
 * be the same with and without the library, so it never holds a time, an address or a number that
 * depends on luck.
 */
#ifndef OTP_HOSTS_HOST_H
#define OTP_HOSTS_HOST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HOST_NOINLINE __attribute__((noinline, noclone))
#define HOST_LEN(a) (sizeof(a) / sizeof((a)[0]))

static int host_failures;
static volatile unsigned long host_sink;

/* Says what is not as it must be; host_end makes it the exit status. */
__attribute__((unused)) static void host_check(int is_good, const char *what)
{
    if (!is_good) {
        (void)__atomic_fetch_add(&host_failures, 1, __ATOMIC_RELAXED);
        printf("does not hold: %s\n", what);
    }
}

__attribute__((unused)) static int host_end(const char *what_was_looked_at)
{
    printf("%s\n", what_was_looked_at);
    return host_failures == 0 ? 0 : 1;
}

/* CPU time of the calling thread. */
static inline long host_cpu_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (long)(ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

static inline long host_now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (long)(ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

/* Uses so much CPU time of the calling thread, without a library call in between. */
HOST_NOINLINE __attribute__((unused)) static void host_burn(long ms)
{
    long end = host_cpu_ms() + ms;
    while (host_cpu_ms() < end) {
        unsigned long x = host_sink;
        for (int i = 0; i < 20000; i++) {
            x = x * 1103515245UL + 12345UL;
            __asm__ volatile("" : "+r"(x));
        }
        host_sink = x;
    }
}

/* A pointer that the compiler must forget where it came from. */
static inline void *host_hide(void *p)
{
    __asm__ volatile("" : "+r"(p));
    return p;
}

#endif
