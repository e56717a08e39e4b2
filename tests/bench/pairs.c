/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Costs of allocator calls as a program sees them. pairs MODE SIZE THREADS DEPTH COUNT prints
 * nanoseconds of thread CPU time per malloc/free pair, the best of several rounds:
 *   tight   each block is freed at once
 *   slots   a random one of 4096 blocks is replaced
 *   cross   one thread allocates, another frees (the figure is the sum of both)
 *   free    only the second half of that
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 9
#define SLOTS 4096
#define MAX_THREADS 64

static size_t size;
static long count;
static const char *mode;
static _Thread_local void *volatile sink;
static double best[MAX_THREADS];

static double now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void tight(void)
{
    for (long i = 0; i < count; i++) {
        sink = malloc(size);
        free(sink);
    }
}

static void slots(void)
{
    static _Thread_local void *held[SLOTS];
    uint64_t x = 88172645463325252U;
    for (long i = 0; i < count; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        void **slot = &held[x % SLOTS];
        free(*slot);
        *slot = malloc(size);
    }
}

__attribute__((noinline)) static void run(int depth, int me)
{
    volatile int pad = depth;
    if (depth > 0) {
        run(depth - 1, me);
        pad = 0;
        (void)pad;
        return;
    }
    for (int r = 0; r < ROUNDS; r++) {
        double begin = now_ns();
        if (strcmp(mode, "slots") == 0) {
            slots();
        } else {
            tight();
        }
        double took = (now_ns() - begin) / (double)count;
        best[me] = r == 0 || took < best[me] ? took : best[me];
    }
}

struct job {
    int depth;
    int me;
};

static void *thread(void *arg)
{
    struct job *j = arg;
    run(j->depth, j->me);
    return NULL;
}

static void *allocate_all(void *arg)
{
    void **blocks = arg;
    double begin = now_ns();
    for (long i = 0; i < count; i++) {
        blocks[i] = malloc(size);
    }
    best[0] = (now_ns() - begin) / (double)count;
    return NULL;
}

static void *free_all(void *arg)
{
    void **blocks = arg;
    double begin = now_ns();
    for (long i = 0; i < count; i++) {
        free(blocks[i]);
    }
    best[1] = (now_ns() - begin) / (double)count;
    return NULL;
}

/* One thread allocates everything, then another frees it: no time is spent waiting. */
static double cross(void)
{
    double least = 0;
    void **blocks = calloc((size_t)count, sizeof(*blocks));
    for (int r = 0; blocks != NULL && r < ROUNDS; r++) {
        pthread_t t;
        pthread_create(&t, NULL, allocate_all, blocks);
        pthread_join(t, NULL);
        pthread_create(&t, NULL, free_all, blocks);
        pthread_join(t, NULL);
        double both = strcmp(mode, "free") == 0 ? best[1] : best[0] + best[1];
        least = r == 0 || both < least ? both : least;
    }
    free(blocks);
    return least;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: pairs MODE SIZE THREADS DEPTH COUNT\n");
        return 2;
    }
    mode = argv[1];
    size = strtoul(argv[2], NULL, 10);
    int threads = atoi(argv[3]);
    int depth = atoi(argv[4]);
    count = atol(argv[5]);
    threads = threads > MAX_THREADS ? MAX_THREADS : threads;
    pthread_t t[MAX_THREADS];
    struct job jobs[MAX_THREADS];
    if (strcmp(mode, "cross") == 0 || strcmp(mode, "free") == 0) {
        printf("%.3f\n", cross());
        return 0;
    }
    if (threads == 1) {
        run(depth, 0);
    } else {
        for (int i = 0; i < threads; i++) {
            jobs[i] = (struct job){.depth = depth, .me = i};
            pthread_create(&t[i], NULL, thread, &jobs[i]);
        }
        for (int i = 0; i < threads; i++) {
            pthread_join(t[i], NULL);
        }
    }
    double sum = 0;
    for (int i = 0; i < threads; i++) {
        sum += best[i];
    }
    printf("%.3f\n", sum / threads);
    return 0;
}
