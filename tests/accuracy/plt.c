/* SPDX-License-Identifier: Apache-2.0 */
/* A library of one small function, so that calls of it go through a procedure linkage table. */
long plt_callee(long x);

long plt_callee(long x)
{
    for (int i = 0; i < 4; i++) {
        __asm__ volatile("" : "+r"(x));
    }
    return x ^ 5;
}
