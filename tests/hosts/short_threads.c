/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that threads which begin and end all the time, with destructors that allocate, are no
 * trouble. */
/* host: rows B70 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees alloc_objects last_words */
#include "host.h"

#include <pthread.h>
#include <signal.h>

#define MAKERS 8
#define EACH 500

static pthread_key_t keys[4];
static int destroyed;

HOST_NOINLINE static void last_words(void *value)
{
    void *p = host_hide(malloc(300));
    free(host_hide(realloc(p, 700)));
    free(value);
    (void)__atomic_fetch_add(&destroyed, 1, __ATOMIC_RELAXED);
}

static void *short_life(void *arg)
{
    for (size_t i = 0; i < HOST_LEN(keys); i++) {
        pthread_setspecific(keys[i], malloc(100));
    }
    if ((size_t)arg % 3 == 0) {
        pthread_exit(NULL);
    }
    return NULL;
}

static void *make(void *arg)
{
    for (size_t i = 0; i < EACH; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, short_life, (void *)i) != 0 || pthread_join(t, NULL) != 0) {
            return NULL;
        }
    }
    return arg;
}

int main(void)
{
    pthread_t t[MAKERS];
    int good = 0;
    for (size_t i = 0; i < HOST_LEN(keys); i++) {
        pthread_key_create(&keys[i], last_words);
    }
    for (int i = 0; i < MAKERS; i++) {
        pthread_create(&t[i], NULL, make, &good);
    }
    for (int i = 0; i < MAKERS; i++) {
        void *result = NULL;
        pthread_join(t[i], &result);
        good += result == &good;
    }
    host_check(good == MAKERS && destroyed == MAKERS * EACH * 4, "every destructor ran once");
    /* No timer of a thread that is gone may be left: none can be had when too many are. */
    timer_t own;
    struct sigevent none = {.sigev_notify = SIGEV_NONE};
    host_check(timer_create(CLOCK_MONOTONIC, &none, &own) == 0, "a timer can be made");
    timer_delete(own);
    return host_end("4000 short threads with destructors");
}
