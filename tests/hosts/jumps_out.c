/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that jumping out of handlers at any moment, sampled allocations included, neither hangs
 * nor ends sampling: what comes after is still in the profile.
 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees alloc_objects after_the_jumps */
/* host: sees cpu after_the_jumps */
#include "host.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf back;
static volatile sig_atomic_t may_jump;

/* An allocator of its own kind: malloc is not to be jumped out of, so what is interrupted is ours.
 */
HOST_NOINLINE static void jump_ground(int depth)
{
    if (depth > 0) {
        jump_ground(depth - 1);
    }
    for (int i = 0; i < 2000; i++) {
        __asm__ volatile("" ::: "memory");
    }
    may_jump = 0;
    free(host_hide(malloc(32)));
    may_jump = 1;
}

HOST_NOINLINE static void after_the_jumps(void)
{
    for (int i = 0; i < 50; i++) {
        free(host_hide(malloc(100)));
    }
    host_burn(100);
}

static void on_alarm(int signo)
{
    (void)signo;
    if (may_jump) {
        siglongjmp(back, 1);
    }
}

int main(void)
{
    volatile int jumps = 0;
    struct itimerval every = {{0, 500}, {0, 500}};
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &every, NULL);
    while (jumps < 500) {
        if (sigsetjmp(back, 1) == 0) {
            may_jump = 1;
            for (;;) {
                jump_ground(jumps % 50);
            }
        }
        may_jump = 0;
        jumps = jumps + 1;
    }
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    after_the_jumps();
    host_check(jumps == 500, "it jumped");
    return host_end("500 jumps out of a handler");
}
