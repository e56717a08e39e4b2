/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that each forked worker has a CPU profile of its own, also in the form of a server with a
 * master. */
/* host: rows B35 B36 R4 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees cpu worker_burns */
/* host: sees alloc_objects master_allocates */
#include "host.h"

#include <sys/wait.h>

HOST_NOINLINE static void worker_burns(void)
{
    host_burn(60);
}

HOST_NOINLINE static void master_allocates(void)
{
    free(host_hide(malloc(100)));
}

int main(void)
{
    int good = 0;
    master_allocates();
    for (int i = 0; i < 4; i++) {
        if (fork() == 0) {
            worker_burns();
            exit(3);
        }
    }
    for (int i = 0; i < 4; i++) {
        int status = 0;
        wait(&status);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 3;
    }
    host_check(good == 4, "four workers ended as they wanted");
    return host_end("a master and four workers");
}
