/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a program with an allocator of its own, whole or in part, keeps it, and that names it
 * exports for other purposes (dlsym, getenv, write, open, read, syscall) are not called by us.
 */
/* host: rows B84 B85 */
/* host: flags -rdynamic -fno-builtin */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 OTELPROF_INTERVAL=50ms */
/* host: sees cpu works_alone */
#include "host.h"

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>

static char arena[8 << 20] __attribute__((aligned(64)));
static size_t used;
static long allocated;
static long freed;
static long called;
static int is_main_there;

/* Blocks at odd places, without anything in front of them that could be looked at. */
void *malloc(size_t n)
{
    size_t at = __atomic_fetch_add(&used, (n + 31) / 16 * 16, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&allocated, 1, __ATOMIC_RELAXED);
    if (n > sizeof(arena) || at + n > sizeof(arena)) {
        errno = ENOMEM;
        return NULL;
    }
    return arena + at;
}

void free(void *p)
{
    if (p != NULL && ((char *)p < arena || (char *)p >= arena + sizeof(arena))) {
        static const char text[] = "a block of somebody else's\n";
        host_sink += (unsigned long)fwrite(text, 1, sizeof(text) - 1, stdout);
        _exit(9);
    }
    (void)__atomic_fetch_add(&freed, p != NULL, __ATOMIC_RELAXED);
}

void *calloc(size_t n, size_t size)
{
    void *p = n != 0 && size > SIZE_MAX / n ? NULL : malloc(n * size);
    return p == NULL ? NULL : memset(p, 0, n * size);
}

void *realloc(void *old, size_t n)
{
    void *p = malloc(n);
    if (p != NULL && old != NULL) {
        size_t room = (size_t)(arena + sizeof(arena) - (char *)old);
        memcpy(p, old, n < room ? n : room);
        free(old);
    }
    return p;
}

/* Names of libc's that a program may use for itself, as some do. */
void *dlsym(void *handle, const char *name);
void *dlsym(void *handle, const char *name)
{
    (void)handle;
    (void)name;
    called++;
    return NULL;
}

char *getenv(const char *name)
{
    called += is_main_there;
    (void)name;
    return NULL;
}

#define TRAP(type, name, ...)                                                                      \
    type name(__VA_ARGS__);                                                                        \
    type name(__VA_ARGS__)                                                                         \
    {                                                                                              \
        called += is_main_there;                                                                   \
        errno = ENOSYS;                                                                            \
        return (type)-1;                                                                           \
    }

#pragma GCC diagnostic ignored "-Wunused-parameter"
TRAP(ssize_t, write, int fd, const void *p, size_t n)
TRAP(ssize_t, read, int fd, void *p, size_t n)
TRAP(int, open, const char *path, int flags, ...)
TRAP(int, openat, int folder, const char *path, int flags, ...)
TRAP(int, close, int fd)
TRAP(int, fork_like, void)
TRAP(int, rename, const char *from, const char *to)
TRAP(int, socket, int a, int b, int c)

/* The functions on memory that every compiler and library takes for granted. */
#define OWN_LOOP __attribute__((optimize("no-tree-loop-distribute-patterns")))

OWN_LOOP void *memcpy(void *to, const void *from, size_t n)
{
    char *d = to;
    const char *s = from;
    called += is_main_there;
    while (n-- > 0) {
        *d++ = *s++;
    }
    return to;
}

OWN_LOOP void *memset(void *to, int byte, size_t n)
{
    char *d = to;
    called += is_main_there;
    while (n-- > 0) {
        *d++ = (char)byte;
    }
    return to;
}

OWN_LOOP int strcmp(const char *a, const char *b)
{
    called += is_main_there;
    while (*a == *b && *a != 0) {
        a++;
        b++;
    }
    return (unsigned char)*a - (unsigned char)*b;
}

OWN_LOOP size_t strlen(const char *s)
{
    size_t n = 0;
    called += is_main_there;
    while (s[n] != 0) {
        n++;
    }
    return n;
}

HOST_NOINLINE static void works_alone(void)
{
    host_burn(100);
    for (int i = 0; i < 100; i++) {
        free(host_hide(malloc(64)));
    }
}

int main(void)
{
    setvbuf(stdout, NULL, _IOFBF, 4096);
    is_main_there = 1;
    works_alone();
    long before = allocated;
    works_alone();
    host_check(allocated == before + 100, "nobody allocates but the program");
    host_check(called == 0, "none of its names was called");
    /* The C library's, which calls the realloc of whoever comes first. */
    char *array = reallocarray(NULL, 10, 10);
    array = reallocarray(array, 100, 10);
    array = reallocarray(array, 10, 20);
    host_check(array >= arena && array < arena + sizeof(arena), "an array is a block of its own");
    free(array);
    is_main_there = 0;
    return host_end("an allocator of its own");
}
