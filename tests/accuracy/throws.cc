/* SPDX-License-Identifier: Apache-2.0 */
/* throws THREADS MS: threads that throw through frames with something to clean up, for so much CPU
 * time each. */
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

static double limit_s;

static double thread_cpu()
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return static_cast<double>(ts.tv_sec) + static_cast<double>(ts.tv_nsec) / 1e9;
}

NOINLINE static int thrower(int depth)
{
    if (depth == 0) {
        throw std::runtime_error(std::string(100, 'x'));
    }
    std::string s(60, static_cast<char>('a' + depth % 20));
    int r = thrower(depth - 1);
    __asm__ volatile("");
    return r + static_cast<int>(s.size());
}

NOINLINE static bool catcher()
{
    try {
        return thrower(12) == 0;
    } catch (const std::exception &e) {
        return e.what()[99] == 'x';
    }
}

NOINLINE static void *in_thread(void *arg)
{
    bool is_good = true;
    while (thread_cpu() < limit_s) {
        is_good = catcher() && is_good;
    }
    return is_good ? arg : nullptr;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        return 2;
    }
    limit_s = std::atof(argv[2]) / 1000;
    std::vector<pthread_t> threads(static_cast<size_t>(std::atoi(argv[1])));
    for (pthread_t &t : threads) {
        if (pthread_create(&t, nullptr, in_thread, &limit_s) != 0) {
            return 1;
        }
    }
    int status = 0;
    for (pthread_t t : threads) {
        void *result = nullptr;
        pthread_join(t, &result);
        status = result == nullptr ? 1 : status;
    }
    return status;
}
