/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that the last profile is whole when a second thread ends the process while the first is at
 * it. */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU=false */
/* host: sees alloc_objects many_stacks */
/* host: runs _exit|TERM */
#include "host.h"

#include <pthread.h>
#include <signal.h>

static const char *how;
static int is_ending;
static int slots[64];

/* Many different stacks, so that the last flush has something to do. */
HOST_NOINLINE static void many_stacks(unsigned bits, int depth)
{
    if (depth == 0) {
        free(host_hide(malloc(10)));
        return;
    }
    if (bits & 1) {
        many_stacks(bits >> 1, depth - 1);
        slots[depth]++;
    } else {
        many_stacks(bits >> 1, depth - 1);
        slots[depth]--;
    }
}

static void at_end(void)
{
    __atomic_store_n(&is_ending, 1, __ATOMIC_RELEASE);
}

static void *second(void *arg)
{
    while (__atomic_load_n(&is_ending, __ATOMIC_ACQUIRE) == 0) {
    }
    if (strcmp(how, "_exit") == 0) {
        _exit(3);
    }
    pthread_kill(pthread_self(), SIGTERM);
    return arg;
}

static void on_term(int signo)
{
    (void)signo;
    _exit(3);
}

int main(int argc, char **argv)
{
    pthread_t t;
    how = argc > 1 ? argv[1] : "_exit";
    if (strcmp(how, "TERM") == 0) {
        signal(SIGTERM, on_term);
    }
    for (unsigned i = 0; i < 4000; i++) {
        many_stacks(i, 12);
    }
    pthread_create(&t, NULL, second, NULL);
    host_end("two ends");
    fflush(stdout);
    atexit(at_end);
    exit(3);
}
