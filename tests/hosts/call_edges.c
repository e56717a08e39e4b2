/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that stacks show the calls that the program made and no others: unique callers, tiny
 * functions, a call that never returns as a function's last instruction.
 */
/* host: rows B97 B98 B103 B104 */
/* host: flags -fno-optimize-sibling-calls */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=2000 */
/* host: sees cpu caller_of_noreturn */
/* host: sees cpu caller_a */
/* host: sees cpu caller_b */
/* host: edges tiny=caller_a,caller_b last_call=caller_of_noreturn */
/* host: edges burn_a=middle_a middle_a=caller_a burn_b=middle_b */
#include "host.h"

#include <setjmp.h>

static jmp_buf back;
static volatile int counter;

HOST_NOINLINE static int tiny(int x)
{
    return x + 1;
}

HOST_NOINLINE static void burn_a(void)
{
    for (int i = 0; i < 300000; i++) {
        counter = i;
    }
}

HOST_NOINLINE static void burn_b(void)
{
    for (int i = 0; i < 300000; i++) {
        counter = -i;
    }
}

HOST_NOINLINE static void middle_a(void)
{
    burn_a();
    counter = 1;
}

HOST_NOINLINE static void middle_b(void)
{
    burn_b();
    counter = 2;
}

HOST_NOINLINE static void caller_a(void)
{
    middle_a();
    for (int i = 0; i < 200000; i++) {
        counter = tiny(i);
    }
}

HOST_NOINLINE static void caller_b(void)
{
    middle_b();
    for (int i = 0; i < 200000; i++) {
        counter = tiny(-i);
    }
}

HOST_NOINLINE __attribute__((noreturn)) static void last_call(void)
{
    for (int i = 0; i < 300000; i++) {
        counter = i;
    }
    longjmp(back, 1);
}

/* Its last instruction is the call: what follows belongs to the next function. */
HOST_NOINLINE static void caller_of_noreturn(void)
{
    counter = 3;
    last_call();
}

HOST_NOINLINE static void next_function(void)
{
    counter = 4;
}

int main(void)
{
    for (volatile int i = 0; i < 1500; i = i + 1) {
        caller_a();
        caller_b();
        if (setjmp(back) == 0) {
            caller_of_noreturn();
        }
        next_function();
    }
    return host_end("calls");
}
