/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that the profile is written in each way in which a process can end: ends HOW [ARG]. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCKS 64
#define BLOCK_BYTES (256 << 10)

extern char **environ;
static void *blocks[BLOCKS];
static char *next[] = {"ends", "second", NULL};
static char path[4096];

__attribute__((noinline)) void ends_allocate(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK_BYTES);
        memset(blocks[i], i, 64);
    }
}

static void *end_in_thread(void *arg)
{
    (void)arg;
    exit(5);
}

static void handler(void)
{
    (void)write(1, "handler\n", 8);
}

static void *work_on(void *arg)
{
    ends_allocate();
    (void)write(1, "worked\n", 7);
    return arg;
}

struct way {
    const char *name;
    void (*go)(void);
};

static void way_exit(void)
{
    exit(3);
}

static void way_exit_now(void)
{
    _exit(3);
}

static void way_exit_std(void)
{
    _Exit(3);
}

static void way_quick(void)
{
    at_quick_exit(handler);
    quick_exit(3);
}

static void way_abort(void)
{
    abort();
}

static void way_thread_exit(void)
{
    pthread_t t;
    pthread_create(&t, NULL, end_in_thread, NULL);
    pthread_join(t, NULL);
}

static void way_main_leaves(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work_on, NULL);
    pthread_exit(NULL);
}

#define WAY_OF_SIGNAL(name)                                                                        \
    static void way_##name(void)                                                                   \
    {                                                                                              \
        raise(SIG##name);                                                                          \
    }
WAY_OF_SIGNAL(TERM)
WAY_OF_SIGNAL(INT)
WAY_OF_SIGNAL(HUP)
WAY_OF_SIGNAL(PIPE)
WAY_OF_SIGNAL(ALRM)
WAY_OF_SIGNAL(USR1)
WAY_OF_SIGNAL(USR2)

static void way_kernel(void)
{
    syscall(SYS_exit_group, 3);
}

static void way_execve(void)
{
    execve(path, next, environ);
}

static void way_execv(void)
{
    execv(path, next);
}

static void way_execvp(void)
{
    execvp(path, next);
}

static void way_execvpe(void)
{
    execvpe(path, next, environ);
}

static void way_execl(void)
{
    execl(path, "ends", "second", (char *)NULL);
}

static void way_execlp(void)
{
    execlp(path, "ends", "second", (char *)NULL);
}

static void way_execle(void)
{
    execle(path, "ends", "second", (char *)NULL, environ);
}

static void way_fexecve(void)
{
    fexecve(open(path, O_RDONLY | O_CLOEXEC), next, environ);
}

static void way_execveat(void)
{
    execveat(AT_FDCWD, path, next, environ, 0);
    puts(errno == ENOSYS ? "execveat is not there" : "execveat fails");
}

static void way_kernel_execve(void)
{
    syscall(SYS_execve, path, next, environ);
}

static void way_kernel_execveat(void)
{
    syscall(SYS_execveat, AT_FDCWD, path, next, environ, 0);
    puts(errno == ENOSYS ? "execveat is not there" : "execveat fails");
}

static void way_failed_exec(void)
{
    int r = execl("/nonexistent/program", "x", (char *)NULL);
    printf("exec: %d\n", r);
    ends_allocate();
    exit(4);
}

/* Ten programs that are not there, by two ways each, and then one that is. */
static void way_missing(void)
{
    static char *const none[] = {"x", NULL};
    int failed = 0;
    for (int i = 0; i < 10; i++) {
        failed += execvp("no-such-program", none) == -1 && errno == ENOENT;
        failed += execv("/nonexistent/program", none) == -1 && errno == ENOENT;
    }
    (void)write(1, failed == 20 ? "none is there\n" : "wrong\n", 6);
    execv(path, next);
}

/* What is freed after an exec that failed is told before the next, which does not fail. */
static void way_missing_news(void)
{
    static char *const none[] = {"x", NULL};
    static char *done[] = {"true", NULL};
    execv("/nonexistent/program", none);
    free(blocks[0]);
    free(blocks[1]);
    execv("/bin/true", done);
}

static const struct way ways[] = {
    {"exit", way_exit},
    {"_exit", way_exit_now},
    {"_Exit", way_exit_std},
    {"quick_exit", way_quick},
    {"abort", way_abort},
    {"thread", way_thread_exit},
    {"TERM", way_TERM},
    {"INT", way_INT},
    {"HUP", way_HUP},
    {"PIPE", way_PIPE},
    {"ALRM", way_ALRM},
    {"USR1", way_USR1},
    {"USR2", way_USR2},
    {"missing", way_missing},
    {"missing-news", way_missing_news},
    {"exit_group", way_kernel},
    {"main-leaves", way_main_leaves},
    {"execve", way_execve},
    {"execv", way_execv},
    {"execvp", way_execvp},
    {"execvpe", way_execvpe},
    {"execl", way_execl},
    {"execlp", way_execlp},
    {"execle", way_execle},
    {"fexecve", way_fexecve},
    {"execveat", way_execveat},
    {"kernel-execve", way_kernel_execve},
    {"kernel-execveat", way_kernel_execveat},
    {"failed-exec", way_failed_exec},
};

int main(int argc, char **argv)
{
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[n < 0 ? 0 : n] = '\0';
    (void)write(1, "begin\n", 6);
    ends_allocate();
    const char *how = argc > 1 ? argv[1] : "return";
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(ways[i].name, how) == 0) {
            ways[i].go();
        }
    }
    return 7;
}
