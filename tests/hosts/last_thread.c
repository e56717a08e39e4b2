/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that a process whose threads all end by the system call for one thread ends, with its
 * status. */
/* host: rows B71 */
/* host: set OTELPROF_HEAP_INTERVAL=4k OTELPROF_CPU_HZ=1000 */
/* host: sees cpu burn */
/* host: runs leader|worker|child */
#define _GNU_SOURCE
#include "host.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

HOST_NOINLINE static void burn(void)
{
    for (int i = 0; i < 300000000; i++) {
        __asm__ volatile("" ::: "memory");
    }
}

static void *work(void *arg)
{
    burn();
    free(malloc(100000));
    syscall(SYS_exit, 5);
    return arg;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t t;
    printf("ends by its threads\n");
    fflush(stdout);
    burn();
    if (strcmp(how, "worker") == 0) {
        pthread_create(&t, NULL, work, NULL);
        syscall(SYS_exit, 3);
    }
    if (strcmp(how, "child") == 0) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0) {
            burn();
            syscall(SYS_exit, 9);
        }
        waitpid(pid, &status, 0);
        printf("status %#x\n", status);
        return 0;
    }
    syscall(SYS_exit, 7);
}
