/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites API SIZE:COUNT[:KEPT] [SIZE:COUNT[:KEPT] ...]: allocations of known sizes and numbers.
 * site_0, site_1 and so on allocate COUNT blocks of SIZE bytes each by API and keep KEPT of them;
 * the sites take turns. Prints what each did: "NAME objects space live_objects live_space".
 * API realloc grows a block of half the size to SIZE and shrinks it to a quarter, three allocations
 * in all. API trim shrinks what has more to spare than the allocator gives; none has. APIs span and
 * label are malloc, each block in a span or with a label of its own.
 */
#define _GNU_SOURCE
#include "core/api/otelprof.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SITES 16
#define ROUNDS 64
#define NOINLINE __attribute__((noinline, noclone))

enum api {
    API_MALLOC,
    API_CALLOC,
    API_REALLOC,
    API_MEMALIGN,
    API_POSIX,
    API_ALIGNED,
    API_TRIM,
    API_SPAN,
    API_LABEL,
    API_COUNT
};
static const char *const api_names[API_COUNT] = {
    "malloc", "calloc", "realloc", "memalign", "posix", "aligned", "trim", "span", "label"};

struct site {
    size_t size;
    long count;
    long kept;
    long done;
    long objects;
    long space;
    long live;
    long live_space;
};

static struct site sites[MAX_SITES];
static enum api api;

/* The compiler must not see that a block is never used. */
static void *opaque(void *p)
{
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

static void begin_identity(void)
{
    static uint64_t number;
    uint64_t trace[2] = {++number, 1};
    if (api == API_SPAN) {
        otelprof_span_set(trace, &number);
    } else {
        otelprof_label_push_int("block", (otelprof_number)number);
    }
}

static void end_identity(void)
{
    if (api == API_SPAN) {
        otelprof_span_clear();
    } else {
        otelprof_label_pop();
    }
}

static inline __attribute__((always_inline)) void *allocate(size_t size)
{
    void *p = NULL;
    switch (api) {
    case API_MALLOC:
        return opaque(malloc(size));
    case API_CALLOC:
        return opaque(calloc(size == 0 ? 0 : 1, size));
    case API_REALLOC:
        p = opaque(malloc(size / 2));
        p = opaque(realloc(p, size));
        return opaque(realloc(p, size / 4));
    case API_MEMALIGN:
        return opaque(memalign(256, size));
    case API_POSIX:
        return posix_memalign(&p, 64, size) == 0 ? opaque(p) : NULL;
    case API_ALIGNED:
        return opaque(aligned_alloc(64, size));
    case API_TRIM:
        p = opaque(malloc(size));
        return malloc_usable_size(p) > size + 40 ? opaque(realloc(p, size)) : p;
    case API_SPAN:
    case API_LABEL:
        begin_identity();
        p = opaque(malloc(size));
        end_identity();
        return p;
    case API_COUNT:
        break;
    }
    return NULL;
}

static void book(struct site *s, bool is_kept)
{
    size_t last = api == API_REALLOC ? s->size / 4 : s->size;
    s->objects += api == API_REALLOC ? 3 : 1;
    s->space += (long)(api == API_REALLOC ? s->size / 2 + s->size + last : last);
    s->live += is_kept;
    s->live_space += is_kept ? (long)last : 0;
    s->done++;
}

static inline __attribute__((always_inline)) void run(struct site *s, long until)
{
    while (s->done < until) {
        void *p = allocate(s->size);
        if (p == NULL) {
            exit(1);
        }
        bool is_kept = s->live < s->kept;
        if (!is_kept) {
            free(p);
        }
        book(s, is_kept);
    }
}

#define SITE(n)                                                                                    \
    static NOINLINE void site_##n(long until)                                                      \
    {                                                                                              \
        run(&sites[n], until);                                                                     \
        __asm__ volatile("");                                                                      \
    }
SITE(0)
SITE(1)
SITE(2)
SITE(3)
SITE(4)
SITE(5)
SITE(6)
SITE(7)
SITE(8)
SITE(9)
SITE(10)
SITE(11)
SITE(12)
SITE(13)
SITE(14)
SITE(15)

static void (*const runs[MAX_SITES])(long until) = {
    site_0, site_1, site_2,  site_3,  site_4,  site_5,  site_6,  site_7,
    site_8, site_9, site_10, site_11, site_12, site_13, site_14, site_15};

int main(int argc, char **argv)
{
    int count = argc - 2;
    for (int i = 0; argc > 1 && i < API_COUNT; i++) {
        api = strcmp(argv[1], api_names[i]) == 0 ? (enum api)i : api;
    }
    if (count < 1 || count > MAX_SITES) {
        return 2;
    }
    for (int i = 0; i < count; i++) {
        struct site *s = &sites[i];
        if (sscanf(argv[i + 2], "%zu:%ld:%ld", &s->size, &s->count, &s->kept) < 2) {
            return 2;
        }
    }
    for (long r = 1; r <= ROUNDS; r++) {
        for (int i = 0; i < count; i++) {
            runs[i](sites[i].count * r / ROUNDS);
        }
    }
    for (int i = 0; i < count; i++) {
        const struct site *s = &sites[i];
        printf("site_%d %ld %ld %ld %ld\n", i, s->objects, s->space, s->live, s->live_space);
    }
    struct mallinfo2 info = mallinfo2();
    printf("mallinfo %zu\n", info.uordblks + info.hblkhd);
    return 0;
}
