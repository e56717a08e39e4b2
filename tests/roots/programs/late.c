/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a program which has no thread library gets one later, with a plugin, and timers with
 * another: first it works alone, then the plugins' threads and timers do, and again.
 */
#define _GNU_SOURCE
#include "common.h"

#include <dlfcn.h>

static void *load(const char *path, const char *name, int (**out)(void))
{
    void *handle = dlopen(path, RTLD_NOW);
    void *symbol = handle == NULL ? NULL : dlsym(handle, name);
    if (symbol == NULL) {
        printf("%s: %s\n", path, dlerror());
        exit(8);
    }
    memcpy(out, &symbol, sizeof(*out));
    return handle;
}

int main(void)
{
    int (*run)(void);
    printf("threads at the start: %s\n", dlsym(RTLD_DEFAULT, "sem_trywait") == NULL ? "no" : "yes");
    burn_here(100);
    allocate_here(50);
    for (int i = 0; i < 3; i++) {
        void *threads = load("./late_threads.so", "run_threads", &run);
        printf("threads %d\n", run());
        (void)load("./timers.so", "run_timers", &run); /* stays: a last notice may be under way */
        printf("timers %d\n", run());
        printf("unloaded %d\n", dlclose(threads));
        burn_here(100);
    }
    return 6;
}
