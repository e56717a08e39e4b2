/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renamed FOLDER FLUSHES: a thread, and the main one, get new names by a write to their comm files,
 * and burn and allocate until so many flushes of theirs are in the folder.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../folder.h"

static volatile unsigned sink;
static volatile int is_over;

static void rename_to(const char *path, const char *name)
{
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, name, strlen(name)) < 0) {
        perror(path);
        exit(1);
    }
    close(fd);
}

static void burn(void)
{
    for (unsigned i = 0; i < 1000000; i++) {
        sink += i * i;
    }
    void *volatile p = malloc(1000);
    free(p);
}

static void *work(void *out_tid)
{
    burn();
    __atomic_store_n((int *)out_tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
    while (!is_over) {
        burn();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int tid = 0;
    char path[64];
    if (argc < 3 || pthread_create(&thread, NULL, work, &tid) != 0) {
        return 2;
    }
    while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE) == 0 || folder_count(argv[1]) < 1) {
        burn(); /* sampled under their first names */
    }
    snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
    rename_to(path, "by-its-file");
    rename_to("/proc/thread-self/comm", "main-by-file");
    int enough = folder_count(argv[1]) + atoi(argv[2]);
    while (folder_count(argv[1]) < enough) {
        burn();
    }
    is_over = 1;
    pthread_join(thread, NULL);
    puts("renamed");
    return 0;
}
