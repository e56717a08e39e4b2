/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread contexts that are broken on purpose. In each function burn_… the calling thread's slot
 * leads to another kind of nonsense; in the last ones another thread changes, and takes away, what
 * it leads to. Good spans have the same byte in all places of both ids: 11 with all the checks, 22
 * and 33 in the record that changes.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "sdk.c"

#define PAGE 4096

static volatile unsigned long sink;
static char *pages; /* two; the second cannot be read */

static void spin(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    double end = (double)t.tv_sec + (double)t.tv_nsec * 1e-9 + seconds;
    do {
        for (unsigned long i = 0; i < 5000; i++) {
            sink = sink + i;
        }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while ((double)t.tv_sec + (double)t.tv_nsec * 1e-9 < end);
}

static void make_block(void)
{
    void *volatile p = malloc(100);
    free(p);
}

#define BURN(name)                                                                                 \
    __attribute__((noinline)) void burn_##name(void *slot)                                         \
    {                                                                                              \
        *(void *volatile *)sdk_slot() = slot;                                                      \
        spin(0.1);                                                                                 \
        make_block();                                                                              \
        *(void *volatile *)sdk_slot() = NULL;                                                      \
    }

BURN(good)
BURN(attributes)
BURN(nowhere)
BURN(kernel)
BURN(strange)
BURN(odd)
BURN(unmapped)
BURN(cut)
BURN(not_valid)
BURN(other_valid)
BURN(half)
BURN(no_trace)
BURN(far_attributes)
BURN(many_attributes)
BURN(long_entry)
BURN(unknown_keys)

static struct sdk_record *at(char *place, unsigned char number)
{
    struct sdk_record *r = (void *)place;
    memset(r, 0, 28);
    memset(r->trace_id, number, 16);
    memset(r->span_id, number, 8);
    r->valid = 1;
    return r;
}

static void broken(void)
{
    struct sdk_record *r = at(pages, 0x11);
    burn_good(r);
    static const uint8_t two[] = {0, 1, 'x', 0, 3, 'n', 'e', 'w', 1, 0, 1};
    memcpy(r->attrs, two, sizeof(two));
    r->attr_bytes = sizeof(two); /* the last entry is cut: key without length */
    burn_attributes(r);
    burn_nowhere((void *)8);
    burn_kernel((void *)0xffff800000001000);
    burn_strange((void *)0x8000000000000001);
    burn_unmapped(pages + PAGE + 64);
    at(pages + 1, 0x44);
    burn_odd(pages + 1);
    memcpy(pages + PAGE - 26, at(pages, 0x44), 26); /* the size is on the page that is not there */
    burn_cut(pages + PAGE - 26);
    at(pages, 0x44)->valid = 0;
    burn_not_valid(pages);
    at(pages, 0x44)->valid = 2;
    burn_other_valid(pages);
    memset(at(pages, 0x44)->span_id, 0, 8);
    burn_half(pages);
    memset(at(pages, 0x44)->trace_id, 0, 16);
    burn_no_trace(pages);
    r = at(pages + PAGE - 32, 0x11);
    r->attr_bytes = 200; /* behind the end of the page */
    burn_far_attributes(r);
    r = at(pages, 0x11);
    r->attr_bytes = UINT16_MAX;
    for (size_t i = 0; i < 1500; i++) {
        uint8_t entry[2] = {0, 0};
        memcpy(r->attrs + i * 2, entry, 2);
    }
    burn_many_attributes(r);
    r = at(pages, 0x11);
    static const uint8_t past[] = {0, 200, 'y'};
    memcpy(r->attrs, past, sizeof(past));
    r->attr_bytes = sizeof(past);
    burn_long_entry(r);
    r = at(pages, 0x11);
    static const uint8_t unknown[] = {77, 1, 'z', 255, 1, 'z'};
    memcpy(r->attrs, unknown, sizeof(unknown));
    r->attr_bytes = sizeof(unknown);
    burn_unknown_keys(r);
}

static volatile int is_over;
static char *moving;

/* Changes a record that is another thread's, against the rules, and unmaps it now and then. */
static void *change(void *arg)
{
    (void)arg;
    for (unsigned n = 0; !is_over; n++) {
        struct sdk_record *r = (void *)moving;
        __atomic_store_n(&r->valid, 0, __ATOMIC_SEQ_CST);
        unsigned char number = n % 2 == 0 ? 0x22 : 0x33;
        memset(r->trace_id, number, 16);
        memset(r->span_id, number, 8);
        r->attr_bytes = (uint16_t)(n % 3000);
        __atomic_store_n(&r->valid, 1, __ATOMIC_SEQ_CST);
        for (int i = 0; i < 200; i++) {
            __asm__ volatile("pause");
        }
        if (n % 64 == 0) {
            munmap(moving, PAGE);
            for (int i = 0; i < 2000; i++) {
                __asm__ volatile("pause");
            }
            if (mmap(moving, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                     -1, 0) == MAP_FAILED) {
                abort();
            }
        }
    }
    return NULL;
}

__attribute__((noinline)) void burn_changing(void)
{
    *sdk_slot() = (void *)moving;
    for (int i = 0; i < 300; i++) {
        spin(0.01);
        make_block();
    }
    *sdk_slot() = NULL;
}

int main(int argc, char **argv)
{
    bool is_calm = argc > 1 && strcmp(argv[1], "calm") == 0;
    static const char *const names[] = {"first", "second"};
    pthread_t t;
    sdk_publish("tls_v1", names, 2);
    pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    moving = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || moving == MAP_FAILED || munmap(pages + PAGE, PAGE) != 0) {
        return 2;
    }
    broken();
    if (!is_calm) {
        pthread_create(&t, NULL, change, NULL);
        burn_changing();
        is_over = 1;
        pthread_join(t, NULL);
    }
    sdk_publish("nodejs_v1_dev", names, 2);
    printf("done\n");
    return 0;
}
