/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command and tells what it cost: spawn [NAME=VALUE...] COMMAND [ARGUMENT...]. The last line
 * of stdout is the CPU time in microseconds (children that were waited for included), the largest
 * resident size in KiB and the elapsed time in microseconds. A small program, because a child's
 * largest size begins with its parent's.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long now_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void become(char **argv)
{
    while (*argv != NULL && strchr(*argv, '=') != NULL) {
        putenv(*argv++);
    }
    int null = open("/dev/null", O_WRONLY);
    dup2(null, 1);
    dup2(null, 2);
    close(null);
    if (*argv != NULL) {
        execvp(*argv, argv);
    }
    _exit(127);
}

int main(int argc, char **argv)
{
    (void)argc;
    long begin = now_us();
    pid_t pid = fork();
    if (pid == 0) {
        become(argv + 1);
    }
    int status = 0;
    struct rusage u;
    if (pid < 0 || wait4(pid, &status, 0, &u) != pid) {
        return 125;
    }
    printf("%ld %ld %ld\n",
           (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec +
               u.ru_stime.tv_usec,
           u.ru_maxrss, now_us() - begin);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}
