/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a handler on an alternate stack, of any size, keeps what it has there while it goes
 * on in a context on another stack: the kernel would put a tick over it.
 */
/* host: rows B55 B96 */
/* host: set OTELPROF_CPU_HZ=1000 */
/* host: sees cpu burn_outside */
/* host: runs 16384|65536|1048576 */
#include "host.h"

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#define KEPT 4096

static ucontext_t in_handler;
static ucontext_t outside;

static void burn_elsewhere(void)
{
    host_burn(200);
    swapcontext(&outside, &in_handler);
}

HOST_NOINLINE static void burn_outside(void)
{
    host_burn(100);
}

static void on_usr1(int signo)
{
    static char stack[256 * 1024];
    volatile unsigned char kept[KEPT];
    static int changed;
    (void)signo;
    for (size_t i = 0; i < sizeof(kept); i++) {
        kept[i] = (unsigned char)(i * 7 + 3);
    }
    getcontext(&outside);
    outside.uc_stack.ss_sp = stack;
    outside.uc_stack.ss_size = sizeof(stack);
    makecontext(&outside, burn_elsewhere, 0);
    swapcontext(&in_handler, &outside);
    for (size_t i = 0; i < sizeof(kept); i++) {
        changed += kept[i] != (unsigned char)(i * 7 + 3);
    }
    host_check(changed == 0, "the handler's frame is as it was");
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? (size_t)atoi(argv[1]) : 65536;
    stack_t s = {.ss_sp = malloc(bytes), .ss_size = bytes};
    struct sigaction act = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK};
    host_check(s.ss_sp != NULL && sigaltstack(&s, NULL) == 0, "there is an alternate stack");
    host_check(sigaction(SIGUSR1, &act, NULL) == 0, "there is a handler");
    burn_outside();
    raise(SIGUSR1);
    burn_outside();
    return host_end("a handler that goes on elsewhere");
}
