/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that 1,000 children by fork from a busy process of several threads all do their work and
 * end as they want, and that nothing is left of them in the parent. */
/* stress: set CPU_HZ=1000 HEAP_INTERVAL=16k INTERVAL=200ms MEMORY_LIMIT=16m */
/* stress: sees alloc_objects child_side */
/* stress: sees cpu parent_side */
#include "growth.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define FORKS 1000
#define AT_ONCE 4
#define WARM 250

static int is_done;
static void *hide(void *p)
{
    __asm__ volatile("" : "+r"(p));
    return p;
}

__attribute__((noinline)) static void *parent_side(void *arg)
{
    while (__atomic_load_n(&is_done, __ATOMIC_ACQUIRE) == 0) {
        for (int i = 0; i < 100; i++) {
            free(hide(malloc(500)));
        }
        usleep(500);
    }
    return arg;
}

__attribute__((noinline)) static void child_side(void)
{
    for (int i = 0; i < 300; i++) {
        free(hide(calloc(3, 1000)));
    }
}

static void child_ends(int n)
{
    pthread_t t;
    child_side();
    if (n % 10 == 0 && pthread_create(&t, NULL, parent_side, NULL) != 0) {
        _exit(99);
    }
    if (n % 3 == 0) {
        exit(n % 7);
    } else if (n % 3 == 1) {
        raise(SIGTERM);
    }
    _exit(n % 7);
}

static int is_right(int n, int status)
{
    return n % 3 == 1 ? WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM
                      : WIFEXITED(status) && WEXITSTATUS(status) == n % 7;
}

int main(void)
{
    pthread_t t[2];
    pid_t children[AT_ONCE];
    struct growth warm = {0, 0, 0, 0, 0, 0};
    int good = 0;
    for (int i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, parent_side, NULL);
    }
    for (int n = 0; n < FORKS; n += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++) {
            children[i] = fork();
            if (children[i] == 0) {
                child_ends(n + i);
            }
        }
        for (int i = 0; i < AT_ONCE; i++) {
            int status = -1;
            good += waitpid(children[i], &status, 0) == children[i] && is_right(n + i, status);
        }
        if (n == WARM / AT_ONCE * AT_ONCE) {
            warm = growth_now();
        }
    }
    growth_compare(warm, 8192, 40);
    __atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
    }
    printf("%d of %d children did what they should\n", good, FORKS);
    return growth_failures != 0;
}
