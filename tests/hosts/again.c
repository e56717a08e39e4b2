/* SPDX-License-Identifier: Apache-2.0 */
/*
 * again [N]: proves that what a program owes when it becomes another is told: N times it uses 3 ms
 * of CPU time and becomes itself.
 */
/* host: set OTELPROF_CPU_HZ=1000 OTELPROF_CPU_ENGINE=timer OTELPROF_HEAP=false */
/* host: many 38 cpu again */
#include "host.h"

HOST_NOINLINE static void again(char **argv, int left)
{
    char text[16];
    char *args[] = {argv[0], text, NULL};
    host_burn(3);
    snprintf(text, sizeof(text), "%d", left - 1);
    execv("/proc/self/exe", args);
    host_check(0, "it becomes itself");
}

int main(int argc, char **argv)
{
    int left = argc > 1 ? atoi(argv[1]) : 40;
    if (left > 0) {
        again(argv, left);
    }
    return host_end("forty programs");
}
