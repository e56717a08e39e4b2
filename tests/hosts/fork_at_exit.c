/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that children which a thread forks while another ends the process, with its last profile
 * being written, end as they do without us, and wait for nobody.
 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees alloc_objects allocate */
#include "host.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

HOST_NOINLINE static void allocate(void)
{
    for (int i = 0; i < 200; i++) {
        free(host_hide(malloc((size_t)i + 1)));
    }
}

/* Until the process is gone: each child must be, too. */
static void *fork_on(void *arg)
{
    for (;;) {
        pid_t pid = fork();
        if (pid == 0) {
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    return arg;
}

/* The process that ends. All of its family have the pipe. */
static void end_while_forking(void)
{
    pthread_t t;
    allocate();
    pthread_create(&t, NULL, fork_on, NULL);
    usleep(2000);
    exit(3);
}

int main(void)
{
    int good = 0;
    allocate();
    for (int round = 0; round < 30; round++) {
        int ends[2];
        char byte;
        int status = 0;
        if (pipe(ends) != 0) {
            return 2;
        }
        pid_t pid = fork();
        if (pid == 0) {
            close(ends[0]);
            end_while_forking();
        }
        close(ends[1]);
        alarm(20); /* ends a run in which somebody is left */
        good += read(ends[0], &byte, 1) == 0;
        waitpid(pid, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 3;
        close(ends[0]);
    }
    host_check(good == 60, "nobody is left of any round");
    return host_end("30 processes end while they fork");
}
