/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that waits two and a half seconds for its first moment on a CPU, as happens on a
 * busy machine, and then burns 300 milliseconds in late_burn: it must not be counted twice.
 * What holds the thread back here is a tracer, the parent.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../truth.h"

#define HELD_US 2500000

/* Shared by tracer and traced: 1: hold the next thread back; 2: it was held. */
static volatile int *stage;

__attribute__((noinline)) void burn_until(long end_us)
{
    struct timespec ts;
    volatile uint64_t x = 1;
    do {
        for (int i = 0; i < 10000; i++) {
            x = x * 6364136223846793005U + 1;
        }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    } while (ts.tv_sec * 1000000 + ts.tv_nsec / 1000 < end_us);
}

__attribute__((noinline)) void late_burn(void)
{
    burn_until(300000);
    truth_tell("late_burn", 0);
}

static void *late(void *arg)
{
    late_burn();
    return arg;
}

static int traced(void)
{
    pthread_t t;
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    burn_until(100000); /* the library has started its own thread by now */
    usleep(200000);
    *stage = 1;
    pthread_create(&t, NULL, late, NULL);
    pthread_join(t, NULL);
    return *stage == 2 ? 0 : 3;
}

/* Lets a stopped thread go on, with the signal that stopped it. */
static void go_on(pid_t tid, int status)
{
    int signo = WSTOPSIG(status);
    int is_event = status >> 16 != 0 || signo == SIGSTOP || signo == SIGTRAP;
    if (signo == SIGSTOP && *stage == 1) {
        *stage = 2;
        usleep(HELD_US);
    }
    ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)(is_event ? 0 : signo));
}

int main(void)
{
    int status;
    stage = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        exit(traced());
    }
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
        return 2;
    }
    ptrace(PTRACE_SETOPTIONS, child, NULL,
           (void *)(intptr_t)(PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL));
    ptrace(PTRACE_CONT, child, NULL, NULL);
    for (;;) {
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid < 0) {
            return errno == ECHILD ? 4 : 5;
        }
        if (tid == child && WIFEXITED(status)) {
            printf("ended with %d\n", WEXITSTATUS(status));
            return WEXITSTATUS(status);
        }
        if (WIFSTOPPED(status)) {
            go_on(tid, status);
        }
    }
}
