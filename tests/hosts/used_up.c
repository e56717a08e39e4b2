/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a program which takes all the address space that its limit leaves, before or after it
 * has worked for a while, works on as it does without us, and ends so. Nothing is left for a
 * profile; what is said of that is looked at in more_scarcity.sh.
 */
/* host: set OTELPROF_LOG=none */
/* host: runs early|late */
/* host: none */
#include "host.h"

#include <sys/mman.h>
#include <sys/resource.h>

static void take_all(void)
{
    struct rlimit r = {.rlim_cur = (rlim_t)100 << 20, .rlim_max = (rlim_t)100 << 20};
    host_check(setrlimit(RLIMIT_AS, &r) == 0, "a limit is set");
    for (size_t size = (size_t)1 << 20; size >= 4096; size /= 2) {
        while (mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
        }
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "late") == 0) {
        host_burn(300);
    }
    take_all();
    host_burn(300);
    return host_end("there is no address space left");
}
