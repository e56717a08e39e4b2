/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy MILLISECONDS [FOLDER FILES|empty]: a thread that burns CPU and allocates, for so long, and
 * until the folder holds so many files, or none any more. Prints "done" and exits with 3.
 *
 * From the moment that the profiler has a thread of its own, the kernel lets the host's thread make
 * no system call that can wait, open, connect, read or write. One that it makes all the same, for
 * whoever's sake, is told on standard output, and the exit status is 5.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../folder.h"
#include "../worker.h"

#define ROUND 20000
#define KEPT 64
#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MOST_FORBIDDEN 16

/* What the profiler's handlers and hooks may call (docs/SIGNAL-SAFETY.md) without waiting, what
 * malloc calls, and the end of a thread. */
static const int allowed[] = {
    SYS_clock_gettime,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_gettid,
    SYS_getpid,
    SYS_prctl,
    SYS_sigaltstack,
    SYS_timer_settime,
    SYS_timer_gettime,
    SYS_timer_getoverrun,
    SYS_timer_create,
    SYS_timer_delete,
    SYS_rt_sigpending,
    SYS_process_vm_readv,
    SYS_exit,
};

static volatile unsigned sink;
static volatile int is_over;
static volatile int forbidden[MOST_FORBIDDEN];
static volatile unsigned forbidden_count;

static void burn(void)
{
    static void *kept[KEPT];
    static unsigned at;
    for (unsigned i = 0; i < ROUND; i++) {
        sink += i * i;
    }
    free(kept[at % KEPT]);
    kept[at % KEPT] = malloc(2000 + at % 100 * 50);
    if (kept[at % KEPT] != NULL) {
        memset(kept[at % KEPT], 1, 2000);
    }
    at++;
}

static void on_forbidden(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)context;
    forbidden[forbidden_count % MOST_FORBIDDEN] = info->si_syscall;
    forbidden_count++;
}

/* Without the C library: the profiler leaves a program that forbids itself system calls. */
static long seccomp(unsigned operation, const struct sock_fprog *prog)
{
    long r;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"((long)SYS_seccomp), "D"((long)operation), "S"(0L), "d"(prog)
                     : "rcx", "r11", "memory");
    return r;
}

static int forbid_all_else(void)
{
    struct sock_filter f[2 * LEN(allowed) + 8];
    unsigned short n = 0;
    f[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < LEN(allowed); i++) {
        f[n++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
        f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    /* To wake another thread is no wait. */
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 4);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                          offsetof(struct seccomp_data, args[1]));
    f[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (unsigned)FUTEX_CMD_MASK);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FUTEX_WAKE, 0, 1);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    struct sock_fprog prog = {.len = n, .filter = f};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           seccomp(SECCOMP_SET_MODE_FILTER, &prog) == 0;
}

static void *work(void *is_good)
{
    if (!forbid_all_else()) {
        return NULL;
    }
    (void)getppid(); /* the filter is there, and tells */
    *(int *)is_good = forbidden_count == 1 && forbidden[0] == SYS_getppid;
    while (!is_over) {
        burn();
    }
    return NULL;
}

static int is_as_wanted(const char *folder, const char *files)
{
    int n = folder_count(folder);
    return strcmp(files, "empty") == 0 ? n == 0 : n >= atoi(files);
}

static long long now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
    long long end = now_ms() + (argc > 1 ? atoll(argv[1]) : 300);
    struct sigaction act = {.sa_sigaction = on_forbidden, .sa_flags = SA_SIGINFO};
    int is_good = 0;
    pthread_t thread;
    sigaction(SIGSYS, &act, NULL);
    mallopt(M_TRIM_THRESHOLD, 1 << 30); /* malloc itself would read a file before it gives back */
    while (dlsym(RTLD_DEFAULT, "otelprof_v1_version") != NULL && worker_thread() == 0) {
        burn();
    }
    if (pthread_create(&thread, NULL, work, &is_good) != 0) {
        return 4;
    }
    while (now_ms() < end || (argc > 3 && !is_as_wanted(argv[2], argv[3]))) {
        struct timespec pause = {.tv_nsec = 10000000};
        nanosleep(&pause, NULL);
    }
    is_over = 1;
    pthread_join(thread, NULL);
    if (!is_good) {
        puts("nothing is forbidden to the thread");
        return 4;
    }
    for (unsigned i = 1; i < forbidden_count && i < MOST_FORBIDDEN; i++) {
        printf("the thread made system call %d\n", forbidden[i]);
    }
    puts("done");
    fflush(stdout);
    return forbidden_count == 1 ? 3 : 5;
}
