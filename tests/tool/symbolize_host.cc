/* SPDX-License-Identifier: Apache-2.0 */
/* Spends its time in functions that are inlined, some into each other. Arguments: rounds. */
#include <cstdio>
#include <cstdlib>
#include <string>

namespace work {

static volatile unsigned long sink;

static inline __attribute__((always_inline)) void step(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        sink = sink + i * i;
    }
}

struct box {
    __attribute__((always_inline)) inline void turn(unsigned long n)
    {
        step(n);
        text += static_cast<char>('a' + n % 26);
    }
    __attribute__((noinline)) void spin(unsigned long n);
    std::string text;
};

void box::spin(unsigned long n)
{
    turn(n);
    turn(2 * n);
}

} /* namespace work */

int main(int argc, char **argv)
{
    work::box b;
    unsigned long rounds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100;

    for (unsigned long i = 0; i < rounds; i++) {
        b.spin(20000 + i);
    }
    std::printf("%zu\n", b.text.size());
    return 0;
}
