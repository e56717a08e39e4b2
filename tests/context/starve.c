/* SPDX-License-Identifier: Apache-2.0 */
/* 500 blocks that stay, each of a span, and then so many spans with a block that goes at once that
 * one flush cannot tell all of them. */
#include "core/api/otelprof.h"
#include "tests/context/block.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIVE 500
#define SPANS 60000

static void *kept[LIVE];

int main(void)
{
    unsigned char trace[16] = {1};
    for (uint64_t n = 1; n <= LIVE + SPANS; n++) {
        otelprof_span_set(trace, &n);
        otelprof_label_push("route", "/x");
        void *p = make_block(64);
        otelprof_label_pop();
        otelprof_span_clear();
        if (n <= LIVE) {
            kept[n - 1] = p;
        } else {
            free(p);
        }
    }
    printf("%d blocks stay\n", LIVE);
    return kept[0] == NULL;
}
