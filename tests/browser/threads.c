/* SPDX-License-Identifier: Apache-2.0 */
/* Three named threads and the main one, each with work in functions of its own. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>

static volatile double sink;

__attribute__((noinline)) void burn(int n)
{
    for (int i = 0; i < n; i++) {
        sink = sink + i * 0.5;
    }
}

__attribute__((noinline)) void left(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        burn(100000);
    }
}

__attribute__((noinline)) void right(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        burn(50000);
        left(1);
    }
}

static void *run(void *name)
{
    pthread_setname_np(pthread_self(), name);
    if (strcmp(name, "lefty") == 0) {
        left(300);
    } else {
        right(300);
    }
    return NULL;
}

int main(void)
{
    static char names[][8] = {"lefty", "righty", "third"};
    pthread_t threads[3];

    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, run, names[i]);
    }
    left(100);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
