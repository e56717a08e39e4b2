/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another preloaded library that wraps the allocator, with its own idea of a block: a header of
 * 16 bytes. Blocks of one layer that reach another's free are found out. interloper_count tells
 * that it took part.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x1e7e7e7e7e7e7e1e)

static void *(*next_malloc)(size_t);
static void (*next_free)(void *);
static char early[65536] __attribute__((aligned(16)));
static size_t early_used;
static long calls;

static int is_early(const void *p)
{
    return (const char *)p >= early && (const char *)p < early + sizeof(early);
}

static void find(void)
{
    static int is_busy;
    if (next_malloc == NULL && !is_busy) {
        is_busy = 1;
        next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
        next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    }
}

void *malloc(size_t size)
{
    find();
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    uint64_t *p;
    if (next_malloc == NULL) {
        p = (uint64_t *)(void *)(early + early_used);
        early_used += (size + 31) & ~(size_t)15;
    } else {
        p = next_malloc(size + 16);
    }
    if (p == NULL) {
        return NULL;
    }
    p[0] = MAGIC;
    p[1] = size;
    return p + 2;
}

void free(void *block)
{
    uint64_t *p = block;
    if (block == NULL) {
        return;
    }
    if (p[-2] != MAGIC) {
        static const char text[] = "interloper: a foreign block is freed\n";
        (void)!write(2, text, sizeof(text) - 1);
        _exit(99);
    }
    p[-2] = 0;
    if (!is_early(block)) {
        next_free(p - 2);
    }
}

void *calloc(size_t count, size_t size)
{
    size_t bytes;
    void *p = __builtin_mul_overflow(count, size, &bytes) ? NULL : malloc(bytes);
    return p == NULL ? NULL : memset(p, 0, bytes);
}

void *realloc(void *block, size_t size)
{
    void *p = malloc(size);
    if (p != NULL && block != NULL) {
        size_t old = ((uint64_t *)block)[-1];
        memcpy(p, block, old < size ? old : size);
        free(block);
    }
    return p;
}

void *memalign(size_t alignment, size_t size)
{
    return alignment <= 16 ? malloc(size) : NULL;
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    *out = memalign(alignment, size);
    return *out == NULL ? 12 : 0;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

__attribute__((destructor)) static void tell(void)
{
    if (getenv("INTERLOPER_TELL") != NULL) {
        static const char text[] = "interloper: took part\n";
        (void)!write(2, text, calls > 0 ? sizeof(text) - 1 : 0);
    }
}
