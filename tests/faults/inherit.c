/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherit KIND PROGRAM ARGUMENT...: becomes the program under a filter of system calls.
 *
 * old      what Linux has only since 3.10 answers ENOSYS
 * sandbox  what containers forbid answers EPERM
 * timers   no timers and no perf events: EPERM
 * bare     what a program of no thread needs is there, anything else that is ours answers EPERM
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEWER_THAN_3_10 314 /* sched_setattr, of Linux 3.14, and all behind it */
#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static const int sandbox[] = {
    SYS_unshare,          SYS_setns,       SYS_perf_event_open, SYS_ptrace,      SYS_memfd_create,
    SYS_process_vm_readv, SYS_close_range, SYS_pidfd_open,      SYS_pidfd_getfd, SYS_renameat2,
    SYS_getrandom,        SYS_setgroups,   SYS_setresuid,       SYS_setresgid};
static const int timers[] = {SYS_timer_create, SYS_timer_settime, SYS_perf_event_open,
                             SYS_rt_sigtimedwait};
static const int bare[] = {
    SYS_clone,       SYS_timer_create, SYS_perf_event_open, SYS_socket,        SYS_close_range,
    SYS_unshare,     SYS_getdents64,   SYS_clock_getres,    SYS_rt_sigpending, SYS_nanosleep,
    SYS_sched_yield, SYS_tgkill,       SYS_getrandom,       SYS_faccessat};

static unsigned add(struct sock_filter *f, unsigned n, const int *calls, size_t count, int error)
{
    for (size_t i = 0; i < count; i++) {
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
                                              SECCOMP_RET_ERRNO | ((unsigned)error & 0xffff));
    }
    return n;
}

int main(int argc, char **argv)
{
    struct sock_filter f[100];
    unsigned n = 0;
    if (argc < 3) {
        return 2;
    }
    f[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    if (strcmp(argv[1], "old") == 0) {
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, NEWER_THAN_3_10, 0, 1);
        f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    } else if (strcmp(argv[1], "sandbox") == 0) {
        n = add(f, n, sandbox, LEN(sandbox), EPERM);
    } else if (strcmp(argv[1], "timers") == 0) {
        n = add(f, n, timers, LEN(timers), EPERM);
    } else if (strcmp(argv[1], "bare") == 0) {
        n = add(f, n, bare, LEN(bare), EPERM);
    } else {
        return 2;
    }
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog prog = {.len = (unsigned short)n, .filter = f};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) != 0) {
        perror("inherit");
        return 2;
    }
    execvp(argv[2], argv + 2);
    return 2;
}
