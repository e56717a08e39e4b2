/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates in loop_step again and again until PATH exists, at most SECONDS; then ends with 0,
 * or 1 when the time ran out: loop PATH SECONDS. Prints "started" at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void *volatile kept;

__attribute__((noinline)) void loop_step(void)
{
    free(kept);
    kept = malloc(5000);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 2;
    }
    puts("started");
    fflush(stdout);
    time_t end = time(NULL) + atol(argv[2]);
    while (access(argv[1], F_OK) != 0) {
        if (time(NULL) > end) {
            return 1;
        }
        for (int i = 0; i < 50; i++) {
            loop_step();
        }
        usleep(1000);
    }
    return 0;
}
