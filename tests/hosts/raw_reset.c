/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a program may put SIGPROF back to its default by syscall(2), or by libc's second name
 * of sigaction, while it is being sampled: no tick ends it, it sees what is its own, and it is
 * sampled on.
 */
/* host: rows B65 */
/* host: set OTELPROF_CPU_HZ=1000 */
/* host: sees cpu burn_after */
/* host: runs syscall|second-name */
#include "host.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

int __sigaction(int signo, const struct sigaction *act, struct sigaction *old);

/* The kernel's, not libc's. */
struct action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

HOST_NOINLINE static void burn_after(void)
{
    host_burn(300);
    host_sink++;
}

static void by_syscall(int signo)
{
    struct action none = {.handler = SIG_DFL};
    struct action old = {.handler = SIG_IGN, .flags = 77, .mask = 77};
    long size = sizeof(old.mask);
    host_check(syscall(SYS_rt_sigaction, signo, NULL, &old, size) == 0, "asked");
    host_check(old.handler == SIG_DFL && old.flags == 0 && old.mask == 0,
               "nothing of ours is seen");
    errno = 0;
    host_check(syscall(SYS_rt_sigaction, signo, NULL, (void *)16, size) == -1 && errno == EFAULT,
               "a bad place is the kernel's to refuse");
    old.handler = SIG_IGN;
    host_check(syscall(SYS_rt_sigaction, signo, &none, &old, size) == 0, "set");
    host_check(old.handler == SIG_DFL, "it was at its default");
}

static void by_second_name(int signo)
{
    struct sigaction none = {.sa_handler = SIG_DFL};
    struct sigaction old = {.sa_handler = SIG_IGN};
    host_check(__sigaction(signo, NULL, &old) == 0 && old.sa_handler == SIG_DFL, "asked");
    host_check(__sigaction(signo, &none, &old) == 0 && old.sa_handler == SIG_DFL, "set");
}

int main(int argc, char **argv)
{
    int is_syscall = argc < 2 || strcmp(argv[1], "syscall") == 0;
    host_burn(100);
    for (int signo = 1; signo < 32; signo++) {
        if (signo != SIGKILL && signo != SIGSTOP) {
            (is_syscall ? by_syscall : by_second_name)(signo);
        }
    }
    burn_after();
    return host_end("SIGPROF at its default");
}
