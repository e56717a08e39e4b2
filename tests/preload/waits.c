/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads that wait for each other at each step until standard input says "burn", then burn
 * until it says "end". */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../truth.h"

static int ends[2];
static volatile int must_burn;
static volatile int must_end;

__attribute__((noinline)) uint64_t wait_in_turns(int fd, int is_first)
{
    volatile uint64_t x = 1;
    char byte = 0;
    long long from = truth_clock();
    if (is_first && write(fd, &byte, 1) != 1) {
        return 0;
    }
    while (!must_burn && read(fd, &byte, 1) == 1) {
        for (int i = 0; i < 1000; i++) {
            x = x * 6364136223846793005U + 1;
        }
        if (write(fd, &byte, 1) != 1) {
            break;
        }
    }
    truth_tell("wait_in_turns", from);
    return x;
}

__attribute__((noinline)) uint64_t burn_alone(void)
{
    volatile uint64_t x = 1;
    long long from = truth_clock();
    while (!must_end) {
        x = x * 6364136223846793005U + 1;
    }
    truth_tell("burn_alone", from);
    return x;
}

static void *work(void *arg)
{
    int me = *(int *)arg;
    (void)wait_in_turns(ends[me], me);
    (void)burn_alone();
    return NULL;
}

static void await(const char *word)
{
    char line[16];
    if (fgets(line, sizeof(line), stdin) == NULL || strncmp(line, word, strlen(word)) != 0) {
        _exit(2);
    }
}

int main(void)
{
    static int numbers[2] = {0, 1};
    pthread_t threads[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        return 1;
    }
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    await("burn");
    must_burn = 1;
    await("end");
    must_end = 1;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    puts("ended");
    return 0;
}
