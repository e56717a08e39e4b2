/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows what a program can see of itself, to be compared with and without the library:
 * descriptors, signal mask, pending signals, dispositions, timers, environment, working folder,
 * umask, limits, children. mirror [close]: closes all descriptors above 2 first, and checks
 * that the next ones are the lowest.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void *volatile kept;

static void show_descriptors(const char *when)
{
    char path[64], target[256];
    for (int fd = 0; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (flags < 0) {
            continue;
        }
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        target[n < 0 ? 0 : n] = '\0';
        printf("%s: descriptor %d flags %d %s\n", when, fd, flags, fd > 2 ? target : "");
    }
}

static void show_signals(void)
{
    sigset_t mask, pending;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    sigpending(&pending);
    for (int s = 1; s < 65; s++) {
        struct sigaction sa;
        if (sigismember(&mask, s) == 1) {
            printf("blocked %d\n", s);
        }
        if (sigismember(&pending, s) == 1) {
            printf("pending %d\n", s);
        }
        if (sigaction(s, NULL, &sa) == 0 && (sa.sa_handler != SIG_DFL || sa.sa_flags != 0)) {
            printf("signal %d has a handler or flags %x\n", s, (unsigned)sa.sa_flags);
        }
    }
    stack_t stack;
    sigaltstack(NULL, &stack);
    printf("alternate stack flags %d\n", stack.ss_flags);
    for (int t = ITIMER_REAL; t <= ITIMER_PROF; t++) {
        struct itimerval it;
        getitimer(t, &it);
        printf("timer %d %ld\n", t, it.it_interval.tv_sec + it.it_interval.tv_usec);
    }
}

static void show_rest(void)
{
    for (char **e = environ; *e != NULL; e++) {
        if (strncmp(*e, "LD_PRELOAD=", 11) != 0 && strncmp(*e, "OTELPROF_", 9) != 0) {
            printf("environment %s\n", *e);
        }
    }
    char cwd[4096];
    printf("folder %s\n", getcwd(cwd, sizeof(cwd)));
    mode_t mask = umask(0);
    umask(mask);
    printf("umask %o\n", (unsigned)mask);
    for (int r = 0; r < 16; r++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)r, &limit) == 0) {
            printf("limit %d %lu\n", r, limit.rlim_cur);
        }
    }
    errno = 0;
    int status;
    pid_t child = waitpid(-1, &status, WNOHANG);
    printf("wait %d errno %d\n", child, errno);
}

/* errno after calls that succeed and that fail, many times, so that samples fall into them. */
static void show_errno(void)
{
    long changed = 0;
    for (int i = 0; i < 100000; i++) {
        errno = 4711;
        free(malloc(100));
        kept = realloc(kept, (size_t)(i % 1000) + 1);
        changed += errno != 4711;
        if (open("/nonexistent", O_RDONLY) >= 0 || errno != ENOENT) {
            changed++;
        }
    }
    printf("errno changed %ld times\n", changed);
}

static void show_lowest(void)
{
    close_range(3, ~0U, 0);
    for (int i = 3; i < 8; i++) {
        int fd = open("/dev/null", O_RDONLY);
        if (fd != i) {
            printf("descriptor %d instead of %d\n", fd, i);
        }
    }
}

int main(int argc, char **argv)
{
    show_descriptors("begin");
    show_signals();
    show_rest();
    show_errno();
    if (argc > 1 && strcmp(argv[1], "close") == 0) {
        show_lowest();
    }
    for (int i = 0; i < 64; i++) {
        kept = malloc(300000);
    }
    show_descriptors("end");
    show_signals();
    return 0;
}
