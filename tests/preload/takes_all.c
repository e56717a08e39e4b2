/* SPDX-License-Identifier: Apache-2.0 */
/* Takes every signal that there is, burns CPU time and allocates. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;
void *volatile kept;

static void on_signal(int signo)
{
    (void)signo;
}

int main(void)
{
    for (int signo = 1; signo < NSIG; signo++) {
        (void)signal(signo, on_signal);
    }
    kept = malloc(3000000);
    for (clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;) {
        sink++;
    }
    puts("done");
    return 0;
}
