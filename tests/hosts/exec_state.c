/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that a new program finds mask, dispositions, pending signals and descriptors as its maker
 * left them. */
/* host: rows B43 B44 R3 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 OTELPROF_INTERVAL=20ms */
/* host: sees alloc_objects makes_noise */
/* host: runs plain|blocked|ignored|handler|thread */
#include "host.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>

static char *self;

HOST_NOINLINE static void makes_noise(void)
{
    for (int i = 0; i < 100; i++) {
        free(host_hide(malloc(1000)));
    }
    host_burn(20);
}

/* The signal of the new program's own ticks, one of which may be pending at any time: where SIGPROF
 * is not free it is the highest that is. */
static uint64_t own_tick(void)
{
    struct sigaction now;
    sigaction(SIGPROF, NULL, &now);
    return UINT64_C(1) << ((now.sa_handler == SIG_IGN ? SIGRTMAX - 2 : SIGPROF) - 1);
}

/* What a new program sees of itself. Of its descriptors only those that are not standard. */
static void tell(uint64_t without)
{
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, "SigPnd", 6) == 0) {
            printf("SigPnd %016llx\n", strtoull(line + 7, NULL, 16) & ~(unsigned long long)without);
        } else if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0 ||
                   strncmp(line, "ShdPnd", 6) == 0) {
            fputs(line, stdout);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    DIR *d = opendir("/proc/self/fd");
    int count = 0;
    while (d != NULL && readdir(d) != NULL) {
        count++;
    }
    printf("%d descriptors\n", count - 3);
}

/* New programs by spawn and by fork and exec. */
static void start_two(char *const *args)
{
    pid_t child;
    fflush(stdout);
    if (posix_spawn(&child, self, NULL, NULL, args, environ) == 0) {
        waitpid(child, NULL, 0);
    }
    if ((child = fork()) == 0) {
        makes_noise();
        execv(self, args);
        _exit(9);
    }
    waitpid(child, NULL, 0);
}

/* First with ticks of their own, then without, so that what is pending is their maker's. */
static void spawn_and_exec(void)
{
    char *look[] = {self, "look", NULL};
    char *args[] = {self, "tell", NULL};
    start_two(look);
    setenv("OTELPROF_CPU", "false", 1);
    start_two(args);
    makes_noise();
    execv(self, args);
}

static void on_signal(int signo)
{
    (void)signo;
    spawn_and_exec();
}

static void *from_thread(void *arg)
{
    spawn_and_exec();
    return arg;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "plain";
    self = argv[0];
    if (strcmp(how, "tell") == 0) {
        tell(0);
        return 0;
    }
    if (strcmp(how, "look") == 0) {
        makes_noise();
        tell(own_tick());
        return 0;
    }
    makes_noise();
    sigset_t all;
    sigfillset(&all);
    if (strcmp(how, "blocked") == 0) {
        sigprocmask(SIG_BLOCK, &all, NULL);
        makes_noise();
    } else if (strcmp(how, "ignored") == 0) {
        signal(SIGPROF, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
        signal(SIGRTMAX - 2, SIG_IGN);
        makes_noise();
    } else if (strcmp(how, "handler") == 0) {
        signal(SIGUSR1, on_signal);
        raise(SIGUSR1);
    } else if (strcmp(how, "thread") == 0) {
        pthread_t t;
        pthread_create(&t, NULL, from_thread, NULL);
        pthread_join(t, NULL);
    }
    spawn_and_exec();
    return 1;
}
