/* SPDX-License-Identifier: Apache-2.0 */
/* Some system calls that the kernel answers valgrind takes for mistakes of the program. */
#ifndef OTP_BASE_VALGRIND_H
#define OTP_BASE_VALGRIND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Does the process run under valgrind? Its question after itself is made of instructions that do
 * nothing elsewhere. Source: valgrind(1), client requests. Context: hot.
 */
static inline bool otp_is_on_valgrind(void)
{
    uint64_t request[6] = {0x1001};
    uint64_t answer = 0;
    __asm__ volatile("rolq $3, %%rdi\n\t"
                     "rolq $13, %%rdi\n\t"
                     "rolq $61, %%rdi\n\t"
                     "rolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(answer)
                     : "a"(request)
                     : "cc", "memory");
    return answer != 0;
}

#endif
