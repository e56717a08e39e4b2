/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that a process ends cleanly, many times over, while its threads burn, allocate and start.
 */
/* host: rows B24 B62 B71 */
/* host: set OTELPROF_HEAP_INTERVAL=64k OTELPROF_CPU_HZ=10000 */
/* host: sees cpu load */
/* host: runs exit|_exit|return */
#include "host.h"

#include <pthread.h>
#include <sys/wait.h>

static void *brief(void *arg)
{
    return arg;
}

HOST_NOINLINE static void *load(void *arg)
{
    for (;;) {
        pthread_t t;
        free(host_hide(malloc(30000)));
        host_burn(1);
        if (pthread_create(&t, NULL, brief, NULL) == 0) {
            pthread_join(t, NULL);
        }
    }
    return arg;
}

static int end_under_load(const char *how)
{
    for (int i = 0; i < 8; i++) {
        pthread_t t;
        pthread_create(&t, NULL, load, NULL);
    }
    host_burn(5);
    if (strcmp(how, "exit") == 0) {
        exit(9);
    } else if (strcmp(how, "_exit") == 0) {
        _exit(9);
    }
    return 9;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "exit";
    int good = 0;
    for (int i = 0; i < 12; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            return end_under_load(how);
        }
        waitpid(child, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 9;
    }
    host_check(good == 12, "every process ended with its own status");
    return host_end("12 ends under load");
}
