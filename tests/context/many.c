/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with very many spans (first argument), each with a label of its own value and some
 * blocks. Prints the sum of what it allocated in make_block and how much memory it had in use.
 */
#include "core/api/otelprof.h"
#include "tests/context/block.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    unsigned long sum = 0;
    char value[32];
    for (uint64_t k = 1; k <= count; k++) {
        uint64_t trace[2] = {k, k};
        snprintf(value, sizeof(value), "user-%lu", (unsigned long)k);
        otelprof_span_set(trace, &k);
        otelprof_label_push("user", value);
        otelprof_label_push("kind", k % 3 == 0 ? "a" : "b");
        size_t size = 100 + k % 400;
        void *p = make_block(size);
        void *q = make_block(size);
        free(p);
        free(q);
        sum += 2 * size;
        otelprof_label_pop();
        otelprof_label_pop();
        otelprof_span_clear();
    }
    unsigned long peak = 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            peak = strtoul(line + 6, NULL, 10);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    printf("%lu %lu\n", sum, peak);
    return 0;
}
