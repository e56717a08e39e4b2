/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program looks at to see whether something grows in it: mappings, resident memory,
 * descriptors, timers, threads, and the descriptors of the profiler's own thread, if it is there.
 */
#ifndef OTP_STRESS_GROWTH_H
#define OTP_STRESS_GROWTH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../worker.h"

struct growth {
    long maps;
    long resident_kib;
    long fds;
    long timers;
    long threads;
    long worker_fds;
};

static int growth_failures;

static inline long growth_lines(const char *path, const char *with)
{
    char line[5000];
    long n = 0;
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        n += strncmp(line, with, strlen(with)) == 0;
    }
    if (f != NULL) {
        fclose(f);
    }
    return n;
}

static inline long growth_entries(const char *path)
{
    long n = 0;
    DIR *d = opendir(path);
    while (d != NULL && readdir(d) != NULL) {
        n++;
    }
    if (d != NULL) {
        closedir(d);
    }
    return n - 2;
}

/* What threads that are gone have left is taken back within a second or two, and not by them. */
static inline void growth_settle(void)
{
    for (int i = 0; i < 100; i++) {
        if (growth_lines("/proc/self/timers", "ID:") <= growth_entries("/proc/self/task")) {
            return;
        }
        usleep(100000);
    }
}

static inline struct growth growth_now(void)
{
    struct growth g = {0, 0, 0, 0, 0, 0};
    char path[64];
    long pages = 0;
    growth_settle();
    FILE *f = fopen("/proc/self/statm", "re");
    if (f != NULL) {
        if (fscanf(f, "%*d %ld", &pages) != 1) {
            pages = 0;
        }
        fclose(f);
    }
    g.resident_kib = pages * 4;
    g.maps = growth_lines("/proc/self/maps", "");
    g.fds = growth_entries("/proc/self/fd");
    g.timers = growth_lines("/proc/self/timers", "ID:");
    g.threads = growth_entries("/proc/self/task");
    int worker = worker_thread();
    if (worker != 0) {
        snprintf(path, sizeof(path), "/proc/self/task/%d/fd", worker);
        g.worker_fds = growth_entries(path);
    }
    return g;
}

static inline void growth_check(const char *what, long before, long after, long more)
{
    if (after > before + more) {
        growth_failures++;
        printf("%s: %ld, and %ld later on\n", what, before, after);
    }
}

/* The profiler keeps a descriptor for each thread where it uses perf events, and gives that of one
 * that is gone back within a second. */
static inline struct growth growth_settled(void)
{
    struct growth now = growth_now();
    for (int i = 0; i < 200 && now.worker_fds > 4 + now.threads; i++) {
        usleep(50000);
        now = growth_now();
    }
    return now;
}

/* Nothing may have grown since before; kib_more, maps_more: what the program itself may need. */
static inline void growth_compare(struct growth before, long kib_more, long maps_more)
{
    struct growth now = growth_settled();
    growth_check("mappings", before.maps, now.maps, maps_more);
    growth_check("resident KiB", before.resident_kib, now.resident_kib, kib_more);
    growth_check("descriptors", before.fds, now.fds, 0);
    growth_check("timers", before.timers, now.timers, 2);
    growth_check("threads", before.threads, now.threads, 1);
    growth_check("descriptors of the profiler", 4 + now.threads, now.worker_fds, 0);
    if (getenv("GROWTH_SHOW") != NULL) {
        fprintf(stderr, "maps %ld %ld, KiB %ld %ld, fds %ld %ld, timers %ld %ld\n", before.maps,
                now.maps, before.resident_kib, now.resident_kib, before.fds, now.fds, before.timers,
                now.timers);
        fprintf(stderr, "threads %ld %ld, descriptors of the profiler %ld\n", before.threads,
                now.threads, now.worker_fds);
    }
}

#endif
