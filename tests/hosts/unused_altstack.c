/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that an alternate stack too small for any signal of this processor, which the program sets
 * up and never needs, does no harm, and that the program sees it as it set it.
 */
/* host: rows B55 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees cpu before */
/* host: sees cpu behind */
/* host: sees alloc_objects with_small_one */
#include "host.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#define SMALLEST 2048

HOST_NOINLINE static void before(void)
{
    host_burn(50);
}

HOST_NOINLINE static void with_small_one(void)
{
    host_burn(50);
    free(host_hide(malloc(10)));
}

HOST_NOINLINE static void behind(void)
{
    host_burn(50);
}

static void *life(void *arg)
{
    char *low = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t s = {.ss_sp = low + 4096, .ss_size = SMALLEST};
    stack_t now;
    stack_t off = {.ss_flags = SS_DISABLE};
    int wrong = 0;
    before();
    mprotect(low, 4096, PROT_NONE);
    wrong += sigaltstack(NULL, &now) != 0 || now.ss_flags != SS_DISABLE;
    wrong += sigaltstack(&s, &now) != 0 || now.ss_flags != SS_DISABLE;
    with_small_one();
    wrong += sigaltstack(NULL, &now) != 0 || now.ss_sp != s.ss_sp || now.ss_size != SMALLEST ||
             now.ss_flags != 0;
    s.ss_size = 100;
    wrong += sigaltstack(&s, NULL) != -1 || errno != ENOMEM;
    with_small_one();
    wrong += sigaltstack(&off, &now) != 0 || now.ss_sp != s.ss_sp || now.ss_size != SMALLEST;
    wrong += sigaltstack(NULL, &now) != 0 || now.ss_flags != SS_DISABLE;
    behind();
    munmap(low, 8192);
    return wrong == 0 ? arg : NULL;
}

int main(void)
{
    pthread_t t;
    void *result = NULL;
    int good = life(&good) == &good;
    pthread_create(&t, NULL, life, &good);
    pthread_join(t, &result);
    host_check(good && result == &good, "the alternate stack is what the program made it");
    return host_end("alternate stacks of 2048 bytes");
}
