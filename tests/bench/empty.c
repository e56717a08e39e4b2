/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least that an interposed allocator can be: malloc and free that call the real ones. What a
 * profiler costs over this is its own work; what this costs is the price of being preloaded.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

static void *(*real_malloc)(size_t size);
static void (*real_free)(void *p);

__attribute__((constructor)) static void find(void)
{
    real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
}

void *malloc(size_t size)
{
    if (__builtin_expect(real_malloc == NULL, 0)) {
        find();
    }
    return real_malloc(size);
}

void free(void *p)
{
    if (__builtin_expect(real_free == NULL, 0)) {
        find();
    }
    real_free(p);
}
