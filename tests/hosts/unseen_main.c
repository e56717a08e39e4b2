/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that what a first thread has used that lets no signal through is told with the program's
 * entry, when another thread ends the process; a thread like it with its start routine.
 */
/* host: sees cpu _start */
/* host: sees cpu other */
#include "host.h"

#include <pthread.h>
#include <signal.h>

static int is_burnt;

static void *other(void *unused)
{
    (void)unused;
    host_burn(200);
    (void)__atomic_fetch_add(&is_burnt, 1, __ATOMIC_RELEASE);
    pause();
    return NULL;
}

static void *ends(void *unused)
{
    (void)unused;
    while (__atomic_load_n(&is_burnt, __ATOMIC_ACQUIRE) < 2) {
        usleep(1000);
    }
    exit(host_end("threads with all signals blocked"));
    return NULL;
}

int main(void)
{
    sigset_t all;
    pthread_t t;
    sigfillset(&all);
    pthread_create(&t, NULL, ends, NULL);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_create(&t, NULL, other, NULL);
    host_burn(200);
    (void)__atomic_fetch_add(&is_burnt, 1, __ATOMIC_RELEASE);
    pause();
    return 1;
}
