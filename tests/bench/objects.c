/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Costs of recorded allocations by how many objects are loaded: objects FILE…, each a copy of
 * leaf.c's object. Prints nanoseconds of thread CPU time per malloc/free pair, made in each of them
 * in turn.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 5

static double now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
    int count = argc - 1;
    void (**leaf)(void) = calloc((size_t)count, sizeof(*leaf));
    for (int i = 0; i < count; i++) {
        void *object = dlopen(argv[i + 1], RTLD_NOW);
        leaf[i] = object == NULL ? NULL : (void (*)(void))dlsym(object, "leaf");
        if (leaf[i] == NULL) {
            fprintf(stderr, "objects: %s\n", dlerror());
            return 1;
        }
    }
    double best = 0;
    for (int r = 0; r < ROUNDS; r++) {
        const long n = 40000;
        double begin = now_ns();
        for (long i = 0; i < n; i++) {
            leaf[i % count]();
        }
        double took = (now_ns() - begin) / (double)n;
        best = r == 0 || took < best ? took : best;
    }
    printf("%.2f\n", best);
    return 0;
}
