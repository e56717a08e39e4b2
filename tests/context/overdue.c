/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overdue full|blocked|loaded [lasting]: ticks that cannot be booked for some time, in spans that
 * are over when they can be again. full: the profiler's thread is held, as by a debugger, until
 * this one's ring is full of ticks; blocked: all signals are; loaded: the ring is as full of
 * allocations as it gets. With "lasting" one span goes on through all of it. All of it happens
 * twice.
 *
 * Output: for each span its id and CPU time in microseconds, then "all" and that of the thread.
 */
#include "core/api/otelprof.h"
#include "tests/context/block.h"
#include "tests/worker.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 900 /* frames below everything: few such stacks fill a ring */
#define SHORT_NS 20000000U
#define SPANS 10

static volatile unsigned long sink;
static int is_lasting;
static const char *how;
static int to_helper[2];
static int from_helper[2];

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void check(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "%s\n", what);
        exit(2);
    }
}

__attribute__((noinline)) static void burn(uint64_t ns)
{
    for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;) {
        for (unsigned long i = 0; i < 2000; i++) {
            sink = sink + i;
        }
    }
}

static void begin_span(unsigned char id)
{
    unsigned char trace[16] = {1};
    unsigned char span[8] = {id};
    otelprof_span_set(trace, span);
    otelprof_label_push_int("span", id);
}

static void end_span(void)
{
    otelprof_label_pop();
    otelprof_span_clear();
}

/* A span of its own, unless another one goes on. */
static void run(unsigned char id, uint64_t ns)
{
    uint64_t begin = cpu_ns();
    if (!is_lasting) {
        begin_span(id);
    }
    burn(ns);
    if (!is_lasting) {
        end_span();
        printf("%02x00000000000000 %lu\n", id, (unsigned long)((cpu_ns() - begin) / 1000));
    }
}

/* ---- holding the profiler's thread ---- */

/* Holds the thread that it is told of until it is told again. */
static void help(void)
{
    int tid;
    char byte = 0;
    while (read(to_helper[0], &tid, sizeof(tid)) == (ssize_t)sizeof(tid)) {
        check(ptrace(PTRACE_SEIZE, tid, 0, 0) == 0, "the thread cannot be traced");
        check(ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0 && waitpid(tid, NULL, __WALL) == tid,
              "it cannot be held");
        check(write(from_helper[1], &byte, 1) == 1 && read(to_helper[0], &tid, sizeof(tid)) > 0,
              "no word");
        check(ptrace(PTRACE_DETACH, tid, 0, 0) == 0, "it cannot be let go");
        check(write(from_helper[1], &byte, 1) == 1, "no answer");
    }
    _exit(0);
}

static void start_helper(void)
{
    check(pipe(to_helper) == 0 && pipe(from_helper) == 0, "no pipe");
    pid_t pid = fork();
    check(pid >= 0, "no process");
    if (pid == 0) {
        close(to_helper[1]);
        help();
    }
    prctl(PR_SET_PTRACER, (unsigned long)pid, 0, 0, 0);
}

static void ask_helper(int tid)
{
    char byte;
    check(write(to_helper[1], &tid, sizeof(tid)) == (ssize_t)sizeof(tid) &&
              read(from_helper[0], &byte, 1) == 1,
          "the helper is gone");
}

/* ---- the scenes ---- */

static void put_off(void)
{
    for (unsigned char i = 0; i < SPANS; i++) {
        run((unsigned char)(0x20 + i), SHORT_NS);
    }
}

static void full(int tid)
{
    if (tid != 0) {
        ask_helper(tid);
    }
    run(0x10, 12 * (uint64_t)SHORT_NS);
    put_off();
    if (tid != 0) {
        ask_helper(tid);
        check(otelprof_flush() != 0, "no flush");
    }
}

static void blocked(void)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    put_off();
    if (!is_lasting) {
        begin_span(0x30);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (!is_lasting) {
        end_span();
    }
}

static void loaded(int tid)
{
    if (tid != 0) {
        ask_helper(tid);
    }
    for (int i = 0; i < 3000; i++) {
        free(make_block(100));
    }
    run(0x50, SHORT_NS);
    run(0x51, SHORT_NS);
    if (tid != 0) {
        ask_helper(tid);
    }
}

static void scene(void)
{
    int tid = 0;
    while (otelprof_version()[0] != '\0' && tid == 0) {
        burn(SHORT_NS);
        tid = worker_thread();
    }
    for (int round = 0; round < 2; round++) {
        uint64_t begin = cpu_ns();
        if (is_lasting) {
            begin_span(0x40);
            burn(SHORT_NS);
        }
        if (strcmp(how, "full") == 0) {
            full(tid);
        } else if (strcmp(how, "blocked") == 0) {
            blocked();
        } else {
            loaded(tid);
        }
        run(0x30, SHORT_NS);
        if (is_lasting) {
            end_span();
            printf("4000000000000000 %lu\n", (unsigned long)((cpu_ns() - begin) / 1000));
        }
        burn(SHORT_NS);
    }
}

__attribute__((noinline)) static void go_down(int depth)
{
    if (depth == 0) {
        scene();
    } else {
        go_down(depth - 1);
    }
    sink = sink + 1;
}

int main(int argc, char **argv)
{
    check(argc > 1, "overdue full|blocked|loaded [lasting]");
    how = argv[1];
    is_lasting = argc > 2;
    start_helper();
    go_down(strcmp(how, "loaded") == 0 ? 0 : DEPTH);
    close(to_helper[1]);
    wait(NULL);
    printf("all %lu\n", (unsigned long)(cpu_ns() / 1000));
    return 0;
}
