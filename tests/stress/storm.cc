/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that ticks at 1,000 Hz, libraries that come and go, and exceptions through many frames do
 * not get into each other's way for as long as this runs, and that nothing grows. */
/* stress: set CPU_HZ=1000 HEAP_INTERVAL=1k INTERVAL=100ms MEMORY_LIMIT=16m */
/* stress: sees cpu thrower(void*) */
/* stress: sees cpu plug_work */
/* stress: flags -ldl */
#include "growth.h"

#include <dlfcn.h>
#include <pthread.h>

#include <stdexcept>

#define LOADS 1200
#define WARM 400

static int is_done;
static long caught;

__attribute__((noinline)) static int deep(int depth)
{
    std::string text(40, 'x');
    if (depth == 0) {
        throw std::runtime_error("bottom");
    }
    return deep(depth - 1) + static_cast<int>(text.size());
}

__attribute__((noinline)) static void *thrower(void *arg)
{
    long count = 0;
    while (__atomic_load_n(&is_done, __ATOMIC_ACQUIRE) == 0) {
        try {
            (void)deep(20);
        } catch (const std::exception &e) {
            count += strcmp(e.what(), "bottom") == 0;
        }
    }
    (void)__atomic_fetch_add(&caught, count, __ATOMIC_RELAXED);
    return arg;
}

int main()
{
    char path[4096];
    pthread_t t[2];
    struct growth warm = {0, 0, 0, 0, 0, 0};
    int good = 0;
    volatile unsigned long sink = 0;
    snprintf(path, sizeof(path), "%s/plug.so", getenv("STRESS_LIBS"));
    for (auto &one : t) {
        pthread_create(&one, nullptr, thrower, nullptr);
    }
    for (int i = 0; i < LOADS; i++) {
        void *h = dlopen(path, i % 2 == 0 ? RTLD_NOW : RTLD_LAZY);
        if (h == nullptr) {
            printf("%s\n", dlerror());
            break;
        }
        auto work = reinterpret_cast<unsigned long (*)(unsigned long)>(dlsym(h, "plug_work"));
        sink = sink + work(100000);
        good += dlclose(h) == 0;
        if (i == WARM) {
            warm = growth_now();
        }
    }
    growth_compare(warm, 12288, 40);
    __atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
    for (auto &one : t) {
        pthread_join(one, nullptr);
    }
    printf("%d of %d times loaded, exceptions: %s\n", good, LOADS, caught > 1000 ? "caught" : "none");
    return growth_failures != 0;
}
