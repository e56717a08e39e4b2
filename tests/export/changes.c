/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes WHAT MILLISECONDS [FOLDER]: burns CPU for half of that time, changes what the process may
 * or has, and burns for the other half. Prints "done" and exits with 3.
 *
 * root: FOLDER becomes the root; user: nobody from then on; descriptors: all but the first three
 * are closed, again and again; net: a network of its own, with nothing in it; fork: a child goes
 * on beside it
 */
#define _GNU_SOURCE
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534
#define STEP_MS 10

static volatile unsigned sink;

static long now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void step(int is_closing)
{
    long end = now_ms() + STEP_MS;
    while (now_ms() < end) {
        void *block = malloc(3000);
        for (unsigned i = 0; i < 20000; i++) {
            sink += i * i;
        }
        free(block);
        for (int fd = 3; is_closing && fd < 256; fd++) {
            close(fd);
        }
    }
}

/* In steps: time in which all of the process stands still is no more than one of them, so that the
 * profiler has as many as the program. */
static void burn(long ms, int is_closing)
{
    for (long steps = ms / STEP_MS; steps > 0; steps--) {
        step(is_closing);
    }
}

static int change(const char *what, const char *folder)
{
    if (strcmp(what, "root") == 0) {
        return chroot(folder) == 0 && chdir("/") == 0;
    }
    if (strcmp(what, "user") == 0) {
        return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
               setresuid(NOBODY, NOBODY, NOBODY) == 0;
    }
    if (strcmp(what, "net") == 0) {
        return unshare(CLONE_NEWNET) == 0;
    }
    return strcmp(what, "descriptors") == 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 2;
    }
    const char *what = argv[1];
    long half = atol(argv[2]) / 2;
    burn(half, 0);
    if (strcmp(what, "fork") == 0) {
        int status = 0;
        pid_t child = fork();
        burn(half, 0);
        if (child == 0) {
            exit(3);
        }
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 3) {
            return 1;
        }
    } else if (!change(what, argc > 3 ? argv[3] : "/")) {
        return 1;
    } else {
        burn(half, strcmp(what, "descriptors") == 0);
    }
    puts("done");
    return 3;
}
