/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans (or values of a label, with "label" as first argument) with one allocation each. Those of
 * phase n begin with the digit n. After phases 1 and 2 comes a flush, and then a rest of as many
 * milliseconds as the second argument says. Then 3 is what a child does, 4 what its child does, 6
 * is done while nothing is sampled, and 5 what the parent does at the end.
 */
#include "core/api/otelprof.h"
#include "tests/context/block.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPANS 3000
#define BYTES 5000 /* such a block stands for 1.4 at an interval of 4 KiB */

static int has_labels;
static void *kept[SPANS];

static void run(unsigned phase)
{
    for (unsigned k = 0; k < SPANS; k++) {
        unsigned char trace[16] = {(unsigned char)phase, 1};
        unsigned char span[8] = {(unsigned char)(phase << 4), (unsigned char)(k >> 8),
                                 (unsigned char)k};
        if (has_labels) {
            otelprof_label_push_int("block", phase * 10000 + k);
        } else {
            otelprof_span_set(trace, span);
        }
        void *p = make_block(BYTES);
        if (has_labels) {
            otelprof_label_pop();
        }
        otelprof_span_clear();
        if (k % 10 == 0) { /* lives until the next phase */
            void *old = kept[k];
            kept[k] = p;
            p = old;
        }
        free(p);
    }
}

static void wait_for(pid_t pid)
{
    int status = 1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        exit(3);
    }
}

static void be_child(void)
{
    run(3);
    pid_t pid = fork();
    if (pid == 0) {
        run(4);
        exit(0);
    }
    wait_for(pid);
    exit(0);
}

int main(int argc, char **argv)
{
    unsigned wait_us = argc > 2 ? (unsigned)atoi(argv[2]) * 1000U : 0;
    has_labels = argc > 1 && strcmp(argv[1], "label") == 0;
    for (unsigned phase = 1; phase <= 2; phase++) {
        run(phase);
        if (otelprof_flush() == 0) {
            return 4;
        }
        usleep(wait_us);
    }
    pid_t pid = fork();
    if (pid == 0) {
        be_child();
    }
    wait_for(pid);
    if (otelprof_stop() == 0) {
        return 5;
    }
    run(6);
    if (otelprof_start() == 0) {
        return 6;
    }
    run(5);
    printf("%d\n", (int)getpid());
    return 0;
}
