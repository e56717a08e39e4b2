/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allocator in which each block ends at an unmapped page and begins at an odd place, so that
 * nobody can look before or behind it; and which ends the process when it is called where
 * everything is blocked: in a handler of the profiler.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE ((size_t)4096)

struct head {
    size_t bytes; /* mapped */
    size_t size;  /* asked for */
};

static void refuse_in_handler(void)
{
    uint64_t mask = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof(mask));
    /* All but the two that cannot be blocked. Host programs of the tests never block the signals of
     * libc itself. */
    if ((mask | 1UL << (SIGKILL - 1) | 1UL << (SIGSTOP - 1)) == ~0UL) {
        static const char text[] = "allocation in a handler\n";
        syscall(SYS_write, 2, text, sizeof(text) - 1);
        syscall(SYS_exit_group, 99);
    }
}

/* The head is on a page of its own in front, found from the page of the block. */
static struct head *head_of(void *p)
{
    return (struct head *)(((uintptr_t)p & ~(PAGE - 1)) - PAGE);
}

void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size)
{
    refuse_in_handler();
    if (size > (size_t)1 << 40 || alignment > (size_t)1 << 30) {
        errno = ENOMEM;
        return NULL;
    }
    alignment = alignment < 16 ? 16 : alignment;
    size_t rounded = size == 0 ? alignment : (size + alignment - 1) / alignment * alignment;
    size_t pages = (rounded + PAGE - 1) / PAGE * PAGE;
    size_t bytes = PAGE + pages + PAGE + (alignment > PAGE ? alignment : 0);
    int saved = errno;
    char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        errno = ENOMEM;
        return NULL;
    }
    errno = saved;
    uintptr_t at = (uintptr_t)base + PAGE + pages - rounded;
    at = (at + alignment - 1) / alignment * alignment;
    struct head *h = head_of((void *)at);
    h->bytes = bytes;
    h->size = size;
    return (void *)at;
}

void *malloc(size_t size)
{
    return memalign(16, size);
}

void free(void *p)
{
    int saved = errno;
    refuse_in_handler();
    if (p != NULL) {
        struct head *h = head_of(p);
        /* Aligned blocks begin anywhere within their mapping: give back from the head on. */
        munmap(h, h->bytes);
    }
    errno = saved;
}

void *calloc(size_t n, size_t size)
{
    if (n != 0 && size > SIZE_MAX / n) {
        errno = ENOMEM;
        return NULL;
    }
    return malloc(n * size);
}

void *realloc(void *old, size_t size)
{
    void *p = malloc(size);
    if (p != NULL && old != NULL) {
        struct head *h = head_of(old);
        memcpy(p, old, h->size < size ? h->size : size);
        free(old);
    }
    return p;
}

int posix_memalign(void **out, size_t alignment, size_t size);
int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) {
        return EINVAL;
    }
    void *p = memalign(alignment, size);
    *out = p != NULL ? p : *out;
    return p == NULL ? ENOMEM : 0;
}

void *aligned_alloc(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

size_t malloc_usable_size(void *p);
size_t malloc_usable_size(void *p)
{
    return p == NULL ? 0 : head_of(p)->size;
}
