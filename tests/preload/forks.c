/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that each process reports its own allocations and only those: forks HOW [COUNT]. The
 * parent allocates in parent_allocates (100 blocks of 1000 bytes), each child in
 * child_allocates (50 blocks of 2000), and half of what the child got from its parent it frees.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

extern char **environ;
static void *blocks[100];
static void *volatile kept;
static volatile int is_over;

NOINLINE void parent_allocates(void)
{
    for (int i = 0; i < 100; i++) {
        blocks[i] = malloc(1000);
    }
}

NOINLINE void child_allocates(void)
{
    for (int i = 0; i < 50; i++) {
        kept = malloc(2000);
        free(blocks[i * 2]);
        blocks[i * 2] = NULL;
    }
}

static int reap(pid_t pid)
{
    int status = -1;
    if (pid <= 0 || waitpid(pid, &status, 0) != pid) {
        return 1;
    }
    return status;
}

static int by_fork(int count)
{
    int bad = 0;
    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            child_allocates();
            exit(0);
        }
        bad += reap(pid) != 0;
    }
    return bad;
}

static void *keep_busy(void *arg)
{
    while (!is_over) {
        free(malloc(64));
    }
    return arg;
}

/* Fork while other threads allocate: the child has but one of them. */
static int by_fork_with_threads(int count)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(&t[i], NULL, keep_busy, NULL);
    }
    int bad = by_fork(count);
    is_over = 1;
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
    }
    return bad;
}

/* A child that makes threads of its own. */
static int by_fork_then_threads(int count)
{
    (void)count;
    pid_t pid = fork();
    if (pid == 0) {
        is_over = 1;
        exit(by_fork_with_threads(0) + (child_allocates(), 0));
    }
    return reap(pid);
}

static int by_grandchild(int count)
{
    (void)count;
    pid_t pid = fork();
    if (pid == 0) {
        child_allocates();
        exit(by_fork(1));
    }
    return reap(pid);
}

static int by_vfork(int count)
{
    (void)count;
    pid_t pid = vfork();
    if (pid == 0) {
        execl("/proc/self/exe", "forks", "none", (char *)NULL);
        _exit(1);
    }
    return reap(pid);
}

static int by_vfork_exit(int count)
{
    (void)count;
    pid_t pid = vfork();
    if (pid == 0) {
        _exit(0);
    }
    return reap(pid);
}

static int by_spawn(int count)
{
    (void)count;
    char *argv[] = {"forks", "none", NULL};
    pid_t pid = 0;
    if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) != 0) {
        return 1;
    }
    return reap(pid);
}

static int by_system(int count)
{
    (void)count;
    char command[4200] = "exec ";
    ssize_t n = readlink("/proc/self/exe", command + 5, sizeof(command) - 100);
    memcpy(command + 5 + (n < 0 ? 0 : n), " none", 6);
    return system(command);
}

static int by_daemon(int count)
{
    (void)count;
    fflush(NULL);
    if (daemon(1, 0) != 0) {
        return 1;
    }
    child_allocates();
    return 0;
}

static int run_clone(void *arg)
{
    (void)arg;
    child_allocates();
    return 0;
}

/*
 * A process made without fork, which shares nothing; its end is the system call of glibc's
 * clone.
 */
static int by_clone(int count)
{
    (void)count;
    static char stack[1 << 20] __attribute__((aligned(64)));
    return reap(clone(run_clone, stack + sizeof(stack), SIGCHLD, NULL));
}

static int by_none(int count)
{
    (void)count;
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int count);
    } ways[] = {
        {"none", by_none},
        {"fork", by_fork},
        {"threads", by_fork_with_threads},
        {"later", by_fork_then_threads},
        {"vfork", by_vfork},
        {"vfork-exit", by_vfork_exit},
        {"spawn", by_spawn},
        {"system", by_system},
        {"daemon", by_daemon},
        {"grandchild", by_grandchild},
        {"clone", by_clone},
    };
    parent_allocates();
    int bad = -1;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && argc > 1; i++) {
        if (strcmp(ways[i].name, argv[1]) == 0) {
            bad = ways[i].run(argc > 2 ? atoi(argv[2]) : 1);
        }
    }
    printf("%s: %d\n", argc > 1 ? argv[1] : "", bad);
    return bad != 0;
}
