/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that ticks get along with alternate stacks that hold the program's own handler and little
 * more, faults inside handlers included.
 */
/* host: rows B55 B96 */
/* The loader's resolver would need more of the stack than there is. */
/* host: flags -Wl,-z,now */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=10000 */
/* host: sees cpu faults */
/* host: runs alone|threads */
#include "host.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define ROOM 2048 /* what the handler itself gets */

static __thread sigjmp_buf back;
static __thread volatile int depth;
static char *no_page;

HOST_NOINLINE static int use_stack(void)
{
    volatile char room[ROOM / 2];
    for (size_t i = 0; i < sizeof(room); i++) {
        room[i] = (char)i;
    }
    for (int i = 0; i < 1000000; i++) {
        __asm__ volatile("" ::: "memory");
    }
    return room[5];
}

static void on_usr1(int signo)
{
    (void)signo;
    depth = depth + 1;
    host_sink += (unsigned long)use_stack();
}

static void on_segv(int signo)
{
    (void)signo;
    host_sink += (unsigned long)use_stack();
    siglongjmp(back, 1);
}

static void *faults(void *arg)
{
    /* One signal frame and the handler: no room for a second frame. */
    size_t frame = getauxval(AT_MINSIGSTKSZ);
    size_t bytes = (frame == 0 ? 2048 : frame) + ROOM + 512;
    char *low =
        mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t s = {.ss_sp = low, .ss_size = bytes};
    /* The loader looks a function up at its first call, with a copy of all registers on the stack:
     * not on that one. */
    if (sigsetjmp(back, 1) == 0) {
        siglongjmp(back, 1);
    }
    memset(low, 'c', bytes + 4096);
    if (sigaltstack(&s, NULL) != 0) {
        return NULL;
    }
    volatile int caught = 0;
    for (volatile int i = 0; i < 300; i++) {
        if (sigsetjmp(back, 1) == 0) {
            raise(SIGUSR1);
            *(volatile char *)no_page = 1;
        } else {
            caught = caught + 1;
        }
    }
    volatile int wrong = 0;
    for (size_t i = bytes; i < bytes + 4096; i++) {
        wrong = wrong + (low[i] != 'c');
    }
    stack_t off = {.ss_flags = SS_DISABLE};
    sigaltstack(&off, NULL);
    munmap(low, bytes + 4096);
    return wrong == 0 && caught == 300 && depth == 300 ? arg : NULL;
}

int main(int argc, char **argv)
{
    struct sigaction a = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &a, NULL);
    a.sa_handler = on_segv;
    sigaction(SIGSEGV, &a, NULL);
    no_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int good = 0;
    int count = argc > 1 && strcmp(argv[1], "threads") == 0 ? 4 : 0;
    pthread_t t[4];
    for (int i = 0; i < count; i++) {
        pthread_create(&t[i], NULL, faults, &good);
    }
    host_check(faults(&good) == &good,
               "each fault was caught, on the small stack, in the main thread");
    for (int i = 0; i < count; i++) {
        void *result = NULL;
        pthread_join(t[i], &result);
        good += result == &good;
    }
    host_check(good == count, "and in the others");
    return host_end("300 faults and 300 signals on a small alternate stack");
}
