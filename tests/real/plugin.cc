/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin, compiled several times with another PLUGIN_NAME. */
#include <time.h>

#include <cstdlib>
#include <stdexcept>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define SPACE JOIN(plugin_, PLUGIN_NAME)

namespace SPACE
{

/* Keeps one block of 3000 bytes, frees one of 500. */
__attribute__((noinline)) void *allocate()
{
    void *volatile passing = operator new(500);
    operator delete(passing);
    return malloc(3000);
}

__attribute__((noinline)) long burn(int ms)
{
    timespec ts{};
    volatile long x = 1;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    long end = ts.tv_sec * 1000000 + ts.tv_nsec / 1000 + ms * 1000;
    do {
        for (int i = 0; i < 20000; i++) {
            x = x * 31 + PLUGIN_SALT;
        }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    } while (ts.tv_sec * 1000000 + ts.tv_nsec / 1000 < end);
    return x;
}

__attribute__((noinline)) void refuse(int i)
{
    if (i % 2 == 0) {
        throw std::logic_error("from a plugin");
    }
}

__attribute__((noinline)) void *work(int i)
{
    try {
        refuse(i);
        (void)burn(6);
    } catch (const std::logic_error &) {
        (void)burn(7);
    }
    return allocate();
}

} // namespace SPACE

extern "C" void *plugin_run(int i)
{
    void *p = SPACE::work(i);
    __asm__ volatile("" : "+r"(p));
    return p;
}
