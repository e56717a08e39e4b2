/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that handlers on alternate stacks are sampled where all such stacks have room for a tick,
 * and left alone from the moment on at which a thread sets one that may not.
 */
/* host: rows B55 */
/* The loader's resolver would need more of the stack than there is. */
/* host: flags -Wl,-z,now */
/* host: set OTELPROF_CPU_HZ=10000 */
/* host: sees cpu burn_on_roomy */
/* host: sees cpu burn_after */
/* host: runs before|after */
#include "host.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define ROOMY_BYTES 65536
#define OWN_BYTES 3072 /* what the handler itself gets of a small one */

static void (*volatile in_handler)(void);

HOST_NOINLINE static void burn_on_roomy(void)
{
    host_burn(100);
}

/* Less than a frame of a tick is left meanwhile. */
HOST_NOINLINE static void use_small(void)
{
    volatile char room[OWN_BYTES / 2];
    for (size_t i = 0; i < sizeof(room); i++) {
        room[i] = (char)i;
    }
    for (int i = 0; i < 200000; i++) {
        __asm__ volatile("" ::: "memory");
    }
    host_sink += (unsigned long)room[7];
}

HOST_NOINLINE static void burn_after(void)
{
    host_burn(100);
}

static void on_usr1(int signo)
{
    sigset_t now;
    (void)signo;
    in_handler();
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    host_check(sigismember(&now, SIGPROF) == 0, "the handler's mask is the program's");
}

static void set_stack(size_t bytes)
{
    char *low = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t s = {.ss_sp = low, .ss_size = bytes};
    host_check(low != MAP_FAILED && sigaltstack(&s, NULL) == 0, "there is an alternate stack");
}

static void install(void)
{
    struct sigaction act = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK};
    struct sigaction back;
    host_check(sigaction(SIGUSR1, &act, NULL) == 0, "there is a handler");
    host_check(sigaction(SIGUSR1, NULL, &back) == 0 && sigismember(&back.sa_mask, SIGPROF) == 0,
               "its mask is as it was set");
}

/* One signal frame and the handler: no room for a second frame. */
static void *on_a_small_one(void *unused)
{
    size_t frame = getauxval(AT_MINSIGSTKSZ);
    (void)unused;
    set_stack((frame == 0 ? 2048 : frame) + OWN_BYTES + 1024);
    in_handler = use_small;
    for (int i = 0; i < 100; i++) {
        pthread_kill(pthread_self(), SIGUSR1);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t small;
    int is_before = argc > 1 && strcmp(argv[1], "before") == 0;
    if (is_before) {
        install();
    }
    set_stack(ROOMY_BYTES);
    if (!is_before) {
        install();
    }
    in_handler = burn_on_roomy;
    raise(SIGUSR1);
    host_check(pthread_create(&small, NULL, on_a_small_one, NULL) == 0, "there is a thread");
    pthread_join(small, NULL);
    in_handler = use_small; /* no room is promised any more, whatever there is */
    raise(SIGUSR1);
    burn_after();
    return host_end("handlers on roomy alternate stacks, and on small ones");
}
