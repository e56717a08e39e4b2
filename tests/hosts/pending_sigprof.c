/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a SIGPROF of the program's own that is blocked and pending stays so: it is seen,
 * waited for, or handled later, as without us.
 */
/* host: rows B65 B66 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees cpu burn */
/* host: runs timed|info|pending|handler|process|queued */
#include "host.h"

#include <signal.h>
#include <stdint.h>

static volatile sig_atomic_t handled;

static void on_prof(int signo)
{
    handled = handled + (signo == SIGPROF);
}

HOST_NOINLINE static void burn(void)
{
    for (int i = 0; i < 300000000; i++) {
        __asm__ volatile("" ::: "memory");
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    sigset_t set;
    sigset_t seen;
    siginfo_t info = {0};
    struct timespec none = {0};
    burn();
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    sigprocmask(SIG_BLOCK, &set, NULL);
    union sigval value = {.sival_int = 42};
    if (strcmp(how, "queued") == 0) {
        sigqueue(getpid(), SIGPROF, value);
    } else if (strcmp(how, "process") == 0) {
        kill(getpid(), SIGPROF);
    } else {
        raise(SIGPROF);
    }
    if (strcmp(how, "handler") == 0) {
        struct sigaction act = {.sa_handler = on_prof};
        sigaction(SIGPROF, &act, NULL);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        printf("handled %d\n", (int)handled);
    } else if (strcmp(how, "pending") == 0) {
        for (int i = 0; i < 3; i++) {
            sigpending(&seen);
            printf("pending %d\n", sigismember(&seen, SIGPROF));
            burn();
        }
    } else if (strcmp(how, "timed") == 0) {
        printf("got %d\n", sigtimedwait(&set, NULL, &none));
        printf("got %d\n", sigtimedwait(&set, NULL, &none));
    } else {
        int got = sigtimedwait(&set, &info, &none);
        printf("got %d with %d\n", got,
               got > 0 && info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
    }
    return 0;
}
