/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that children which are made past the C library's fork have a profile of their own, of
 * what they do and nothing else, whatever their parent was just doing.
 */
/* host: rows B16 B35 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: many 4 cpu child_burns */
/* host: sees alloc_objects child_allocates */
/* host: sees alloc_objects parent_allocates */
/* host: runs fork|_Fork|raw-fork|raw-clone|raw-waits|clone3|clone */
/* host: runs handler-_Fork|handler-raw-fork|threads-_Fork|threads-clone3 */
#include "host.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CHILDREN 5
#define IN_HANDLERS 12 /* those that interrupt a sampled call of malloc are not sampled in it */
#define STACK (256 * 1024)

static const char *how;
static volatile int is_over;
static volatile int has_forked;

HOST_NOINLINE static void child_burns(void)
{
    host_burn(40);
}

HOST_NOINLINE static void child_allocates(void)
{
    for (int i = 0; i < 10; i++) {
        free(host_hide(malloc(100)));
    }
}

HOST_NOINLINE static void parent_allocates(void)
{
    for (int i = 0; i < 7; i++) {
        free(host_hide(malloc(1000)));
    }
}

static int child(void *arg)
{
    child_burns();
    child_allocates();
    return 3 + (arg != NULL);
}

static long make(void)
{
    static char stack[STACK] __attribute__((aligned(16)));
    const char *by =
        strncmp(how, "handler-", 8) == 0 || strncmp(how, "threads-", 8) == 0 ? how + 8 : how;
    if (strcmp(by, "_Fork") == 0) {
        pid_t (*f)(void) = (pid_t(*)(void))dlsym(RTLD_DEFAULT, "_Fork");
        return f == NULL ? fork() : f();
    }
    if (strcmp(by, "raw-fork") == 0) {
        return syscall(SYS_fork);
    }
    if (strcmp(by, "raw-clone") == 0) {
        return syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
    }
    if (strcmp(by, "raw-waits") == 0) {
        return syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, 0);
    }
    if (strcmp(by, "clone3") == 0) {
        struct clone_args args = {.exit_signal = SIGCHLD};
        return syscall(SYS_clone3, &args, sizeof(args));
    }
    if (strncmp(by, "clone", 5) == 0) {
        return clone(child, stack + STACK, SIGCHLD, NULL);
    }
    return fork();
}

/* Where the parent may hold any lock: burning takes none. */
static void careful_child(void)
{
    child_burns();
    _exit(3);
}

/* A handler may run in the middle of anything: malloc, the profiler's hooks. */
static void on_alarm(int signo)
{
    (void)signo;
    int saved = errno;
    long pid = make();
    if (pid == 0) {
        careful_child();
    }
    errno = saved;
    has_forked = (int)pid;
}

static void *allocates_until_over(void *unused)
{
    while (!is_over) {
        free(host_hide(malloc(3000)));
    }
    return unused;
}

static void await(long pid)
{
    int status = 0;
    host_check(waitpid((pid_t)pid, &status, 0) == pid, "the child is there");
    printf("status %#x\n", status);
}

static void in_handlers(void)
{
    signal(SIGALRM, on_alarm);
    for (int i = 0; i < IN_HANDLERS; i++) {
        has_forked = 0;
        ualarm(3000, 0);
        while (has_forked == 0) {
            free(host_hide(malloc(3000)));
        }
        await(has_forked);
    }
}

static void beside_threads(void)
{
    pthread_t threads[4];
    for (size_t i = 0; i < HOST_LEN(threads); i++) {
        host_check(pthread_create(&threads[i], NULL, allocates_until_over, NULL) == 0, "a thread");
    }
    for (int i = 0; i < CHILDREN; i++) {
        long pid = make();
        if (pid == 0) {
            careful_child();
        }
        await(pid);
    }
    is_over = 1;
    for (size_t i = 0; i < HOST_LEN(threads); i++) {
        pthread_join(threads[i], NULL);
    }
}

static void one_by_one(int count)
{
    for (int i = 0; i < count; i++) {
        long pid = make();
        if (pid == 0) {
            exit(child(NULL));
        }
        await(pid);
    }
}

int main(int argc, char **argv)
{
    struct clone_args *nowhere = (void *)(uintptr_t)64;
    how = argc > 1 ? argv[1] : "fork";
    parent_allocates();
    host_check(syscall(SYS_clone3, nowhere, sizeof(*nowhere)) == -1 && errno == EFAULT,
               "clone3 with arguments that nobody can read is refused");
    host_check(syscall(SYS_clone3, NULL, 0) == -1 && errno == EINVAL,
               "clone3 without arguments is refused");
    if (strncmp(how, "handler-", 8) == 0) {
        in_handlers();
    } else if (strncmp(how, "threads-", 8) == 0) {
        beside_threads();
    }
    one_by_one(how[0] == 'h' || how[0] == 't' ? 1 : CHILDREN);
    host_burn(10);
    return host_end("children made in other ways");
}
