/* SPDX-License-Identifier: Apache-2.0 */
/* A library that throws. */
#include <stdexcept>

extern "C" __attribute__((noinline)) void throw_from(int depth)
{
    if (depth == 0) {
        throw std::runtime_error("deep");
    }
    throw_from(depth - 1);
    __asm__ volatile("" ::: "memory");
}
