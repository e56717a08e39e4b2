/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that a process which dies by a signal dies by that signal, at once, and keeps what it can
 * of its profile. */
/* host: rows B67 R6 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 OTELPROF_INTERVAL=20ms */
/* host: sees alloc_objects lives */
/* host: runs SEGV|BUS|ILL|FPE|TERM|INT|HUP|PIPE|KILL|ABRT|write|stack|thread-SEGV|thread-TERM */
/* host: runs ALRM|USR1|USR2 */
#include "host.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

HOST_NOINLINE static void lives(void)
{
    for (int i = 0; i < 100; i++) {
        free(host_hide(malloc(1000)));
    }
    host_burn(20);
}

static int (*volatile again)(int n);

HOST_NOINLINE static int without_end(int n)
{
    volatile char room[4096];
    room[n % 4096] = 1;
    return again(n + 1) + room[n % 4096];
}

static void die(const char *how)
{
    static const struct {
        const char *name;
        int signo;
    } by_name[] = {{"TERM", SIGTERM}, {"INT", SIGINT},   {"HUP", SIGHUP},   {"PIPE", SIGPIPE},
                   {"ALRM", SIGALRM}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"KILL", SIGKILL},
                   {"ABRT", SIGABRT}, {"ILL", SIGILL},   {"FPE", SIGFPE},   {"BUS", SIGBUS}};
    for (size_t i = 0; i < HOST_LEN(by_name); i++) {
        if (strcmp(how, by_name[i].name) == 0) {
            kill(getpid(), by_name[i].signo);
        }
    }
    if (strcmp(how, "SEGV") == 0) {
        *(volatile int *)host_hide((void *)16) = 1;
    } else if (strcmp(how, "write") == 0) {
        int ends[2];
        if (pipe(ends) == 0) {
            close(ends[0]);
            host_sink += (unsigned long)write(ends[1], "x", 1);
        }
    } else if (strcmp(how, "stack") == 0) {
        again = without_end;
        host_sink += (unsigned long)without_end(0);
    }
    pause();
}

static void *die_here(void *arg)
{
    die(arg);
    return NULL;
}

/* A profile that a flush in between has left, so that there is one even after SIGKILL. */
static void wait_for_profile(void)
{
    const char *output = getenv("OTELPROF_OUTPUT");
    char folder[4096];
    if (output == NULL) {
        return;
    }
    snprintf(folder, sizeof(folder), "%s", output + strlen("file:"));
    *strrchr(folder, '/') = '\0';
    for (int tries = 0, found = 0; tries < 500 && !found; tries++) {
        lives();
        DIR *d = opendir(folder);
        struct dirent *e;
        while (d != NULL && (e = readdir(d)) != NULL) {
            found = found || e->d_name[0] != '.';
        }
        if (d != NULL) {
            closedir(d);
        }
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "SEGV";
    struct rlimit none = {0};
    setrlimit(RLIMIT_CORE, &none);
    lives();
    wait_for_profile();
    host_end("the end");
    fflush(stdout);
    if (strncmp(how, "thread-", 7) == 0) {
        pthread_t t;
        static char name[20];
        snprintf(name, sizeof(name), "%s", how + 7);
        pthread_create(&t, NULL, die_here, name);
        pthread_join(t, NULL);
    }
    die(how);
    return 0;
}
