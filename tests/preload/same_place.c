/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that lie where sampled ones do: freed by the thread that has just freed another block of
 * that address, allocated by the same thread or by another one; and sampled blocks that are
 * reallocated. Says how many of those were found, how many are at the start of a page afterwards,
 * and how many have lost their contents.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096U
#define TURNS 10000
#define BYTES 60000
#define SMALL 1000
#define SMALL_TURNS 100000

static void *volatile block;
static pthread_barrier_t turn;

__attribute__((noinline)) void allocate_here(void)
{
    block = aligned_alloc(PAGE, BYTES);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void allocate_there(void)
{
    block = aligned_alloc(PAGE, BYTES);
    __asm__ volatile("" ::: "memory");
}

static void *other(void *arg)
{
    for (int i = 0; i < TURNS; i++) {
        pthread_barrier_wait(&turn);
        allocate_there();
        pthread_barrier_wait(&turn);
    }
    return arg;
}

static int is_whole(const unsigned char *p, unsigned char byte, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (p[i] != byte) {
            return 0;
        }
    }
    return 1;
}

static void reallocate(void)
{
    static const size_t sizes[] = {40, 999, 1000, 1001, 5000, 200000};
    int found = 0;
    int stayed = 0;
    int lost = 0;
    for (int i = 0; i < SMALL_TURNS; i++) {
        unsigned char *p = malloc(SMALL);
        if ((uintptr_t)p % PAGE == 0) {
            size_t size = sizes[found % 6];
            memset(p, found, SMALL);
            unsigned char *q = realloc(p, size);
            lost += !is_whole(q, (unsigned char)found, size < SMALL ? size : SMALL);
            stayed += size < SMALL && (uintptr_t)q % PAGE == 0;
            found++;
            p = q;
        }
        free(p);
    }
    fprintf(stderr, "%d %d %d\n", found, stayed, lost);
}

int main(void)
{
    pthread_t t;
    (void)mallopt(M_ARENA_MAX, 1);
    for (int i = 0; i < TURNS; i++) {
        allocate_here();
        free(block);
    }
    pthread_barrier_init(&turn, NULL, 2);
    pthread_create(&t, NULL, other, NULL);
    for (int i = 0; i < TURNS; i++) {
        pthread_barrier_wait(&turn);
        pthread_barrier_wait(&turn);
        free(block);
    }
    pthread_join(t, NULL);
    reallocate();
    puts("done");
    return 0;
}
