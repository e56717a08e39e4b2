/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks signals for 200 ms of its CPU time and opens them for 100 ms, five times: SIGPROF, or
 * all of them when there is an argument. */
#include <signal.h>
#include <stdint.h>

#include "../truth.h"

static volatile uint64_t sink = 1;

static void burn(long long ns)
{
    for (long long end = truth_clock() + ns; truth_clock() < end;) {
        for (int i = 0; i < 20000; i++) {
            sink = sink * 3 + 1;
        }
    }
}

__attribute__((noinline)) void burn_blocked(void)
{
    long long began = truth_clock();
    burn(200000000);
    truth_tell("burn_blocked", began);
}

__attribute__((noinline)) void burn_open(void)
{
    long long began = truth_clock();
    burn(100000000);
    truth_tell("burn_open", began);
}

int main(int argc, char **argv)
{
    sigset_t set;
    (void)argv;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    if (argc > 1) {
        sigfillset(&set);
    }
    for (int i = 0; i < 5; i++) {
        sigprocmask(SIG_BLOCK, &set, NULL);
        burn_blocked();
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        burn_open();
    }
    puts("burnt");
    return 0;
}
