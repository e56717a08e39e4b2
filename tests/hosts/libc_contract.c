/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that every entry of the allocator answers as libc does, bit for bit: results, errno,
 * alignment, contents, odd sizes, overflow, too much memory. It prints what it gets, for
 * comparison.
 */
/* host: rows B76 B77 B78 B79 B80 B81 B82 */
/* host: flags -fno-builtin -Wno-alloc-size-larger-than -Wno-deprecated-declarations */
/* host: set OTELPROF_HEAP_INTERVAL=1 */
/* host: sees alloc_objects ask */
/* host: runs free|limited */
#include "host.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/resource.h>

static const size_t sizes[] = {0,
                               1,
                               8,
                               15,
                               24,
                               1000,
                               1032,
                               1033,
                               4095,
                               4096,
                               131072,
                               1 << 20,
                               1 << 26,
                               SIZE_MAX / 4,
                               PTRDIFF_MAX,
                               (size_t)PTRDIFF_MAX + 1,
                               SIZE_MAX - 4096,
                               SIZE_MAX};
static const size_t alignments[] = {
    0, 1, 3, 4, 8, 16, 24, 32, 64, 1024, 4096, 8192, 65536, 1 << 20, (size_t)1 << 63, SIZE_MAX};

HOST_NOINLINE static void *ask(void *(*fn)(size_t), size_t n)
{
    return host_hide(fn(n));
}

/* errno before the call is 77: success must leave it alone. */
static void tell(const char *name, void *p, size_t n, size_t alignment)
{
    int e = errno;
    int is_aligned = p != NULL && ((uintptr_t)p & (alignment - 1)) == 0;
    int is_big = p == NULL || malloc_usable_size(p) >= n;
    printf("%s(%zu): %s errno %d aligned %d big enough %d\n", name, n, p == NULL ? "null" : "block",
           e, is_aligned, is_big);
    if (p != NULL && n > 0 && n <= 1 << 26) {
        memset(p, 0xa5, n);
    }
}

static void *via_calloc(size_t n)
{
    unsigned char *p = calloc(1, n);
    for (size_t i = 0; p != NULL && i < n; i++) {
        host_check(p[i] == 0, "calloc clears");
    }
    return p;
}

static void *via_realloc(size_t n)
{
    return realloc(NULL, n);
}

static void simple(void)
{
    static const struct {
        const char *name;
        void *(*fn)(size_t);
        size_t alignment;
    } ways[] = {{"malloc", malloc, 16},
                {"calloc", via_calloc, 16},
                {"realloc", via_realloc, 16},
                {"valloc", valloc, 4096},
                {"pvalloc", pvalloc, 4096}};
    for (size_t w = 0; w < HOST_LEN(ways); w++) {
        for (size_t i = 0; i < HOST_LEN(sizes); i++) {
            errno = 77;
            void *p = ask(ways[w].fn, sizes[i]);
            tell(ways[w].name, p, sizes[i], ways[w].alignment);
            errno = 77;
            free(p);
            host_check(errno == 77, "free leaves errno alone");
        }
    }
}

static void products(void)
{
    for (size_t i = 0; i < HOST_LEN(sizes); i++) {
        for (size_t k = 0; k < HOST_LEN(sizes); k++) {
            errno = 77;
            void *p = calloc(sizes[i], sizes[k]);
            int e = errno;
            errno = 77;
            void *q = reallocarray(NULL, sizes[i], sizes[k]);
            printf("%zu x %zu: calloc %d errno %d, reallocarray %d errno %d\n", sizes[i], sizes[k],
                   p != NULL, e, q != NULL, errno);
            free(p);
            free(q);
        }
    }
}

static void aligned(void)
{
    for (size_t a = 0; a < HOST_LEN(alignments); a++) {
        for (size_t i = 0; i < HOST_LEN(sizes); i++) {
            size_t align = alignments[a];
            int is_power = align != 0 && (align & (align - 1)) == 0;
            void *p = (void *)7;
            errno = 77;
            int r = posix_memalign(&p, align, sizes[i]);
            printf("posix_memalign(%zu, %zu): %d errno %d touched %d\n", align, sizes[i], r, errno,
                   p != (void *)7);
            host_check(r != 0 || ((uintptr_t)p & (align - 1)) == 0, "posix_memalign aligns");
            free(r == 0 ? p : NULL);
            errno = 77;
            p = aligned_alloc(align, sizes[i]);
            printf("aligned_alloc(%zu, %zu): %d errno %d\n", align, sizes[i], p != NULL, errno);
            host_check(p == NULL || !is_power || ((uintptr_t)p & (align - 1)) == 0,
                       "aligned_alloc aligns");
            free(p);
            errno = 77;
            p = memalign(align, sizes[i]);
            printf("memalign(%zu, %zu): %d errno %d\n", align, sizes[i], p != NULL, errno);
            host_check(p == NULL || !is_power || ((uintptr_t)p & (align - 1)) == 0,
                       "memalign aligns");
            free(p);
        }
    }
}

/* Every size to every other: contents are kept, failure keeps the old block. */
static void resize(void)
{
    for (size_t i = 0; i < HOST_LEN(sizes) && sizes[i] <= 1 << 20; i++) {
        for (size_t k = 0; k < HOST_LEN(sizes); k++) {
            unsigned char *p = malloc(sizes[i]);
            if (p == NULL) {
                printf("no block of %zu\n", sizes[i]);
                continue;
            }
            memset(p, 0x5a, sizes[i]);
            errno = 77;
            unsigned char *q = realloc(p, sizes[k]);
            printf("realloc(%zu, %zu): %d errno %d\n", sizes[i], sizes[k], q != NULL, errno);
            unsigned char *left = q != NULL ? q : sizes[k] == 0 ? NULL : p;
            size_t n = q == NULL || sizes[i] < sizes[k] ? sizes[i] : sizes[k];
            size_t wrong = 0;
            for (size_t b = 0; left != NULL && b < n; b++) {
                wrong += left[b] != 0x5a;
            }
            host_check(wrong == 0, "contents are kept");
            free(left);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "limited") == 0) {
        struct rlimit r = {(size_t)400 << 20, (size_t)400 << 20};
        setrlimit(RLIMIT_AS, &r);
    }
    free(NULL);
    for (int i = 0; i < 2; i++) {
        simple();
        products();
        aligned();
        resize();
    }
    errno = 77;
    host_check(malloc_usable_size(NULL) == 0 && errno == 77, "the size of nothing is 0");
    host_check(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1, "mallopt");
    host_check(malloc_trim(0) >= 0, "malloc_trim");
    return host_end("every entry, every size");
}
