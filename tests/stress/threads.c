/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that 10,000 threads that live for a moment leave nothing behind: no timer, no mapping, no
 * record. */
/* stress: set CPU_HZ=1000 HEAP_INTERVAL=4k INTERVAL=200ms MEMORY_LIMIT=16m */
/* stress: sees alloc_objects short_life */
#include "growth.h"

#include <pthread.h>

#define THREADS 10000
#define AT_ONCE 40
#define WARM 3000

static pthread_key_t key;
static int destroyed;
static void *hide(void *p)
{
    __asm__ volatile("" : "+r"(p));
    return p;
}

static void last_words(void *value)
{
    free(hide(malloc(300)));
    free(value);
    (void)__atomic_fetch_add(&destroyed, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static void *short_life(void *arg)
{
    void *mine[4];
    pthread_setspecific(key, malloc(1000));
    for (int i = 0; i < 4; i++) {
        mine[i] = malloc(2000);
    }
    for (int i = 0; i < 4; i++) {
        free(mine[i]);
    }
    if ((size_t)arg % 5 == 0) {
        pthread_exit(arg);
    }
    return arg;
}

int main(void)
{
    pthread_t t[AT_ONCE];
    struct growth warm = {0, 0, 0, 0, 0, 0};
    size_t good = 0;
    pthread_key_create(&key, last_words);
    for (size_t n = 0; n < THREADS; n += AT_ONCE) {
        for (size_t i = 0; i < AT_ONCE; i++) {
            if (pthread_create(&t[i], NULL, short_life, (void *)(n + i)) != 0) {
                printf("a thread cannot be made\n");
                return 1;
            }
        }
        for (size_t i = 0; i < AT_ONCE; i++) {
            void *result = NULL;
            good += pthread_join(t[i], &result) == 0 && result == (void *)(n + i);
        }
        if (n == WARM) {
            warm = growth_now();
        }
    }
    growth_compare(warm, 8192, 60);
    printf("%zu of %d threads, %d destructors\n", good, THREADS, destroyed);
    return growth_failures != 0;
}
