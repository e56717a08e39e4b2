/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does what it reads, a line at a time, and says what came of it, one line each:
 *
 *   burn SITE MS        uses MS ms of CPU time in function site_SITE (a, b or c); the ns it took
 *   alloc SITE N SIZE   N blocks of SIZE bytes in function alloc_SITE, freed at once; N * SIZE
 *   threads N           N threads that use CPU time, each a block now and then, until join
 *   join                ends them; the ns of CPU time of all of them
 *   start stop flush    by otelprof.h; what that returned
 *   toggles N           start and stop in turn N times; how often both came true
 *   catch SIGNAL        a handler of its own; caught tells how often it ran
 *   small-stack         a thread with the smallest alternate stack, which uses CPU time until join
 *   fork, exec, chroot DIR, user ID, pid, tasks, timers
 */
#define _GNU_SOURCE
#include "core/api/otelprof.h"

#include <dirent.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64

static volatile int is_over;
static volatile uint64_t sink;
static volatile sig_atomic_t caught;
static pthread_t threads[THREADS_MAX];
static int thread_count;
static uint64_t used_ns[THREADS_MAX];

static uint64_t thread_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static inline __attribute__((always_inline)) uint64_t burn(uint64_t ms)
{
    uint64_t from = thread_ns();
    uint64_t now = from;
    while (now < from + ms * 1000000U) {
        for (int i = 0; i < 50000; i++) {
            sink = sink + (uint64_t)i;
        }
        now = thread_ns();
    }
    return now - from;
}

#define SITE(name)                                                                                 \
    __attribute__((noinline)) uint64_t site_##name(uint64_t ms);                                   \
    uint64_t site_##name(uint64_t ms)                                                              \
    {                                                                                              \
        uint64_t took = burn(ms);                                                                  \
        __asm__ volatile("");                                                                      \
        return took;                                                                               \
    }                                                                                              \
    __attribute__((noinline)) void alloc_##name(long n, size_t size);                              \
    void alloc_##name(long n, size_t size)                                                         \
    {                                                                                              \
        for (long i = 0; i < n; i++) {                                                             \
            char *volatile p = malloc(size);                                                       \
            if (p == NULL) {                                                                       \
                abort();                                                                           \
            }                                                                                      \
            free(p);                                                                               \
        }                                                                                          \
    }
SITE(a)
SITE(b)
SITE(c)

static void *busy(void *arg)
{
    uint64_t from = thread_ns();
    while (!is_over) {
        burn(1);
        free(malloc(1000));
    }
    *(uint64_t *)arg = thread_ns() - from;
    return NULL;
}

static void *busy_on_small_stack(void *arg)
{
    stack_t s = {.ss_sp = malloc(2048), .ss_size = 2048};
    if (sigaltstack(&s, NULL) != 0) {
        abort();
    }
    return busy(arg);
}

static void begin_thread(void *(*fn)(void *arg))
{
    if (thread_count == THREADS_MAX ||
        pthread_create(&threads[thread_count], NULL, fn, &used_ns[thread_count]) != 0) {
        abort();
    }
    thread_count++;
}

static uint64_t join(void)
{
    uint64_t sum = 0;
    is_over = 1;
    for (int i = 0; i < thread_count; i++) {
        pthread_join(threads[i], NULL);
        sum += used_ns[i];
    }
    thread_count = 0;
    is_over = 0;
    return sum;
}

static void on_signal(int signo)
{
    (void)signo;
    caught++;
}

/* Entries of a folder, or lines of a file, that are not empty. */
static int count(const char *path)
{
    DIR *d = opendir(path);
    int n = -2; /* . and .. */
    if (d != NULL) {
        while (readdir(d) != NULL) {
            n++;
        }
        closedir(d);
        return n;
    }
    FILE *f = fopen(path, "r");
    char line[200];
    for (n = 0; f != NULL && fgets(line, sizeof(line), f) != NULL;) {
        n += strncmp(line, "ID: ", 4) == 0;
    }
    if (f != NULL) {
        fclose(f);
    }
    return n;
}

static void say(const char *word, uint64_t n)
{
    printf("%s %llu\n", word, (unsigned long long)n);
    fflush(stdout);
}

static void toggle(long times)
{
    uint64_t good = 0;
    for (long i = 0; i < times; i++) {
        int began = otelprof_start();
        int ended = otelprof_stop();
        good += began == 1 && ended == 1;
    }
    say("toggles", good);
}

