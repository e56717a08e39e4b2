/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that children of a busy parent find no lock taken, whatever they do between fork and their
 * end. */
/* host: rows B34 B37 B38 B39 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 OTELPROF_INTERVAL=10ms */
/* host: sees alloc_objects parent_side */
/* host: sees alloc_objects child_side */
/* host: runs exit|_exit|exec|raise */
#include "host.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#define FORKERS 4
#define FORKS 5

static const char *how;
static int is_done;
static int handled[3];
static char *self;

static void handle(int which)
{
    handled[which]++;
    free(host_hide(malloc(50)));
}

static void handle_prepare(void)
{
    handle(0);
}

static void handle_parent(void)
{
    handle(1);
}

static void handle_child(void)
{
    handle(2);
}

__attribute__((constructor)) static void early_atfork(void)
{
    pthread_atfork(handle_prepare, handle_parent, handle_child);
}

HOST_NOINLINE static void *parent_side(void *arg)
{
    while (__atomic_load_n(&is_done, __ATOMIC_ACQUIRE) == 0) {
        free(host_hide(malloc(500)));
        free(host_hide(calloc(3, 5000)));
    }
    return arg;
}

HOST_NOINLINE static int child_side(void)
{
    int names = 0;
    DIR *d = opendir("/");
    struct dirent *e;
    while (d != NULL && (e = readdir(d)) != NULL) {
        char *copy = strdup(e->d_name);
        names += copy != NULL;
        free(host_hide(copy));
    }
    if (d != NULL) {
        closedir(d);
    }
    pthread_t t;
    if (pthread_create(&t, NULL, parent_side, NULL) != 0 || handled[2] < 2) {
        return 1;
    }
    host_burn(2);
    return names > 3 ? 0 : 1;
}

static void child_end(int bad)
{
    if (strcmp(how, "exit") == 0) {
        exit(bad);
    } else if (strcmp(how, "exec") == 0 && bad == 0) {
        execl(self, self, "nothing", (char *)NULL);
    } else if (strcmp(how, "raise") == 0 && bad == 0) {
        raise(SIGTERM);
    }
    _exit(bad);
}

static void *forker(void *arg)
{
    int good = 0;
    for (int i = 0; i < FORKS; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            child_end(child_side());
        }
        waitpid(child, &status, 0);
        good += strcmp(how, "raise") == 0 ? WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM
                                          : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return good == FORKS ? arg : NULL;
}

int main(int argc, char **argv)
{
    pthread_t burner[2];
    pthread_t t[FORKERS];
    int good = 0;
    how = argc > 1 ? argv[1] : "exit";
    self = argv[0];
    if (strcmp(how, "nothing") == 0) {
        return 0;
    }
    pthread_atfork(handle_prepare, handle_parent, handle_child);
    for (int i = 0; i < 2; i++) {
        pthread_create(&burner[i], NULL, parent_side, NULL);
    }
    for (int i = 0; i < FORKERS; i++) {
        pthread_create(&t[i], NULL, forker, &good);
    }
    for (int i = 0; i < FORKERS; i++) {
        void *result = NULL;
        pthread_join(t[i], &result);
        good += result == &good;
    }
    __atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) {
        pthread_join(burner[i], NULL);
    }
    host_check(good == FORKERS, "every child did its work and ended as it wanted");
    return host_end("20 children from 4 threads, next to 2 that allocate");
}
