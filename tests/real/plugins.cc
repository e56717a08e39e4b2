/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a lively program is profiled whole and unharmed: 64 named threads that throw,
 * catch and allocate, while another one loads and unloads plugins, often at the address where
 * another plugin has just been. plugins FOLDER ROUNDS: prints what it has done.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr int thread_count = 64;
std::atomic<long> caught{0};
std::atomic<long> failures{0};

long cpu_ms()
{
    timespec ts{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

} // namespace

struct resource {
    explicit resource(int v) : value(std::make_unique<int>(v))
    {
    }
    ~resource()
    {
        destroyed++;
    }
    std::unique_ptr<int> value;
    static thread_local long destroyed;
};
thread_local long resource::destroyed = 0;

/* Throws from below depth frames, each with an object to destroy. */
__attribute__((noinline)) int throwing(int depth)
{
    resource r(depth);
    if (depth == 0) {
        throw std::runtime_error("bottom " + std::to_string(*r.value));
    }
    int v = throwing(depth - 1) + *r.value;
    __asm__ volatile("" : "+r"(v));
    return v;
}

__attribute__((noinline)) void exceptional(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        try {
            throwing(i % 20);
        } catch (const std::exception &e) {
            caught += std::string(e.what()) == "bottom 0";
        }
    }
}

__attribute__((noinline)) std::size_t containers(int rounds)
{
    std::map<int, std::string> m;
    for (int i = 0; i < rounds; i++) {
        m[i * 7919 % 1009] += "some text that is too long for the string itself";
    }
    return m.size();
}

__attribute__((noinline)) void worker(int number)
{
    char name[16];
    snprintf(name, sizeof(name), "worker-%02d", number);
    pthread_setname_np(pthread_self(), name);
    long end = cpu_ms() + 40;
    int rounds = 0;
    do {
        exceptional(50);
        if (containers(500) != 500) {
            failures++;
        }
        rounds++;
    } while (cpu_ms() < end);
    long expected = 0;
    for (int i = 0; i < 50; i++) {
        expected += i % 20 + 1;
    }
    if (resource::destroyed != expected * rounds) {
        failures++;
    }
}

/* Loads each plugin in turn, lets it work, keeps what it gives, and unloads it. */
void load_and_unload(const std::string &folder, int rounds, std::vector<void *> *kept)
{
    static const char *const names[] = {"alpha", "beta", "gamma", "delta"};
    pthread_setname_np(pthread_self(), "loader");
    for (int i = 0; i < rounds; i++) {
        for (const char *name : names) {
            void *handle =
                dlopen((folder + "/plugin_" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
            if (handle == nullptr) {
                fprintf(stderr, "%s\n", dlerror());
                failures++;
                continue;
            }
            auto run = reinterpret_cast<void *(*)(int)>(dlsym(handle, "plugin_run"));
            kept->push_back(run(i));
            dlclose(handle);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 2;
    }
    std::vector<void *> kept;
    std::thread loader(load_and_unload, argv[1], atoi(argv[2]), &kept);
    for (int wave = 0; wave < 2; wave++) {
        std::vector<std::thread> threads;
        for (int i = 0; i < thread_count; i++) {
            threads.emplace_back(worker, i);
        }
        for (auto &t : threads) {
            t.join();
        }
    }
    loader.join();
    printf("plugins %zu failures %ld %s\n", kept.size(), failures.load(),
           caught > 0 ? "caught" : "");
    return failures != 0;
}
