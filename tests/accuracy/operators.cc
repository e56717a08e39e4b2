/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operators THREADS ROUNDS: C++ allocation in all its forms. Prints "NAME objects space live_objects
 * live_space" for each function new_…; a space of -1 is not known.
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

struct account {
    std::atomic<long> objects{0}, space{0}, live{0}, live_space{0};
    void made(long n)
    {
        objects++;
        space += n;
        live++;
        live_space += n;
    }
    void gone(long n)
    {
        live--;
        live_space -= n;
    }
};

struct plain {
    char bytes[40];
};

struct alignas(128) wide {
    char bytes[300];
};

struct throwing {
    char bytes[72];
    __attribute__((noinline)) explicit throwing(int value)
    {
        throw value;
    }
};

account a_plain, a_array, a_nothrow, a_aligned, a_sized, a_string, a_vector, a_failing, a_ctor;
std::atomic<long> wrong{0};

template <class T> T *opaque(T *p)
{
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

} /* namespace */

#define SITE extern "C" __attribute__((noinline, noclone))

SITE void new_plain(long i)
{
    plain *p = opaque(new plain);
    a_plain.made(sizeof(plain));
    if (i % 3 != 0) {
        delete p;
        a_plain.gone(sizeof(plain));
    }
}

SITE void new_array(long i)
{
    long n = 1 + i % 50;
    char *p = opaque(new char[static_cast<size_t>(n)]);
    a_array.made(n);
    if (i % 3 != 0) {
        delete[] p;
        a_array.gone(n);
    }
}

SITE void new_nothrow(long i)
{
    plain *p = opaque(new (std::nothrow) plain);
    a_nothrow.made(sizeof(plain));
    if (i % 3 != 0) {
        delete p;
        a_nothrow.gone(sizeof(plain));
    }
}

SITE void new_aligned(long i)
{
    wide *p = opaque(new wide);
    wrong += reinterpret_cast<uintptr_t>(p) % 128 != 0;
    a_aligned.made(sizeof(wide));
    if (i % 3 != 0) {
        delete p;
        a_aligned.gone(sizeof(wide));
    }
}

SITE void new_sized(long i)
{
    size_t n = 100 + static_cast<size_t>(i % 7);
    void *p = opaque(::operator new(n));
    a_sized.made(static_cast<long>(n));
    if (i % 3 != 0) {
        ::operator delete(p, n);
        a_sized.gone(static_cast<long>(n));
    }
}

SITE void new_string(long i)
{
    std::string *s = opaque(new std::string(static_cast<size_t>(100 + i % 10), 'x'));
    a_string.made(sizeof(std::string));
    a_string.made(101 + i % 10);
    if (i % 3 != 0) {
        delete s;
        a_string.gone(sizeof(std::string));
        a_string.gone(101 + i % 10);
    }
}

/* Grows by doubling: 1, 2, 4, … elements. */
SITE void new_vector(long)
{
    std::vector<long> v;
    for (long k = 0; k < 100; k++) {
        v.push_back(k);
    }
    opaque(v.data());
    for (long n = 1; n <= 128; n *= 2) {
        a_vector.made(n * 8);
        a_vector.gone(n * 8);
    }
}

/* Exceptions are allocated, too: an object each, of a size that is the C++ library's own. */
SITE void new_failing(long)
{
    volatile size_t huge = PTRDIFF_MAX;
    try {
        opaque(new char[huge]);
        wrong++;
    } catch (const std::bad_alloc &) {
        a_failing.made(0);
        a_failing.gone(0);
    }
}

/* Whether an exception is made on the way is the C++ library's own affair: nothing of it may be left. */
SITE void new_refused(long)
{
    volatile size_t huge = PTRDIFF_MAX;
    wrong += opaque(new (std::nothrow) char[huge]) != nullptr;
}

SITE void new_ctor(long)
{
    try {
        opaque(new throwing(opaque(&wrong) != nullptr));
        wrong++;
    } catch (int) {
        a_ctor.made(0); /* the object, given back when its constructor threw, */
        a_ctor.gone(0);
        a_ctor.made(0); /* and the exception */
        a_ctor.gone(0);
    }
}

static void work(long rounds)
{
    for (long i = 0; i < rounds; i++) {
        new_plain(i);
        new_array(i);
        new_nothrow(i);
        new_aligned(i);
        new_sized(i);
        new_string(i);
        new_vector(i);
        new_failing(i);
        new_refused(i);
        new_ctor(i);
    }
}

static void tell(const char *name, const account &a, bool is_space_known = true)
{
    std::printf("%s %ld %ld %ld %ld\n", name, a.objects.load(),
                is_space_known ? a.space.load() : -1L, a.live.load(), a.live_space.load());
}

int main(int argc, char **argv)
{
    long threads = argc > 2 ? std::atol(argv[1]) : 1;
    long rounds = argc > 2 ? std::atol(argv[2]) : 1;
    std::vector<std::thread> all;
    for (long i = 0; i < threads; i++) {
        all.emplace_back(work, rounds);
    }
    for (std::thread &t : all) {
        t.join();
    }
    tell("new_plain", a_plain);
    tell("new_array", a_array);
    tell("new_nothrow", a_nothrow);
    tell("new_aligned", a_aligned);
    tell("new_sized", a_sized);
    tell("new_string", a_string);
    tell("new_vector", a_vector);
    tell("new_failing", a_failing, false);
    tell("new_ctor", a_ctor, false);
    std::puts("new_refused -1 -1 0 0");
    return wrong != 0;
}
