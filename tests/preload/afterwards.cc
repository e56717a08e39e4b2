// SPDX-License-Identifier: Apache-2.0
/*
 * CPU time that threads use after their start routine is left: destructors of thread_local objects
 * and of thread-specific data, clean-up handlers of pthread_exit, and the same for the main thread,
 * which ends before the process does. One thread frees its alternate signal stack there without a
 * word to the kernel: no signal of anybody else may arrive from then on.
 */
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <pthread.h>
#include <sys/mman.h>

#include "../truth.h"

namespace {

constexpr long long kPart = 200000000;

pthread_key_t key;
pthread_key_t stack_key;
volatile std::uint64_t sink = 1;

void burn()
{
    for (long long end = truth_clock() + kPart; truth_clock() < end;) {
        for (int i = 0; i < 10000; i++) {
            sink = sink * 6364136223846793005U + 1;
        }
    }
}

} // namespace

#define BURNER(name)                                                                               \
    extern "C" __attribute__((noinline)) void name()                                               \
    {                                                                                              \
        long long began = truth_clock();                                                           \
        burn();                                                                                    \
        truth_tell(#name, began);                                                                  \
    }

BURNER(burn_in_body)
BURNER(burn_in_local)
BURNER(burn_in_key)
BURNER(burn_in_handler)
BURNER(burn_in_main_key)
BURNER(burn_without_stack)

namespace {

struct Local {
    bool is_used = false;
    ~Local()
    {
        burn_in_local();
    }
};

thread_local Local local;

void *returns(void *arg)
{
    local.is_used = true;
    pthread_setspecific(key, arg);
    burn_in_body();
    return nullptr;
}

void *leaves(void *arg)
{
    pthread_setspecific(key, arg);
    pthread_cleanup_push([](void *) { burn_in_handler(); }, nullptr);
    pthread_exit(nullptr);
    pthread_cleanup_pop(0);
    return nullptr;
}

void *forgets_stack(void *)
{
    constexpr std::size_t kBytes = 65536;
    stack_t s = {};
    s.ss_size = kBytes;
    s.ss_sp = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&s, nullptr);
    pthread_setspecific(stack_key, s.ss_sp);
    burn_in_body();
    return nullptr;
}

void run(void *(*start)(void *))
{
    pthread_t t;
    pthread_create(&t, nullptr, start, &key);
    pthread_join(t, nullptr);
}

} // namespace

int main()
{
    pthread_key_create(&key, [](void *arg) {
        if (arg == &key) {
            burn_in_key();
        } else {
            burn_in_main_key();
            std::puts("ended");
            std::fflush(stdout);
        }
    });
    pthread_key_create(&stack_key, [](void *stack) {
        munmap(stack, 65536);
        burn_without_stack();
    });
    run(returns);
    run(leaves);
    run(forgets_stack);
    pthread_setspecific(key, &stack_key);
    pthread_exit(nullptr);
}
