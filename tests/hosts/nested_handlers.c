/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that a tick inside a handler inside a handler is harmless, and that its stack crosses both
 * of them. */
/* host: rows B96 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees cpu innermost */
/* host: sees alloc_objects innermost */
/* host: sees cpu outermost */
#include "host.h"

#include <signal.h>
#include <sys/mman.h>

static char *no_page;

HOST_NOINLINE static void innermost(void)
{
    host_burn(50);
    free(host_hide(malloc(33)));
    mprotect(no_page, 4096, PROT_READ | PROT_WRITE);
}

static void on_usr1(int signo)
{
    (void)signo;
    innermost();
}

static void on_segv(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
    (void)context;
    raise(SIGUSR1);
}

HOST_NOINLINE static void outermost(void)
{
    for (int i = 0; i < 4; i++) {
        mprotect(no_page, 4096, PROT_NONE);
        *(volatile char *)no_page = 1;
    }
    host_burn(1);
}

int main(void)
{
    struct sigaction a = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &a, NULL);
    signal(SIGUSR1, on_usr1);
    no_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    outermost();
    host_check(*no_page == 1, "the program went on where it was");
    return host_end("handlers in handlers");
}
