/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a program which takes all signals but three by bare system calls, as Go's runtime
 * does, has a CPU profile all the same, and that our ticks do not come to its handler: not after it
 * makes a thread, and few before.
 */
/* host: rows B65 */
/* host: set OTELPROF_CPU_HZ=100 OTELPROF_HEAP=false */
/* host: sees cpu burn_in_thread */
#include "host.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

static volatile int calls;

/* The kernel's, not libc's. */
struct action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

static void on_signal(int signo)
{
    (void)signo;
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

/* The kernel's way back from a handler needs a function of the program's: libc's will do. */
static void take_all(void)
{
    struct sigaction known = {.sa_handler = on_signal};
    struct action a;
    sigaction(SIGUSR1, &known, NULL);
    syscall(SYS_rt_sigaction, SIGUSR1, NULL, &a, sizeof(a.mask));
    int taken = 0;
    for (int signo = 1; signo <= 64; signo++) {
        if (signo < 32 || signo > 34) {
            taken += syscall(SYS_rt_sigaction, signo, &a, NULL, sizeof(a.mask)) == 0;
        }
    }
    host_check(taken == 59, "all but three and the two that nobody can take");
}

HOST_NOINLINE static void burn_in_thread(void)
{
    host_burn(500);
    host_sink++;
}

static void *work(void *arg)
{
    burn_in_thread();
    return arg;
}

int main(void)
{
    pthread_t t;
    take_all();
    pthread_create(&t, NULL, work, NULL);
    calls = 0;
    pthread_join(t, NULL);
    host_check(calls == 0, "no tick comes to the program's handler");
    return host_end("signals by bare system calls");
}
