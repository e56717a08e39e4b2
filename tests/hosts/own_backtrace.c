/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that threads which walk their own stacks without end get along with ticks, and see right
 * stacks. */
/* host: rows B19 */
/* host: flags -O0 -rdynamic -fno-omit-frame-pointer */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=5000 */
/* host: sees cpu looks_at_itself */
#include "host.h"

#include <execinfo.h>
#include <pthread.h>

void *looks_at_itself(void *arg);

HOST_NOINLINE void *looks_at_itself(void *arg)
{
    void *frames[64];
    long wrong = 0;
    for (int i = 0; i < 20000; i++) {
        int n = backtrace(frames, 64);
        wrong += n < 3;
    }
    char **names = backtrace_symbols(frames, 2);
    wrong += strstr(names[0], "looks_at_itself") == NULL;
    free(names);
    return wrong == 0 ? arg : NULL;
}

int main(void)
{
    pthread_t t[4];
    int good = 0;
    for (int i = 0; i < 4; i++) {
        pthread_create(&t[i], NULL, looks_at_itself, &good);
    }
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        pthread_join(t[i], &result);
        good += result == &good;
    }
    host_check(good == 4, "every stack was whole");
    return host_end("80000 backtraces in 4 threads");
}
