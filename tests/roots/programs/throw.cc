/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that exceptions go through frames of two objects in several threads while a third library
 * comes and goes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "common.h"

#include <dlfcn.h>
#include <pthread.h>

#include <stdexcept>
#include <string>

typedef void (*thrower)(int depth);

static thrower throws;
static volatile int is_over;

static void *catches(void *)
{
    long caught = 0;
    for (int i = 0; i < 3000; i++) {
        try {
            throws(i % 12);
        } catch (const std::runtime_error &e) {
            caught += std::string(e.what()).size() == 4;
        }
    }
    return reinterpret_cast<void *>(caught);
}

static void *loads(void *)
{
    while (!is_over) {
        void *handle = dlopen("./timers.so", RTLD_NOW);
        if (handle == NULL || dlclose(handle) != 0) {
            puts("cannot load");
        }
    }
    return NULL;
}

int main()
{
    pthread_t ids[3];
    void *handle = dlopen("./thrower.so", RTLD_NOW);
    if (handle == NULL) {
        puts(dlerror());
        return 1;
    }
    void *symbol = dlsym(handle, "throw_from");
    memcpy(&throws, &symbol, sizeof(throws));
    burn_here(100);
    pthread_create(&ids[2], NULL, loads, NULL);
    for (int i = 0; i < 2; i++) {
        pthread_create(&ids[i], NULL, catches, NULL);
    }
    for (int i = 0; i < 2; i++) {
        void *caught;
        pthread_join(ids[i], &caught);
        printf("caught %ld\n", reinterpret_cast<long>(caught));
    }
    is_over = 1;
    pthread_join(ids[2], NULL);
    return 2;
}
