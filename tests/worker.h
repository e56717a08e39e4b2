/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that look for the profiler's own thread among theirs. */
#ifndef OTELPROF_TESTS_WORKER_H
#define OTELPROF_TESTS_WORKER_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Its number, once it has its name; 0: there is none. */
static inline int worker_thread(void)
{
    int found = 0;
    DIR *d = opendir("/proc/self/task");
    struct dirent *e;
    while (d != NULL && (e = readdir(d)) != NULL) {
        char path[300];
        char name[32] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
        FILE *f = fopen(path, "re");
        if (f != NULL) {
            if (fgets(name, sizeof(name), f) != NULL && strcmp(name, "otelprof\n") == 0) {
                found = atoi(e->d_name);
            }
            fclose(f);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return found;
}

#endif
