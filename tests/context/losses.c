/* SPDX-License-Identifier: Apache-2.0 */
/*
 * losses cpu: CPU time with labels that do not fit, and allocations without any; losses heap: the
 * other way round.
 */
#include "core/api/otelprof.h"
#include "tests/context/block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile unsigned long sink;

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void burn(void)
{
    double end = cpu_now() + 0.3;
    while (cpu_now() < end) {
        for (unsigned long i = 0; i < 20000; i++) {
            sink = sink + i * i;
        }
    }
}

static void allocate(void)
{
    for (int i = 0; i < 500; i++) {
        free(make_block(100));
    }
}

int main(int argc, char **argv)
{
    static char text[250];
    int is_cpu = argc > 1 && strcmp(argv[1], "cpu") == 0;
    memset(text, 'x', sizeof(text) - 1);
    for (int i = 0; i < 20; i++) {
        text[0] = (char)('a' + i);
        otelprof_label_push("long", text);
    }
    if (is_cpu) {
        burn();
    } else {
        allocate();
    }
    for (int i = 0; i < 20; i++) {
        otelprof_label_pop();
    }
    if (is_cpu) {
        allocate();
    } else {
        burn();
    }
    printf("%d\n", is_cpu);
    return 0;
}
