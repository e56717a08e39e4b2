/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of the program's own that come while an allocation is booked, and do not just return:
 *   interrupted ends   end their thread, 100 times
 *   interrupted forks  make a child, which goes on where its parent was, 100 times
 * Then allocate_after allocates, and main says "done".
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMES 100
#define SIZE 1000
#define TURNS 100000

static volatile int is_allocating;
static volatile int handled;
static volatile int is_child;

static void set_mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(how, &set, NULL);
}

/* What the allocator keeps for the thread itself: no lock of its is held when a handler comes. */
static void *turn(size_t size)
{
    void *volatile p = malloc(size);
    free(p);
    return p;
}

__attribute__((noinline)) void *allocate_before(void *arg)
{
    set_mask(SIG_BLOCK);
    int before = handled;
    for (int i = 0; i < 100; i++) {
        (void)turn(SIZE);
    }
    set_mask(SIG_UNBLOCK);
    is_allocating = 1;
    while (handled == before) {
        for (int i = 0; i < 100; i++) {
            (void)turn(SIZE);
        }
    }
    for (int i = 0; i < 100; i++) {
        (void)turn(SIZE);
    }
    return arg;
}

__attribute__((noinline)) void allocate_after(void)
{
    for (int i = 0; i < TURNS; i++) {
        (void)turn(SIZE);
    }
}

/*
 * What is sampled from here on gets a block that was sampled before: a thread that is ended inside
 * the allocator, with a lock of its, would be the end of the program with or without us.
 */
static void fill_stash(void)
{
    static void *blocks[20000];
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        blocks[i] = malloc(SIZE);
    }
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        free(blocks[i]);
    }
}

static void end_thread(int signo)
{
    (void)signo;
    pthread_exit(NULL);
}

static void make_child(int signo)
{
    (void)signo;
    pid_t pid = fork();
    if (pid == 0) {
        is_child = 1;
    }
    handled++;
}

static int end_threads(void)
{
    for (int i = 0; i < TIMES; i++) {
        pthread_t t;
        is_allocating = 0;
        if (pthread_create(&t, NULL, allocate_before, NULL) != 0) {
            return 1;
        }
        while (!is_allocating) {
            usleep(100);
        }
        usleep(300 + 37 * (unsigned)i % 500);
        pthread_kill(t, SIGUSR1);
        pthread_join(t, NULL);
    }
    return 0;
}

static void *interrupt(void *arg)
{
    usleep(500);
    pthread_kill(*(pthread_t *)arg, SIGUSR1);
    return NULL;
}

static int make_children(void)
{
    pthread_t me = pthread_self();
    for (int i = 0; i < TIMES; i++) {
        pthread_t t;
        int status = -1;
        set_mask(SIG_BLOCK); /* until this thread waits for it */
        if (pthread_create(&t, NULL, interrupt, &me) != 0) {
            return 1;
        }
        (void)allocate_before(NULL);
        if (is_child) {
            for (int n = 0; n < 1000; n++) {
                (void)turn(SIZE);
            }
            _exit(7);
        }
        pthread_join(t, NULL);
        if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 7) {
            printf("a child ended with %x\n", (unsigned)status);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    fill_stash();
    int ends = argc > 1 && strcmp(argv[1], "ends") == 0;
    signal(SIGUSR1, ends ? end_thread : make_child);
    int result = ends ? end_threads() : make_children();
    allocate_after();
    puts("done");
    return result;
}
