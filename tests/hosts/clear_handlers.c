/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a child that begins without its parent's handlers is not ended by a tick, and has
 * ticks all the same.
 */
/* host: rows B16 */
/* host: set OTELPROF_CPU_HZ=1000 */
/* host: sees cpu parent_burns */
/* host: sees cpu child_burns */
#include "host.h"

#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ULL
#endif

HOST_NOINLINE static void parent_burns(void)
{
    host_burn(60);
}

HOST_NOINLINE static void child_burns(void)
{
    host_burn(60);
}

int main(void)
{
    struct clone_args args = {.flags = CLONE_CLEAR_SIGHAND, .exit_signal = SIGCHLD};
    int status = 0;
    parent_burns();
    long pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0) {
        free(malloc(100));
        child_burns();
        _exit(7);
    }
    host_check(pid > 0 && waitpid((pid_t)pid, &status, 0) == pid, "there was a child");
    host_check(WIFEXITED(status) && WEXITSTATUS(status) == 7, "it ended by itself");
    parent_burns();
    return host_end("a child without handlers");
}
