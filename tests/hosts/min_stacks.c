/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that threads on the smallest stacks, libc's or the program's own, are sampled and live. */
/* host: rows B56 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees cpu on_small_stack */
/* host: sees alloc_objects on_small_stack */
#include "host.h"

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

HOST_NOINLINE static void *on_small_stack(void *arg)
{
    for (int i = 0; i < 200; i++) {
        free(host_hide(malloc((size_t)i * 10)));
    }
    host_burn(20);
    return arg;
}

int main(void)
{
    int good = 0;
    size_t smallest = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    for (int i = 0; i < 20; i++) {
        pthread_attr_t a;
        pthread_t t;
        void *result = NULL;
        char *own = NULL;
        pthread_attr_init(&a);
        if (i % 2 == 0) {
            good += pthread_attr_setstacksize(&a, smallest) == 0;
        } else {
            /* An unreadable page on either side. */
            own = mmap(NULL, smallest + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            mprotect(own + 4096, smallest, PROT_READ | PROT_WRITE);
            good += pthread_attr_setstack(&a, own + 4096, smallest) == 0;
        }
        good += pthread_create(&t, &a, on_small_stack, &good) == 0 &&
                pthread_join(t, &result) == 0 && result == &good;
        pthread_attr_destroy(&a);
        if (own != NULL) {
            munmap(own, smallest + 8192);
        }
    }
    host_check(good == 40, "every thread started and ended");
    return host_end("20 threads on the smallest stacks");
}
