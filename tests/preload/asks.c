/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, one after the other, that do nothing but ask the kernel for their CPU time:
 * asks MILLISECONDS THREADS. */
#include <pthread.h>
#include <stdlib.h>

#include "../truth.h"

static long long part_ns;

__attribute__((noinline)) void ask(void)
{
    while (truth_clock() < part_ns) {
    }
    truth_tell("ask", 0);
}

static void *work(void *arg)
{
    ask();
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t t;
    int count = argc > 2 ? atoi(argv[2]) : 0;
    part_ns = argc > 1 ? atoll(argv[1]) * 1000000 : 0;
    for (int i = 0; i < count; i++) {
        pthread_create(&t, NULL, work, NULL);
        pthread_join(t, NULL);
    }
    puts("asked");
    return 0;
}
