/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that SIGPROF from elsewhere, with any value, neither ends the profiled process nor is
 * taken for a tick. */
/* host: rows B41 B66 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=100 */
/* host: sees alloc_objects takes_strays */
#include "host.h"

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>

HOST_NOINLINE static void takes_strays(void)
{
    static const uintptr_t values[] = {0,   1, 0x7be000000000000, ~(uintptr_t)0, 0x7be000001000000,
                                       4096};
    free(host_hide(malloc(10)));
    for (unsigned i = 0; i < 600; i++) {
        union sigval v = {.sival_ptr = (void *)values[i % HOST_LEN(values)]};
        sigqueue(getpid(), SIGPROF, v);
        kill(getpid(), SIGPROF);
        siginfo_t info;
        memset(&info, 0, sizeof(info));
        info.si_signo = SIGPROF;
        info.si_code = i % 2 == 0 ? SI_TIMER : SI_KERNEL;
        info.si_value = v;
        syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), SIGPROF, &info);
        raise(SIGPROF);
    }
}

int main(void)
{
    /* Bare, these signals would end the process: so there they are caught. */
    if (getenv("OTELPROF_HEAP_INTERVAL") == NULL ||
        strstr(getenv("LD_PRELOAD") == NULL ? "" : getenv("LD_PRELOAD"), "otelprof") == NULL) {
        signal(SIGPROF, SIG_IGN);
    }
    takes_strays();
    return host_end("2400 stray signals");
}
