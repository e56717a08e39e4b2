/* SPDX-License-Identifier: Apache-2.0 */
/* As many different stacks as are wanted, and what the program's memory is meanwhile. */
#ifndef OTELPROF_TESTS_CALL_PATHS_H
#define OTELPROF_TESTS_CALL_PATHS_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *volatile call_paths_sink;

/* KiB of a line of smaps_rollup, which counts pages; name is "\nRss:" or the like. 0: none. */
static inline long rollup_kib(const char *name)
{
    static char text[4096];
    int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n < 0 ? 0 : n] = '\0';
    const char *at = strstr(text, name);
    return at == NULL ? 0 : strtol(at + strlen(name), NULL, 10);
}

/*
 * Allocates and frees a block under the stack of that number: its digits, four to the power of the
 * depth, choose among four call sites at each step.
 */
__attribute__((noinline)) static void descend(unsigned digits, int left)
{
    volatile unsigned mine = digits & 3;
    if (left == 0) {
        call_paths_sink = malloc(64);
        free(call_paths_sink);
        return;
    }
    switch (digits & 3) {
    case 0:
        descend(digits >> 2, left - 1);
        mine += 1;
        break;
    case 1:
        descend(digits >> 2, left - 1);
        mine += 2;
        break;
    case 2:
        descend(digits >> 2, left - 1);
        mine += 3;
        break;
    default:
        descend(digits >> 2, left - 1);
        mine += 4;
        break;
    }
    (void)mine;
}

#endif
