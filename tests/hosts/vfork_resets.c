/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that a child of vfork may reset all signals, as spawners do, without its parent noticing.
 */
/* host: set OTELPROF_CPU_HZ=1000 */
/* host: sees cpu thread_burns */
#include "host.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

HOST_NOINLINE static void *thread_burns(void *arg)
{
    host_burn(60);
    return arg;
}

int main(void)
{
    host_burn(20);
    for (int round = 0; round < 10; round++) {
        pid_t pid = vfork();
        if (pid == 0) {
            for (int signo = 1; signo < 32; signo++) {
                signal(signo, round % 2 == 0 ? SIG_DFL : SIG_IGN);
            }
            _exit(round);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        host_check(WIFEXITED(status) && WEXITSTATUS(status) == round, "the child's status");
        struct sigaction now;
        sigaction(SIGTERM, NULL, &now);
        host_check(now.sa_handler == SIG_DFL, "SIGTERM at its default");
        sigaction(SIGPROF, NULL, &now);
        host_check(now.sa_handler == SIG_DFL, "SIGPROF at its default");
        pthread_t t;
        pthread_create(&t, NULL, thread_burns, NULL);
        pthread_join(t, NULL);
    }
    return host_end("10 children of vfork reset their signals");
}
