/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy MILLISECONDS [BYTES]: burns CPU and allocates. Prints "done" and, to the file of
 * BUSY_REPORT, the longest time in microseconds that one round of about 100 us took and how long
 * the end took to come. Exits with 3.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUND 20000
#define KEPT 64

static volatile unsigned sink;

static long long now_us(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

static void burn(void)
{
    static void *kept[KEPT];
    static unsigned at;
    for (unsigned i = 0; i < ROUND; i++) {
        sink += i * i;
    }
    free(kept[at % KEPT]);
    kept[at % KEPT] = malloc(2000 + at % 100 * 50);
    if (kept[at % KEPT] != NULL) {
        memset(kept[at % KEPT], 1, 2000);
    }
    at++;
}

int main(int argc, char **argv)
{
    long long end = now_us(CLOCK_MONOTONIC) + (argc > 1 ? atoll(argv[1]) : 300) * 1000;
    long long worst = 0;
    long long last = now_us(CLOCK_THREAD_CPUTIME_ID);
    while (now_us(CLOCK_MONOTONIC) < end) {
        burn();
        long long now = now_us(CLOCK_THREAD_CPUTIME_ID);
        worst = now - last > worst ? now - last : worst;
        last = now;
    }
    if (getenv("BUSY_REPORT") != NULL) {
        FILE *f = fopen(getenv("BUSY_REPORT"), "w");
        if (f != NULL) {
            fprintf(f, "%lld\n", worst);
            fclose(f);
        }
    }
    puts("done");
    return 3;
}
