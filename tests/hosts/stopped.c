/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that stopping and continuing changes nothing, and that waits are seen by the parent as
 * ever. */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 OTELPROF_INTERVAL=20ms */
/* host: sees cpu works */
#include "host.h"

#include <signal.h>
#include <sys/wait.h>

HOST_NOINLINE static void works(void)
{
    host_burn(20);
    free(host_hide(malloc(100)));
}

int main(void)
{
    int good = 0;
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 5; i++) {
            works();
            raise(SIGSTOP);
        }
        works();
        exit(6);
    }
    for (int i = 0; i < 5; i++) {
        int status = 0;
        good += waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status) &&
                WSTOPSIG(status) == SIGSTOP;
        kill(child, SIGCONT);
    }
    int status = 0;
    good += waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 6;
    host_check(good == 6, "each stop and the end were seen");
    return host_end("five stops");
}
