/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that exceptions through many frames, dlopen and ticks at 1000 Hz do not hang each other.
 */
/* host: rows B22 R1 */
/* host: libs plug */
/* host: flags -ldl */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees cpu thrower(void*) */
#include <dlfcn.h>
#include <pthread.h>

#include <stdexcept>

#include "host.h"

static int is_done;
static char path[4096];

struct counted {
    int *count;
    explicit counted(int *c) : count(c)
    {
        ++*count;
    }
    ~counted()
    {
        --*count;
    }
};

HOST_NOINLINE static int deep(int depth, int *count)
{
    counted c(count);
    if (depth == 0) {
        throw std::runtime_error("bottom");
    }
    return deep(depth - 1, count) + *c.count;
}

HOST_NOINLINE static void *thrower(void *arg)
{
    long wrong = 0;
    for (int i = 0; i < 10000; i++) {
        int count = 0;
        try {
            wrong += deep(20, &count) != 0;
        } catch (const std::exception &e) {
            wrong += count != 0 || strcmp(e.what(), "bottom") != 0;
        }
    }
    return wrong == 0 ? arg : nullptr;
}

static void *loader(void *arg)
{
    while (__atomic_load_n(&is_done, __ATOMIC_ACQUIRE) == 0) {
        void *h = dlopen(path, RTLD_NOW);
        if (h == nullptr) {
            return nullptr;
        }
        auto work = reinterpret_cast<unsigned long (*)(unsigned long)>(dlsym(h, "plug_work"));
        host_sink = work(20000);
        if (dlclose(h) != 0) {
            return nullptr;
        }
    }
    return arg;
}

int main()
{
    pthread_t t[5];
    int good = 0;
    snprintf(path, sizeof(path), "%s/plug.so", getenv("HOST_LIBS"));
    for (int i = 0; i < 5; i++) {
        pthread_create(&t[i], nullptr, i == 4 ? loader : thrower, &good);
    }
    for (int i = 0; i < 5; i++) {
        void *result = nullptr;
        if (i == 4) {
            __atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
        }
        pthread_join(t[i], &result);
        good += result == &good;
    }
    host_check(good == 5, "every exception was caught, every object destroyed");
    return host_end("40000 exceptions through 20 frames, next to dlopen and dlclose");
}
