/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that a process which does nothing is left alone: nothing is written, no thread is made, no
 * file opened. */
/* host: rows B128 */
/* host: none */
/* host: set OTELPROF_HEAP_INTERVAL=1g OTELPROF_CPU=false */
/* host: runs sleeps|ends|waits */
#include "host.h"

#include <dirent.h>
#include <poll.h>

static int count(const char *path)
{
    DIR *d = opendir(path);
    int n = -2;
    while (d != NULL && readdir(d) != NULL) {
        n++;
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "ends";
    if (strcmp(how, "sleeps") == 0) {
        usleep(300000);
    } else if (strcmp(how, "waits") == 0) {
        poll(NULL, 0, 300);
    }
    printf("%d threads, %d descriptors\n", count("/proc/self/task"), count("/proc/self/fd"));
    return 3;
}
