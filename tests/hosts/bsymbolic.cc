/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that a program linked -Bsymbolic with its own copy of the C++ library has a heap profile.
 */
/* host: rows B110 B81 */
/* host: flags -Wl,-Bsymbolic -static-libstdc++ -static-libgcc */
/* host: set OTELPROF_HEAP_INTERVAL=1 */
/* host: sees alloc_objects make_one(int) */
/* host: sees alloc_objects make_forms */
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "host.h"

extern "C" void *__libc_memalign(size_t alignment, size_t size);

struct alignas(256) wide {
    char data[512];
};

static HOST_NOINLINE std::string *make_one(int i)
{
    return new std::string(200, static_cast<char>('a' + i % 20));
}

extern "C" HOST_NOINLINE void make_forms()
{
    char *a = new (std::nothrow) char[1000];
    wide *b = new wide();
    int *c = static_cast<int *>(::operator new(64, std::align_val_t(128)));
    host_check((reinterpret_cast<uintptr_t>(b) & 255) == 0, "aligned new is aligned");
    host_check((reinterpret_cast<uintptr_t>(c) & 127) == 0, "explicitly aligned new is aligned");
    delete[] a;
    delete b;
    ::operator delete(c, std::align_val_t(128));
    ::operator delete(::operator new(100), static_cast<size_t>(100));
    void *p = __libc_memalign(64, 100);
    free(host_hide(p));
    host_check(::operator new(SIZE_MAX / 2 - 1, std::nothrow) == nullptr, "too much is refused");
}

int main()
{
    bool is_thrown = false;
    for (int i = 0; i < 100; i++) {
        std::unique_ptr<std::string> s(make_one(i));
        host_check(s->size() == 200, "the string is whole");
        make_forms();
    }
    try {
        host_hide(::operator new(SIZE_MAX / 2 - 1));
    } catch (const std::bad_alloc &) {
        is_thrown = true;
    }
    host_check(is_thrown, "bad_alloc is thrown");
    return host_end("all forms of new and delete");
}
