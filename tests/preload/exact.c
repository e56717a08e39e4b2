/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that with every allocation sampled the heap profile is exact: each function site_…
 * allocates and frees a known amount and adds it to its own account; at the end the accounts
 * are printed, one line "NAME alloc_objects alloc_space inuse_objects inuse_space" each. exact
 * [THREADS [ROUNDS]]: the same in several threads; blocks cross from thread to thread.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 40
#define NOINLINE __attribute__((noinline, noclone))

struct truth {
    const char *name;
    atomic_long objects, space, live_objects, live_space;
};

static struct truth truths[] = {
    {.name = "site_malloc"},  {.name = "site_calloc"},       {.name = "site_realloc"},
    {.name = "site_shrink"},  {.name = "site_reallocarray"}, {.name = "site_memalign"},
    {.name = "site_aligned"}, {.name = "site_posix"},        {.name = "site_valloc"},
    {.name = "site_pvalloc"}, {.name = "site_zero"},         {.name = "site_big"},
    {.name = "site_failing"}, {.name = "site_other_thread"}, {.name = "site_strdup"},
    {.name = "site_null"},
};

enum {
    MALLOC,
    CALLOC,
    REALLOC,
    SHRINK,
    REALLOCARRAY,
    MEMALIGN,
    ALIGNED,
    POSIX,
    VALLOC,
    PVALLOC,
    ZERO,
    BIG,
    FAILING,
    OTHER_THREAD,
    STRDUP,
    FROM_NULL,
};

static pthread_barrier_t barrier;
static void **shelf; /* what one thread allocates, the next one frees */
static long problems;

static void got(int site, size_t size)
{
    truths[site].objects++;
    truths[site].space += (long)size;
    truths[site].live_objects++;
    truths[site].live_space += (long)size;
}

static void gone(int site, size_t size)
{
    truths[site].live_objects--;
    truths[site].live_space -= (long)size;
}

