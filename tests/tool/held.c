/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds 8 blocks of 1 MiB over several flushes; a child holds 3 more of its own. Each asks for a
 * flush, waits until FOLDER/PID.pb is there, and allocates for the flush at its end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/api/otelprof.h"

#define BLOCK ((size_t)1 << 20)

static char *volatile held[11];

static void hold(int from, int to)
{
    for (int i = from; i < to; i++) {
        held[i] = malloc(BLOCK);
        memset(held[i], 1, BLOCK);
    }
}

static int flush(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%ld.pb", folder, (long)getpid());
    if (otelprof_flush() == 0) {
        return 1;
    }
    while (access(path, F_OK) != 0) {
        usleep(1000);
    }
    char *volatile more = malloc(BLOCK);
    free(more);
    return 0;
}

int main(int argc, char **argv)
{
    int status = 0;
    if (argc != 2) {
        return 3;
    }
    hold(0, 8);
    pid_t child = fork();
    if (child == 0) {
        hold(8, 11);
        return flush(argv[1]);
    }
    if (flush(argv[1]) != 0 || waitpid(child, &status, 0) != child) {
        return 1;
    }
    return status == 0 && held[0] != NULL ? 0 : 2;
}
