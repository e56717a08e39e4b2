/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a thread which works with all signals blocked and opens its mask only while it waits
 * is not woken by a tick that came due before.
 */
/* host: rows B40 B50 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees alloc_objects works_blocked */
#include "host.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>

static volatile sig_atomic_t alarms;

HOST_NOINLINE static void works_blocked(void)
{
    free(host_hide(malloc(100)));
    host_burn(5);
}

static void on_alarm(int signo)
{
    (void)signo;
    alarms = alarms + 1;
}

int main(void)
{
    sigset_t all;
    sigset_t none;
    struct timespec ts = {0, 1000000};
    struct itimerval soon = {{0, 0}, {0, 30000}};
    int epoll_fd = epoll_create1(0);
    int early = 0;
    sigfillset(&all);
    sigemptyset(&none);
    signal(SIGALRM, on_alarm);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int i = 0; i < 20; i++) {
        struct epoll_event e;
        works_blocked();
        early += ppoll(NULL, 0, &ts, &none) != 0;
        works_blocked();
        early += pselect(0, NULL, NULL, NULL, &ts, &none) != 0;
        works_blocked();
        early += epoll_pwait(epoll_fd, &e, 1, 1, &none) != 0;
    }
    host_check(early == 0, "ppoll, pselect and epoll_pwait wait to their end");
    for (int i = 1; i <= 5; i++) {
        works_blocked();
        setitimer(ITIMER_REAL, &soon, NULL);
        host_check(sigsuspend(&none) == -1 && errno == EINTR && alarms == i,
                   "sigsuspend returns for the program's own signal");
    }
    sigset_t now;
    sigprocmask(SIG_SETMASK, NULL, &now);
    host_check(memcmp(&now, &all, 8) != 0 || sigismember(&now, SIGPROF) == 1, "the mask is back");
    return host_end("60 waits with another mask, 5 of sigsuspend");
}
