/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that libraries in name spaces of their own, each with a C library of its own, come and go
 * while they are sampled. */
/* stress: set CPU_HZ=1000 HEAP_INTERVAL=1 INTERVAL=50ms MEMORY_LIMIT=16m */
/* stress: sees cpu plug_work */
/* stress: flags -ldl */
#include "growth.h"

#include <dlfcn.h>
#include <pthread.h>

#define LOADS 300
#define WARM 100

static volatile unsigned long sink;
static struct growth warm;

static void *storm(void *arg)
{
    char path[4096];
    long good = 0;
    snprintf(path, sizeof(path), "%s/plug.so", getenv("STRESS_LIBS"));
    for (int i = 0; i < LOADS; i++) {
        void *h = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
        if (h == NULL) {
            printf("%s\n", dlerror());
            break;
        }
        unsigned long (*work)(unsigned long) =
            (unsigned long (*)(unsigned long))dlsym(h, "plug_work");
        sink += work(400000);
        good += dlclose(h) == 0;
        if (i == WARM) {
            warm = growth_now();
        }
    }
    *(long *)arg = good;
    return arg;
}

int main(void)
{
    pthread_t t;
    long good = 0;
    pthread_create(&t, NULL, storm, &good);
    pthread_join(t, NULL);
    growth_compare(warm, 12288, 40);
    printf("%ld of %d times loaded\n", good, LOADS);
    return growth_failures != 0;
}
