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
#include <sys/wait.h>

static char *self;

HOST_NOINLINE static void makes_noise(void)
{
    for (int i = 0; i < 100; i++) {
        free(host_hide(malloc(1000)));
    }
    host_burn(20);
}

/* What a new program sees of itself. Of its descriptors only those that are not standard. */
static void tell(void)
{
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0 ||
            strncmp(line, "SigPnd", 6) == 0 || strncmp(line, "ShdPnd", 6) == 0) {
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

static void spawn_and_exec(void)
{
    char *args[] = {self, "tell", NULL};
    pid_t child;
    setenv("OTELPROF_CPU", "false", 1); /* the new one's own ticks would be pending, too */
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
        tell();
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
