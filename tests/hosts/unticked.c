/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that the CPU time of threads that can have no ticks, since those had no place on their
 * alternate stacks, is told all the same: with the function that they were started with.
 */
/* host: rows B55 */
/* host: set OTELPROF_CPU_HZ=100 */
/* host: sees cpu has_small_one */
/* host: sees cpu has_lost_it */
#include "host.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#define BYTES ((size_t)64 << 10)

static void set_stack(char *low, size_t bytes)
{
    stack_t s = {.ss_sp = low, .ss_size = bytes};
    host_check(sigaltstack(&s, NULL) == 0, "there is an alternate stack");
}

static void *has_small_one(void *arg)
{
    static char small[2048];
    set_stack(small, sizeof(small));
    host_burn(900);
    return arg;
}

static void *has_lost_it(void *arg)
{
    char *low = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    set_stack(low, BYTES);
    munmap(low, BYTES);
    host_burn(900);
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, has_small_one, NULL);
    pthread_create(&t[1], NULL, has_lost_it, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return host_end("two threads without ticks");
}
