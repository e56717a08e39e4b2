/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that errno survives ticks and sampled allocations, in every thread, deep stacks included.
 */
/* host: rows B117 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=10000 */
/* host: sees cpu look_at_errno */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

HOST_NOINLINE static int look_at_errno(int depth)
{
    volatile char room[200];
    room[depth % 200] = (char)depth;
    if (depth > 0) {
        return look_at_errno(depth - 1) + (room[depth % 200] != (char)depth);
    }
    errno = 0;
    int wrong = open("/nonexistent/file", O_RDONLY) != -1;
    for (int i = 0; i < 200000; i++) {
        __asm__ volatile("" ::: "memory");
    }
    wrong += errno != ENOENT;
    errno = 12345;
    void *p = host_hide(malloc(100));
    p = host_hide(realloc(p, 2000000));
    p = host_hide(realloc(p, 10));
    free(p);
    free(host_hide(calloc(10, 10)));
    free(host_hide(aligned_alloc(64, 640)));
    wrong += errno != 12345;
    return wrong;
}

static void *look(void *arg)
{
    int wrong = 0;
    for (int i = 0; i < 500; i++) {
        wrong += look_at_errno(i % 300);
    }
    return wrong == 0 ? arg : NULL;
}

int main(void)
{
    pthread_t t[3];
    int good = 0;
    for (int i = 0; i < 3; i++) {
        pthread_create(&t[i], NULL, look, &good);
    }
    for (int i = 0; i < 3; i++) {
        void *result = NULL;
        pthread_join(t[i], &result);
        good += result == &good;
    }
    host_check(good == 3, "errno was never changed");
    return host_end("1500 failing opens and allocations");
}
