/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that calls which only a process of one thread may make succeed in a single-threaded
 * program. */
/* host: rows B75 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 OTELPROF_INTERVAL=30ms */
/* host: sees alloc_objects is_busy */
/* host: sees cpu is_busy */
/* host: runs unshare-user|unshare-ns|unshare-vm|setns|raw-unshare */
/* host: runs seccomp|raw-seccomp|setuid|tsync|count */
#include "host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

HOST_NOINLINE static void is_busy(void)
{
    host_burn(40);
    free(host_hide(malloc(100)));
}

static void say(const char *what, int r)
{
    printf("%s: %s\n", what, r == 0 ? "done" : strerrorname_np(errno));
}

/* Kills at everything but the few calls that this program still makes. */
static int forbid(int is_raw, unsigned flags)
{
    static const int allowed[] = {SYS_write,  SYS_exit_group, SYS_clock_gettime, SYS_mmap,
                                  SYS_munmap, SYS_brk,        SYS_rt_sigreturn,  SYS_newfstatat,
                                  SYS_futex,  SYS_exit,       SYS_fork,          SYS_clone3,
                                  SYS_wait4};
    struct sock_filter f[2 * HOST_LEN(allowed) + 2];
    unsigned n = 0;
    f[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < HOST_LEN(allowed); i++) {
        f[n++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
        f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog prog = {.len = (unsigned short)n, .filter = f};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return is_raw ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog)
                  : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
}

/* What is left to it, and to its children. */
static void fork_within(void)
{
    struct clone_args args = {.exit_signal = SIGCHLD};
    for (int i = 0; i < 2; i++) {
        int status = -1;
        long pid = i == 0 ? syscall(SYS_fork) : syscall(SYS_clone3, &args, sizeof(args));
        if (pid == 0) {
            is_busy();
            _exit(4);
        }
        syscall(SYS_wait4, pid, &status, 0, NULL);
        printf("child: status %#x\n", (unsigned)status);
    }
}

static int count_threads(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = 0;
    while (d != NULL && readdir(d) != NULL) {
        n++;
    }
    if (d != NULL) {
        closedir(d);
    }
    return n - 2;
}

static void act(const char *how)
{
    if (strcmp(how, "unshare-user") == 0) {
        say(how, unshare(CLONE_NEWUSER));
    } else if (strcmp(how, "unshare-ns") == 0) {
        say(how, unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_FILES | CLONE_FS));
    } else if (strcmp(how, "unshare-vm") == 0) {
        say(how, unshare(CLONE_VM | CLONE_SIGHAND | CLONE_THREAD));
    } else if (strcmp(how, "setns") == 0) {
        int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
        say(how, setns(fd, CLONE_NEWNS));
        close(fd);
    } else if (strcmp(how, "raw-unshare") == 0) {
        say(how, (int)syscall(SYS_unshare, CLONE_NEWUSER));
    } else if (strcmp(how, "seccomp") == 0) {
        say(how, forbid(0, 0));
    } else if (strcmp(how, "raw-seccomp") == 0) {
        say(how, forbid(1, 0));
    } else if (strcmp(how, "tsync") == 0) {
        say(how, forbid(1, SECCOMP_FILTER_FLAG_TSYNC));
    } else if (strcmp(how, "setuid") == 0) {
        say("setgid", setgid(12345));
        say("setuid", setuid(12345));
        say("back", setuid(0));
    } else {
        unshare(CLONE_FILES);
        int n = count_threads();
        host_check(n == 1 || n == 2,
                   "no more than one thread of ours, which the documents tell of");
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "count";
    for (int i = 0; i < 3; i++) {
        is_busy();
    }
    act(how);
    if (strstr(how, "seccomp") != NULL || strcmp(how, "tsync") == 0) {
        fork_within();
    }
    for (int i = 0; i < 3; i++) {
        is_busy();
    }
    return host_end("the program went on");
}