/* The same pointer, of which the compiler knows nothing. */
static void *opaque(void *p)
{
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

/* Every other block is freed, by way of a second pass, so that freed and live ones mix. */
static void free_half(int site, void **p, const size_t *size)
{
    for (int i = 0; i < COUNT; i += 2) {
        free(opaque(p[i]));
        gone(site, size[i]);
    }
}

static void *checked(void *p, size_t alignment)
{
    if (p == NULL || (uintptr_t)p % alignment != 0) {
        __atomic_fetch_add(&problems, 1, __ATOMIC_RELAXED);
    }
    return p;
}

NOINLINE void site_malloc(void)
{
    void *p[COUNT];
    size_t size[COUNT];
    for (int i = 0; i < COUNT; i++) {
        size[i] = (size_t)(i * 37 + 1);
        p[i] = checked(malloc(size[i]), 16);
        got(MALLOC, size[i]);
    }
    free_half(MALLOC, p, size);
}

NOINLINE void site_calloc(void)
{
    void *p[COUNT];
    size_t size[COUNT];
    for (int i = 0; i < COUNT; i++) {
        size[i] = (size_t)(i + 1) * 24;
        p[i] = checked(calloc((size_t)i + 1, 24), 16);
        got(CALLOC, size[i]);
        for (size_t k = 0; k < size[i]; k++) {
            problems += ((unsigned char *)p[i])[k] != 0;
        }
    }
    free_half(CALLOC, p, size);
}

NOINLINE void site_realloc(void)
{
    void *p = malloc(10);
    got(REALLOC, 10);
    memset(p, 7, 10);
    for (size_t i = 1; i <= COUNT; i++) {
        p = checked(realloc(p, i * 1000), 16);
        gone(REALLOC, i == 1 ? 10 : (i - 1) * 1000);
        got(REALLOC, i * 1000);
    }
    problems += ((unsigned char *)p)[9] != 7;
}

NOINLINE void site_shrink(void)
{
    void *p = malloc(100000);
    got(SHRINK, 100000);
    p = realloc(p, 50);
    gone(SHRINK, 100000);
    got(SHRINK, 50);
    p = realloc(p, 0); /* frees, in glibc */
    gone(SHRINK, 50);
    problems += p != NULL;
}

NOINLINE void site_reallocarray(void)
{
    void *p = NULL;
    for (size_t i = 1; i <= COUNT; i++) {
        p = checked(reallocarray(p, i, 48), 16);
        if (i > 1) {
            gone(REALLOCARRAY, (i - 1) * 48);
        }
        got(REALLOCARRAY, i * 48);
    }
}

NOINLINE void site_memalign(void)
{
    void *p[COUNT];
    size_t size[COUNT];
    for (int i = 0; i < COUNT; i++) {
        size[i] = (size_t)i * 10 + 5;
        p[i] = checked(memalign((size_t)16 << (i % 10), size[i]), (size_t)16 << (i % 10));
        got(MEMALIGN, size[i]);
    }
    free_half(MEMALIGN, p, size);
}

NOINLINE void site_aligned(void)
{
    void *p[COUNT];
    size_t size[COUNT];
    for (int i = 0; i < COUNT; i++) {
        size[i] = (size_t)(i + 1) * 64;
        p[i] = checked(aligned_alloc(64, size[i]), 64);
        got(ALIGNED, size[i]);
    }
    free_half(ALIGNED, p, size);
}

NOINLINE void site_posix(void)
{
    void *p[COUNT];
    size_t size[COUNT];
    for (int i = 0; i < COUNT; i++) {
        size[i] = (size_t)i * 100 + 1;
        problems += posix_memalign(&p[i], 128, size[i]) != 0;
        checked(p[i], 128);
        got(POSIX, size[i]);
    }
    void *untouched = &problems;
    problems += posix_memalign(&untouched, 3, 10) != 22 || untouched != (void *)&problems;
    free_half(POSIX, p, size);
}

NOINLINE void site_valloc(void)
{
    void *p[COUNT];
    size_t size[COUNT];
    for (int i = 0; i < COUNT; i++) {
        size[i] = (size_t)i * 11 + 3;
        p[i] = checked(valloc(size[i]), 4096);
        got(VALLOC, size[i]);
    }
    free_half(VALLOC, p, size);
}

NOINLINE void site_pvalloc(void)
{
    void *p[COUNT];
    size_t size[COUNT];
    for (int i = 0; i < COUNT; i++) {
        size[i] = (size_t)i * 13 + 3;
        p[i] = checked(pvalloc(size[i]), 4096);
        got(PVALLOC, size[i]);
    }
    free_half(PVALLOC, p, size);
}

NOINLINE void site_zero(void)
{
    void *p[COUNT];
    size_t size[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) {
        p[i] = malloc(0);
        got(ZERO, 0);
    }
    free_half(ZERO, p, size);
}

NOINLINE void site_big(void)
{
    void *p = checked(malloc(3000000), 16);
    got(BIG, 3000000);
    void *q = checked(calloc(1, 5000000), 16);
    got(BIG, 5000000);
    p = checked(realloc(p, 9000000), 16);
    gone(BIG, 3000000);
    got(BIG, 9000000);
    free(q);
    gone(BIG, 5000000);
}

/* Nothing that fails may count, and what was there before is still there. */
NOINLINE void site_failing(void)
{
    volatile size_t huge = SIZE_MAX / 2 + 100;
    char *kept = malloc(77);
    got(FAILING, 77);
    void *out = NULL;
    problems += malloc(huge) != NULL;
    problems += calloc(huge, 16) != NULL;
    problems += realloc(opaque(kept), huge) != NULL;
    problems += reallocarray(opaque(kept), huge, 3) != NULL;
    problems += memalign(64, huge) != NULL;
    problems += aligned_alloc(64, huge & ~(size_t)63) != NULL;
    problems += posix_memalign(&out, 64, huge) == 0;
    problems += valloc(huge) != NULL;
}

NOINLINE void site_other_thread(long me, long threads)
{
    shelf[me] = malloc(1234);
    got(OTHER_THREAD, 1234);
    pthread_barrier_wait(&barrier);
    long neighbour = (me + 1) % threads;
    if (neighbour % 2 == 0) {
        free(shelf[neighbour]);
        gone(OTHER_THREAD, 1234);
    }
    pthread_barrier_wait(&barrier);
}

/* Allocations that libc makes inside itself. */
NOINLINE void site_strdup(void)
{
    char *p = strdup("seventeen letters");
    got(STRDUP, 18);
    free(opaque(p));
    gone(STRDUP, 18);
}

NOINLINE void site_null(void)
{
    free(NULL);
    void *p = realloc(NULL, 321);
    got(FROM_NULL, 321);
    problems += p == NULL;
}

static long thread_count = 1;
static long rounds = 1;

static void *work(void *arg)
{
    long me = (long)(intptr_t)arg;
    for (long i = 0; i < rounds; i++) {
        site_malloc();
        site_calloc();
        site_realloc();
        site_shrink();
        site_reallocarray();
        site_memalign();
        site_aligned();
        site_posix();
        site_valloc();
        site_pvalloc();
        site_zero();
        site_big();
        site_failing();
        site_other_thread(me, thread_count);
        site_strdup();
        site_null();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    thread_count = argc > 1 ? atol(argv[1]) : 1;
    rounds = argc > 2 ? atol(argv[2]) : 1;
    pthread_t threads[64];
    static void *places[64];
    shelf = places;
    pthread_barrier_init(&barrier, NULL, (unsigned)thread_count);
    for (long i = 0; i < thread_count; i++) {
        pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
    }
    for (long i = 0; i < thread_count; i++) {
        pthread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < sizeof(truths) / sizeof(truths[0]); i++) {
        printf("%s %ld %ld %ld %ld\n", truths[i].name, truths[i].objects, truths[i].space,
               truths[i].live_objects, truths[i].live_space);
    }
    return problems != 0;
}
