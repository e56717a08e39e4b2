/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks: CPU time in nanoseconds of a span set and cleared, and of a label pushed and popped, the
 * least of many rounds, one name and value a line.
 */
#include "core/api/otelprof.h"
#include "tests/truth.h"

#include <limits.h>
#include <stdio.h>

#define ROUNDS 100
#define CALLS 100000

static void mark_span(void)
{
    static const unsigned char trace_id[16] = {1};
    static const unsigned char span_id[8] = {1};
    otelprof_span_set(trace_id, span_id);
    otelprof_span_clear();
}

static void mark_label(void)
{
    otelprof_label_push("route", "/");
    otelprof_label_pop();
}

/* Inlined, so that the call is made as a program would. */
static inline __attribute__((always_inline)) double least(void (*mark)(void))
{
    long long best = LLONG_MAX;
    for (int r = 0; r < ROUNDS; r++) {
        long long from = truth_clock();
        for (int i = 0; i < CALLS; i++) {
            mark();
        }
        long long took = truth_clock() - from;
        best = took < best ? took : best;
    }
    return (double)best / CALLS;
}

int main(void)
{
    printf("span %.2f\n", least(mark_span));
    printf("label %.2f\n", least(mark_label));
    return 0;
}
