/* SPDX-License-Identifier: Apache-2.0 */
/* Children by fork from a program of two threads; each ends in another way, and its status is
 * printed. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static int is_done;
static void *volatile kept;

__attribute__((noinline)) static void works(long ms)
{
    struct timespec ts;
    long end = -1;
    long now;
    int round = 0;
    do {
        /* So many blocks, however fast the machine is; the rest of the time is computing. */
        for (int i = 0; i < 50 && round < 20; i++) {
            void *p = malloc(2000 + (size_t)i);
            kept = p;
            memset(p, i, 2000);
            free(p);
        }
        for (int i = 0; i < 20000; i++) {
            __asm__ volatile("" ::: "memory");
        }
        round++;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        now = (long)(ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
        end = end < 0 ? now + ms : end;
    } while (now < end);
}

static void *beside(void *arg)
{
    while (__atomic_load_n(&is_done, __ATOMIC_ACQUIRE) == 0) {
        works(1);
        usleep(1000);
    }
    return arg;
}

static void child_ends(int how)
{
    char *const echo[] = {"echo", "said by a child", NULL};
    works(8);
    if (how == 0) {
        exit(10);
    } else if (how == 1) {
        _exit(11);
    } else if (how == 2) {
        raise(SIGTERM);
    } else if (how == 3) {
        execvp(echo[0], echo);
    }
    abort();
}

int main(void)
{
    pthread_t t;
    char *const spawned[] = {"sh", "-c", "exit 12", NULL};
    int status = -1;
    pid_t pid;
    int r = pthread_create(&t, NULL, beside, NULL);
    if (r != 0) {
        printf("no thread: %s\n", strerror(r));
    }
    works(10);
    for (int i = 0; i < 5; i++) {
        fflush(stdout);
        pid = fork();
        if (pid == 0) {
            child_ends(i);
        }
        if (pid < 0) {
            printf("no child: %s\n", strerror(errno));
        } else if (waitpid(pid, &status, 0) == pid) {
            printf("child %d: %#x\n", i, (unsigned)(status & 0xff7f));
        }
    }
    r = posix_spawnp(&pid, "sh", NULL, NULL, spawned, environ);
    if (r == 0 && waitpid(pid, &status, 0) == pid) {
        printf("spawned: %#x\n", (unsigned)status);
    } else {
        printf("not spawned: %s\n", strerror(r));
    }
    __atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
    if (t != 0) {
        pthread_join(t, NULL);
    }
    return 4;
}