/* A command; word[0] is its name. */
typedef void (*command_fn)(char **word);

static void do_burn(char **word)
{
    uint64_t ms = (uint64_t)atol(word[2]);
    char site = word[1][0];
    say("burn", site == 'a' ? site_a(ms) : site == 'b' ? site_b(ms) : site_c(ms));
}

static void do_alloc(char **word)
{
    long n = atol(word[2]);
    size_t size = (size_t)atol(word[3]);
    char site = word[1][0];
    (site == 'a' ? alloc_a : site == 'b' ? alloc_b : alloc_c)(n, size);
    say("alloc", (uint64_t)n * size);
}

static void do_threads(char **word)
{
    for (long i = atol(word[1]); i > 0; i--) {
        begin_thread(busy);
    }
    say("threads", (uint64_t)thread_count);
}

static void do_small_stack(char **word)
{
    (void)word;
    begin_thread(busy_on_small_stack);
    say("small-stack", 1);
}

static void do_join(char **word)
{
    (void)word;
    say("join", join());
}

static void do_start(char **word)
{
    (void)word;
    say("start", (uint64_t)otelprof_start());
}

static void do_stop(char **word)
{
    (void)word;
    say("stop", (uint64_t)otelprof_stop());
}

static void do_flush(char **word)
{
    (void)word;
    say("flush", (uint64_t)otelprof_flush());
}

static void do_toggles(char **word)
{
    toggle(atol(word[1]));
}

static void do_catch(char **word)
{
    signal(atoi(word[1]), on_signal);
    say("catch", 1);
}

static void do_caught(char **word)
{
    (void)word;
    say("caught", (uint64_t)caught);
}

static void do_chroot(char **word)
{
    say("chroot", chroot(word[1]) == 0 && chdir("/") == 0);
}

static void do_user(char **word)
{
    gid_t none = 0;
    unsigned id = (unsigned)atoi(word[1]);
    say("user", setgroups(0, &none) == 0 && setgid(id) == 0 && setuid(id) == 0);
}

static void do_pid(char **word)
{
    (void)word;
    say("pid", (uint64_t)getpid());
}

static void do_tasks(char **word)
{
    (void)word;
    say("tasks", (uint64_t)count("/proc/self/task"));
}

static void do_timers(char **word)
{
    (void)word;
    say("timers", (uint64_t)count("/proc/self/timers"));
}

static void do_exec(char **word)
{
    (void)word;
    execl("/proc/self/exe", "actor", (char *)NULL);
}

/* The child reads on from here; the parent waits for it. */
static void do_fork(char **word)
{
    (void)word;
    pid_t child = fork();
    if (child > 0) {
        int status = 0;
        waitpid(child, &status, 0);
        exit(WEXITSTATUS(status));
    }
    say("fork", (uint64_t)getpid());
}

static const struct {
    const char *name;
    int arguments;
    command_fn fn;
} commands[] = {
    {"burn", 2, do_burn},   {"alloc", 3, do_alloc},   {"threads", 1, do_threads},
    {"join", 0, do_join},   {"start", 0, do_start},   {"stop", 0, do_stop},
    {"flush", 0, do_flush}, {"tasks", 0, do_tasks},   {"toggles", 1, do_toggles},
    {"catch", 1, do_catch}, {"caught", 0, do_caught}, {"chroot", 1, do_chroot},
    {"user", 1, do_user},   {"pid", 0, do_pid},       {"timers", 0, do_timers},
    {"exec", 0, do_exec},   {"fork", 0, do_fork},     {"small-stack", 0, do_small_stack},
};

static void work(char **word, int count_of_words)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i].name, word[0]) == 0 && commands[i].arguments == count_of_words - 1) {
            commands[i].fn(word);
            return;
        }
    }
    printf("what is %s?\n", word[0]);
    exit(2);
}

int main(void)
{
    char line[256];
    setvbuf(stdin, NULL, _IONBF, 0); /* what was read ahead would be lost at exec */
    while (fgets(line, sizeof(line), stdin) != NULL) {
        char *word[5] = {NULL};
        char *save = NULL;
        int n = 0;
        for (char *w = strtok_r(line, " \n", &save); w != NULL && n < 5;
             w = strtok_r(NULL, " \n", &save)) {
            word[n++] = w;
        }
        if (n > 0) {
            work(word, n);
        }
    }
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    say("cpu", ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * 1000000000U +
                   ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000U);
    return 0;
}
