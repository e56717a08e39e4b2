/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that what the allocator makes of pointers that it never gave out, or has back already, is
 * what libc makes of them, also as the first call there is, while a word about it cannot be said or
 * allocates in its turn; and that a program which gets everything right is told nothing.
 */
/* host: rows B04 B14 B80 B85 */
/* host: flags -fno-builtin -Wno-free-nonheap-object -Wno-use-after-free */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU=false */
/* host: runs first|later|closed */
/* host: sees alloc_objects allocate_here */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>

static char here[4096] __attribute__((aligned(4096)));

static void free_static(void)
{
    free(host_hide(here + 64));
}

static void free_stack(void)
{
    char on_stack[256] = "";
    free(host_hide(on_stack + 64));
}

static void free_odd(void)
{
    free((char *)host_hide(malloc(100)) + 1);
}

static void free_inside(void)
{
    char *p = host_hide(malloc(4000));
    memset(p, 0x41, 4000);
    free(host_hide(p + 64));
}

static void free_twice(void)
{
    void *p = host_hide(malloc(100));
    void *q = host_hide(malloc(100));
    free(p);
    free(host_hide(p));
    free(q);
}

static void free_twice_large(void)
{
    void *p = host_hide(malloc(5000));
    void *q = host_hide(malloc(100));
    free(p);
    free(host_hide(p));
    free(q);
}

static void resize_static(void)
{
    (void)host_hide(realloc(host_hide(here + 64), 100));
}

static void resize_freed(void)
{
    void *p = host_hide(malloc(100));
    free(p);
    free(host_hide(realloc(host_hide(p), 10000)));
}

static void free_nothing(void)
{
    for (int i = 0; i < 100; i++) {
        free(NULL);
        free(host_hide(realloc(NULL, 10)));
    }
}

static const struct {
    const char *name;
    void (*fn)(void);
} faults[] = {{"static", free_static},
              {"stack", free_stack},
              {"odd", free_odd},
              {"inside", free_inside},
              {"twice", free_twice},
              {"twice, large", free_twice_large},
              {"resize static", resize_static},
              {"resize freed", resize_freed},
              {"nothing", free_nothing}};

/* Without stdio and without allocation. */
static void say(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t n = write(STDOUT_FILENO, text, left);
        if (n <= 0) {
            _exit(9);
        }
        text += n;
        left -= (size_t)n;
    }
}

HOST_NOINLINE static void allocate_here(void)
{
    for (int i = 0; i < 100; i++) {
        free(host_hide(malloc(64)));
    }
}

static void one(size_t i)
{
    char text[100];
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        faults[i].fn();
        _exit(0);
    }
    waitpid(child, &status, 0);
    snprintf(text, sizeof(text), "%s: signal %d, status %d\n", faults[i].name,
             WIFSIGNALED(status) ? WTERMSIG(status) : 0,
             WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    say(text);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "closed") == 0) {
        close(STDERR_FILENO);
    }
    if (strcmp(how, "first") != 0) {
        allocate_here();
    }
    for (size_t i = 0; i < HOST_LEN(faults); i++) {
        one(i);
    }
    allocate_here();
    return host_end("bad pointers");
}
