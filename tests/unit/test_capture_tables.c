/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that host threads share without locks: the stash of freed blocks, thread records, objects,
 * contexts, scratch stacks. What one thread has written must be seen by the next owner (the thread
 * sanitizer, MODE=tsan, looks at that), and nothing has two owners. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/hotmem.h"
#include "core/capture/capture.h"
#include "core/capture/context.h"
#include "core/capture/object.h"
#include "core/capture/scratch.h"
#include "core/capture/stash.h"
#include "core/capture/thread.h"
#include "tests/unit/run.h"

#define THREADS 8
#define ROUNDS 20000
#define OBJECTS 40U
#define NAMES 30U

static uint32_t wrong;

static void check_that(bool is_good)
{
    if (!is_good) {
        (void)otp_add_relaxed(&wrong, 1);
    }
}

static void run_many(void *(*fn)(void *arg))
{
    pthread_t t[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&t[i], NULL, fn, (void *)(uintptr_t)(i + 1)), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(t[i], NULL), 0);
    }
    ck_assert_uint_eq(wrong, 0);
}

/* Each owner leaves its mark twice; another's mark in between would show. */
static void own(size_t *mark, size_t me)
{
    *mark = me;
    __asm__ volatile("" : : : "memory");
    check_that(*mark == me);
}

static void *use_stash(void *arg)
{
    size_t me = (size_t)(uintptr_t)arg;
    size_t *block = NULL;
    for (size_t n = 0; n < ROUNDS; n++) {
        size_t size = 1 + (n * 7919 + me * 131) % 12000;
        size_t bytes = otp_stash_size(size);
        block = otp_stash_take(size);
        block = block != NULL ? block : aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
        own(block, me);
        free(otp_stash_put(block, bytes));
    }
    return NULL;
}

START_TEST(test_a_stashed_block_has_one_owner)
{
    run_many(use_stash);
    unsigned kept = 0;
    for (size_t size = 1; size <= 12288; size += 1024) {
        void *p;
        while ((p = otp_stash_take(size)) != NULL) {
            free(p);
            kept++;
        }
    }
    ck_assert_uint_gt(kept, 0);
}
END_TEST

static void *use_records(void *arg)
{
    size_t me = (size_t)(uintptr_t)arg;
    struct otp_thread *t[5];
    for (size_t n = 0; n < ROUNDS / 10; n++) {
        size_t count = 1 + (n + me) % 5;
        for (size_t i = 0; i < count; i++) {
            t[i] = otp_thread_claim();
            check_that(t[i] != NULL && otp_thread_get(t[i]->number) == t[i]);
            own(&t[i]->start_stack_bytes, me);
        }
        for (size_t i = 0; i < count; i++) {
            own(&t[i]->start_stack_bytes, me);
            otp_thread_unclaim(t[i]);
        }
    }
    return NULL;
}

START_TEST(test_a_thread_record_has_one_owner)
{
    otp_hotmem_set_limit((size_t)64 << 20);
    run_many(use_records);
    /* As many records as were in use at once need no more room than that. */
    ck_assert_ptr_null(otp_thread_get(128));
}
END_TEST

static struct otp_object make_object(uint32_t n)
{
    struct otp_object o;
    memset(&o, 0, sizeof(o));
    o.start = 0x10000 + (uintptr_t)n * 0x1000;
    o.end = o.start + 0x1000;
    o.bias = o.start;
    o.name_len = (uint16_t)snprintf(o.name, sizeof(o.name), "object %u", n);
    return o;
}

static void *use_objects(void *arg)
{
    size_t me = (size_t)(uintptr_t)arg;
    for (uint32_t n = 0; n < ROUNDS; n++) {
        struct otp_object o = make_object((n + (uint32_t)me * 5) % OBJECTS);
        const struct otp_object *seen = otp_object_get(otp_object_number(&o));
        check_that(seen != NULL && seen->start == o.start && seen->name_len == o.name_len &&
                   memcmp(seen->name, o.name, o.name_len) == 0);
    }
    return NULL;
}

