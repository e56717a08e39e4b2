/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of spans: each of THREADS threads opens SPANS spans; in each it allocates four blocks, of
 * which one stays, one is freed at once, one by another thread later, and one after the span. Run
 * with every allocation sampled, the sums of each span are known to the byte: span k of thread n is
 * n + 1, k, and its blocks have 1000 + k bytes. Prints what it has made and kept.
 */
#include "core/api/otelprof.h"
#include "tests/context/block.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define SPANS 500

static void *kept[THREADS][SPANS];
static void *later[THREADS][SPANS];

static void *work(void *arg)
{
    size_t n = (size_t)(uintptr_t)arg;
    for (size_t k = 0; k < SPANS; k++) {
        unsigned char trace[16] = {(unsigned char)(n + 1), 1};
        unsigned char span[8] = {(unsigned char)(n + 1), (unsigned char)(k >> 8), (unsigned char)k};
        otelprof_span_set(trace, span);
        otelprof_label_push("class", k % 2 == 0 ? "even" : "odd");
        kept[n][k] = make_block(1000 + k);
        void *now = make_block(1000 + k);
        later[n][k] = make_block(1000 + k);
        void *after = make_block(1000 + k);
        free(now);
        otelprof_label_pop();
        otelprof_span_clear();
        free(after);
        usleep(200);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    for (size_t n = 0; n < THREADS; n++) {
        pthread_create(&t[n], NULL, work, (void *)(uintptr_t)n);
    }
    for (size_t n = 0; n < THREADS; n++) {
        pthread_join(t[n], NULL);
    }
    for (size_t n = 0; n < THREADS; n++) {
        for (size_t k = 0; k < SPANS; k++) {
            free(later[n][k]);
        }
    }
    if (argc > 1) { /* long enough for what is over to be taken back */
        usleep((unsigned)atoi(argv[1]) * 1000U);
        free(make_block(1));
    }
    for (size_t n = 0; n < THREADS; n++) {
        for (size_t k = 0; k < SPANS; k++) {
            printf("%02zx%02zx%02zx %zu %zu\n", n + 1, k >> 8, k & 0xff, 4 * (1000 + k), 1000 + k);
        }
    }
    return 0;
}
