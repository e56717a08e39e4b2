/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Under a limit of its address space the program takes all that is left of it, before or after it
 * has worked for a while (argument: early, late), and works on: nothing is left for a profile.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static void work(double seconds)
{
    struct timespec now;
    double end = 0;
    do {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        double used = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
        end = end == 0 ? used + seconds : end;
        if (used >= end) {
            return;
        }
    } while (1);
}

static void take_all(void)
{
    for (size_t size = (size_t)1 << 20; size >= 4096; size /= 2) {
        while (mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
        }
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "late") == 0) {
        work(0.3);
    }
    take_all();
    work(0.3);
    puts("done");
    return 0;
}