START_TEST(test_an_object_is_whole_when_its_number_is_known)
{
    otp_hotmem_set_limit((size_t)64 << 20);
    run_many(use_objects);
}
END_TEST

static void *use_contexts(void *arg)
{
    size_t me = (size_t)(uintptr_t)arg;
    for (uint32_t n = 0; n < ROUNDS; n++) {
        char name[OTP_THREAD_NAME_MAX] = {0};
        snprintf(name, sizeof(name), "name %u", (n + (uint32_t)me) % NAMES);
        const struct otp_context *c = otp_context_get(otp_context_number(name, (int32_t)me));
        check_that(c != NULL && strcmp(c->thread_name, name) == 0);
    }
    return NULL;
}

START_TEST(test_a_context_is_whole_when_its_number_is_known)
{
    otp_hotmem_set_limit((size_t)64 << 20);
    otp_settings.has_thread_name = true;
    run_many(use_contexts);
}
END_TEST

static void *use_scratch(void *arg)
{
    size_t me = (size_t)(uintptr_t)arg;
    unsigned none = 0;
    for (uint32_t n = 0; n < ROUNDS; n++) {
        uint32_t taken = otp_scratch_claim();
        if (taken == 0) {
            none++;
            continue;
        }
        own(otp_scratch_base(taken), me);
        otp_scratch_release(taken);
    }
    check_that(none == 0);
    return NULL;
}

START_TEST(test_a_scratch_stack_has_one_owner)
{
    otp_hotmem_set_limit((size_t)64 << 20);
    ck_assert(otp_scratch_init());
    run_many(use_scratch);
}
END_TEST

/* Those that do not exist are never given out, nor after a fork. */
START_TEST(test_little_memory_makes_few_scratch_stacks)
{
    static const struct {
        size_t limit;
        uint32_t count;
    } cases[] = {{256 << 10, 2}, {512 << 10, 2}, {1 << 20, 4}, {2 << 20, 8}, {64 << 20, 32}};
    otp_hotmem_set_limit(cases[_i].limit);
    ck_assert(otp_scratch_init());
    ck_assert_uint_eq(otp_hotmem_used(), cases[_i].count * OTP_SCRATCH_BYTES);
    for (unsigned round = 0; round < 2; round++) {
        for (uint32_t n = 0; n < cases[_i].count; n++) {
            uint32_t taken = otp_scratch_claim();
            ck_assert_uint_eq(taken, n + 1);
            memset(otp_scratch_base(taken), 1, OTP_SCRATCH_BYTES);
            ck_assert(otp_scratch_holds((uintptr_t)otp_scratch_base(taken)));
        }
        ck_assert_uint_eq(otp_scratch_claim(), 0);
        uintptr_t end = (uintptr_t)otp_scratch_base(cases[_i].count) + OTP_SCRATCH_BYTES;
        ck_assert(!otp_scratch_holds(end));
        otp_scratch_forget(0);
    }
}
END_TEST

START_TEST(test_no_memory_for_two_scratch_stacks)
{
    otp_hotmem_set_limit(2 * OTP_SCRATCH_BYTES);
    ck_assert(!otp_scratch_init());
    ck_assert_uint_eq(otp_hotmem_used(), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("shared tables");
    TCase *t = tcase_create("tables");
    tcase_add_test(t, test_a_stashed_block_has_one_owner);
    tcase_add_test(t, test_a_thread_record_has_one_owner);
    tcase_add_test(t, test_an_object_is_whole_when_its_number_is_known);
    tcase_add_test(t, test_a_context_is_whole_when_its_number_is_known);
    tcase_add_test(t, test_a_scratch_stack_has_one_owner);
    tcase_add_loop_test(t, test_little_memory_makes_few_scratch_stacks, 0, 5);
    tcase_add_test(t, test_no_memory_for_two_scratch_stacks);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    return unit_run(s);
}
