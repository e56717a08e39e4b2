/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts and the live table: one at a time against a model, then many threads at once. */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hotmem.h"
#include "core/ledger/ledger.h"
#include "core/ledger/live.h"
#include "tests/unit/run.h"

#define THREADS 4
#define ROUNDS 40000
#define BLOCKS 512

static void fill(uint64_t *frames, uint32_t depth, uint64_t key)
{
    for (uint32_t i = 0; i < depth; i++) {
        frames[i] = key * 31 + i;
    }
}

START_TEST(test_equal_stacks_share_an_account)
{
    uint64_t a[20];
    uint64_t b[20];
    otp_hotmem_set_limit((size_t)64 << 20);
    for (uint64_t key = 0; key < 5000; key++) {
        uint32_t depth = 1 + (uint32_t)key % 20;
        fill(a, depth, key);
        fill(b, depth, key);
        struct otp_account *one = otp_ledger_account(a, depth, 3, 0);
        ck_assert_ptr_nonnull(one);
        ck_assert_ptr_eq(otp_ledger_account(b, depth, 3, 0), one);
        ck_assert_ptr_ne(otp_ledger_account(b, depth, 4, 0), one);
        b[depth - 1]++;
        ck_assert_ptr_ne(otp_ledger_account(b, depth, 3, 0), one);
        ck_assert_uint_eq(one->depth, depth);
        ck_assert_mem_eq(one->frames, a, depth * sizeof(a[0]));
    }
}
END_TEST

/* Small tables find what they hold; an account that is larger than a piece of them is refused. */
START_TEST(test_little_memory_makes_small_tables)
{
    static uint64_t frames[3000];
    uint64_t key = 0;
    otp_hotmem_set_limit(otp_hotmem_used() + ((size_t)256 << 10));
    otp_ledger_set_limit((size_t)256 << 10);
    fill(frames, 3000, key);
    ck_assert_ptr_null(otp_ledger_account(frames, 3000, 0, 0));
    fill(frames, 10, key);
    while (otp_ledger_account(frames, 10, 0, 0) != NULL) {
        fill(frames, 10, ++key);
        ck_assert_uint_lt(key, 2000000);
    }
    ck_assert_uint_gt(key, 500);
    for (uint64_t n = 0; n < key; n++) {
        fill(frames, 10, n);
        ck_assert_ptr_nonnull(otp_ledger_account(frames, 10, 0, 0));
    }
    ck_assert_uint_eq(otp_ledger_count(), key);
}
END_TEST

START_TEST(test_memory_limit_is_an_answer_not_a_crash)
{
    uint64_t frames[100];
    otp_hotmem_set_limit(otp_hotmem_used() + ((size_t)2 << 20));
    uint64_t key = 1000000;
    fill(frames, 100, key);
    while (otp_ledger_account(frames, 100, 0, 0) != NULL) {
        fill(frames, 100, ++key);
        ck_assert_uint_lt(key, 2000000);
    }
    fill(frames, 100, 1000000);
    ck_assert_ptr_nonnull(otp_ledger_account(frames, 100, 0, 0));
    otp_hotmem_set_limit((size_t)512 << 20);
    fill(frames, 100, key);
    ck_assert_ptr_nonnull(otp_ledger_account(frames, 100, 0, 0));
}
END_TEST

/* What a host thread is to the collector: inside (1) or outside of capture. */
static uint32_t busy[THREADS];
static uint64_t made_bytes;   /* by all threads */
static uint64_t folded_bytes; /* of accounts that were taken back */
static uint64_t folded_count;
static uint32_t is_over;

static void *make_and_free(void *arg)
{
    size_t me = (size_t)(uintptr_t)arg;
    struct otp_tag tag;
    uint64_t frame = 4711;
    struct otp_account *kept[64] = {0};
    memset(&tag, 0, sizeof(tag));
    for (uint64_t n = 0; n < ROUNDS; n++) {
        struct otp_account **slot = &kept[n % 64];
        while (n == ROUNDS / 2 && __atomic_load_n(&folded_count, __ATOMIC_RELAXED) <= 100) {
            (void)sched_yield(); /* by now there is enough to be taken back */
        }
        if (*slot != NULL) {
            otp_ledger_sub(*slot, 3, 7);
        }
        uint64_t span = n / 32 * THREADS + (n % 5 == 0 ? 0 : me); /* some are common to all */
        memcpy(tag.span_id, &span, sizeof(span));
        tag.label_bytes = (uint16_t)(n % 7 * 8);
        __atomic_store_n(&busy[me], 1, __ATOMIC_SEQ_CST);
        struct otp_account *stack = otp_ledger_account(&frame, 1, 0, 0);
        *slot = otp_ledger_tagged(stack, &tag);
        ck_assert_ptr_nonnull(*slot);
        otp_ledger_add(*slot, 3, 7);
        __atomic_store_n(&busy[me], 0, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&made_bytes, 7, __ATOMIC_RELAXED);
    }
    for (size_t i = 0; i < 64; i++) {
        otp_ledger_sub(kept[i], 3, 7);
    }
    return NULL;
}

static void fold(struct otp_account *a, void *arg)
{
    (void)arg;
    folded_bytes += __atomic_load_n(&a->alloc_bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&folded_count, 1, __ATOMIC_RELAXED);
}

static void add_rest(struct otp_account *a, void *arg)
{
    *(uint64_t *)arg += a->alloc_bytes;
    ck_assert_uint_eq(a->alloc_bytes, a->freed_bytes);
}

static void *take_back(void *arg)
{
    (void)arg;
    while (__atomic_load_n(&is_over, __ATOMIC_ACQUIRE) == 0) {
        if (otp_ledger_unlink_idle(true) == 0) {
            continue;
        }
        for (size_t i = 0; i < THREADS; i++) {
            while (__atomic_load_n(&busy[i], __ATOMIC_SEQ_CST) != 0) {
            }
        }
        otp_ledger_reclaim(fold, NULL);
    }
    return NULL;
}

START_TEST(test_accounts_of_spans_are_taken_back)
{
    pthread_t threads[THREADS];
    pthread_t collector;
    otp_hotmem_set_limit((size_t)512 << 20);
    otp_ledger_set_tag_limit((size_t)256 << 20);
    pthread_create(&collector, NULL, take_back, NULL);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, make_and_free, (void *)(uintptr_t)i);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    pthread_join(collector, NULL);
    ck_assert_uint_gt(folded_count, 100);
    uint64_t rest = 0;
    otp_ledger_each_tagged(add_rest, &rest);
    ck_assert_uint_eq(folded_bytes + rest, made_bytes);
    ck_assert_uint_eq(made_bytes, (uint64_t)THREADS * ROUNDS * 7);
    /* Everything can be taken back in the end, and then nothing is left. */
    (void)otp_ledger_unlink_idle(true);
    otp_ledger_reclaim(fold, NULL);
    ck_assert_uint_eq(folded_bytes, made_bytes);
    ck_assert_uint_eq(otp_ledger_tagged_bytes(), 0);
}
END_TEST

START_TEST(test_tags_have_a_limit_of_their_own)
{
    struct otp_tag tag;
    uint64_t frame = 99;
    memset(&tag, 0, sizeof(tag));
    struct otp_account *stack = otp_ledger_account(&frame, 1, 0, 0);
    otp_hotmem_set_limit((size_t)512 << 20);
    otp_ledger_set_tag_limit(0);
    ck_assert_ptr_null(otp_ledger_tagged(stack, &tag));
    otp_ledger_set_tag_limit((size_t)4 << 20);
    uint64_t n = 0;
    struct otp_account *a;
    struct otp_account *last = NULL;
    do {
        n++;
        memcpy(tag.span_id, &n, sizeof(n));
        a = otp_ledger_tagged(stack, &tag);
        if (a != NULL) {
            ck_assert_ptr_eq(otp_ledger_tagged(stack, &tag), a);
            ck_assert_ptr_ne(a, last);
            otp_ledger_add(a, 1, n);
            last = a;
        }
    } while (a != NULL && n < 1000000);
    ck_assert_uint_gt(n, 1000);
    ck_assert_uint_lt(n, 1000000);
    ck_assert(otp_ledger_wants_collection());
    ck_assert(!otp_ledger_wants_collection());
    /* What is live stays. */
    (void)otp_ledger_unlink_idle(true);
    otp_ledger_reclaim(fold, NULL);
    ck_assert_ptr_null(otp_ledger_tagged(stack, &tag));
    n--;
    memcpy(tag.span_id, &n, sizeof(n));
    ck_assert_ptr_eq(otp_ledger_tagged(stack, &tag), last);
    /* Room comes back with the last object. */
    otp_ledger_sub(last, 1, n);
    ck_assert_uint_eq(otp_ledger_unlink_idle(true), 1);
    otp_ledger_reclaim(fold, NULL);
    n += 2;
    memcpy(tag.span_id, &n, sizeof(n));
    ck_assert_ptr_eq(otp_ledger_tagged(stack, &tag), last);
}
END_TEST

/* What samples stand for, in 1/65536: whole, with the least and with the most behind the point. */
static const uint64_t fixed[] = {65536, 65537, 80000, 92930, 131071, 6553600001};
#define KINDS (sizeof(fixed) / sizeof(fixed[0]))

static struct otp_account *account_of(uint64_t number, bool is_tagged)
{
    uint64_t frame = is_tagged ? 50 : 1000 + number;
    struct otp_account *a = otp_ledger_account(&frame, 1, 9, 0);
    ck_assert_ptr_nonnull(a);
    if (is_tagged) {
        struct otp_tag tag;
        memset(&tag, 0, sizeof(tag));
        memcpy(tag.span_id, &number, sizeof(number));
        a = otp_ledger_tagged(a, &tag);
        ck_assert_ptr_nonnull(a);
    }
    return a;
}

/* An account is off by less than one, however many samples it has. */
START_TEST(test_an_account_rounds_its_sum)
{
    bool is_tagged = _i % 2 == 1;
    otp_hotmem_set_limit((size_t)512 << 20);
    otp_ledger_set_tag_limit((size_t)256 << 20);
    otp_ledger_set_seed(4711);
    for (uint64_t kind = 0; kind < KINDS; kind++) {
        struct otp_account *a = account_of(500000 + kind, is_tagged);
        uint64_t told = 0;
        uint64_t wrong = 0;
        for (uint64_t n = 1; n <= 200000; n++) {
            uint64_t one = otp_ledger_round(a, fixed[kind]);
            told += one;
            wrong += one < fixed[kind] / 65536 || one > (fixed[kind] + 65535) / 65536;
            wrong += told < n * fixed[kind] / 65536 || told > (n * fixed[kind] + 65535) / 65536;
        }
        ck_assert_uint_eq(wrong, 0);
        ck_assert_uint_ge(told, 200000);
    }
}
END_TEST

/* Many accounts with one sample each are right together, within four sigma; a handful where hardly
 * any is rounded up, since such numbers are not spread evenly. */
START_TEST(test_accounts_of_one_sample_are_right_together)
{
    enum { ACCOUNTS = 20000 };
    bool is_tagged = _i % 2 == 1;
    otp_hotmem_set_limit((size_t)512 << 20);
    otp_ledger_set_tag_limit((size_t)256 << 20);
    otp_ledger_set_seed(4711);
    for (uint64_t kind = 0; kind < KINDS; kind++) {
        int64_t off = 0;
        for (uint64_t n = 0; n < ACCOUNTS; n++) {
            struct otp_account *a = account_of(kind * ACCOUNTS + n, is_tagged);
            off += (int64_t)(otp_ledger_round(a, fixed[kind]) * 65536) - (int64_t)fixed[kind];
        }
        double rest = (double)(fixed[kind] % 65536) / 65536;
        double most = fmax(4 * sqrt(ACCOUNTS * rest * (1 - rest)), rest == 0 ? 0 : 6);
        ck_assert_double_le(fabs((double)off / 65536), most);
    }
}
END_TEST

START_TEST(test_live_table_follows_a_model)
{
    enum { ADDRESSES = 30000 };
    static uint64_t model[ADDRESSES]; /* 0: not there, else what was put in */
    uint64_t frame = 77;
    otp_hotmem_set_limit((size_t)512 << 20);
    struct otp_account *account = otp_ledger_account(&frame, 1, 0, 0);
    srand(11);
    uint64_t there = 0;
    for (uint32_t n = 1; n < 400000; n++) {
        size_t i = (size_t)rand() % ADDRESSES;
        uintptr_t addr = 0x10000000 + i * 16;
        struct otp_live item = {.account = account, .bytes = n, .objects = n * 3};
        if (model[i] != 0) {
            ck_assert(otp_live_remove(addr, &item));
            ck_assert_uint_eq(item.bytes, model[i]);
            ck_assert_uint_eq(item.objects, model[i] * 3);
            ck_assert_ptr_eq(item.account, account);
            ck_assert(!otp_live_remove(addr, &item));
            model[i] = 0;
            there--;
        } else {
            ck_assert(!otp_live_remove(addr, &item));
            item = (struct otp_live){.account = account, .bytes = n, .objects = n * 3};
            ck_assert(otp_live_insert(addr, &item));
            model[i] = n;
            there++;
        }
    }
    ck_assert_uint_eq(otp_live_count(), there);
}
END_TEST

START_TEST(test_entry_left_behind_is_booked_as_freed)
{
    uint64_t frame = 78;
    otp_hotmem_set_limit((size_t)512 << 20);
    struct otp_account *account = otp_ledger_account(&frame, 1, 0, 0);
    struct otp_live item = {.account = account, .bytes = 40, .objects = 5};
    uint64_t freed = account->freed_bytes;
    ck_assert(otp_live_insert(0x7000, &item));
    ck_assert_uint_eq(account->freed_bytes, freed);
    ck_assert(otp_live_insert(0x7000, &item));
    ck_assert_uint_eq(account->freed_bytes, freed + 40);
    ck_assert(otp_live_remove(0x7000, &item));
}
END_TEST

struct shared {
    pthread_mutex_t lock;
    uintptr_t blocks[BLOCKS]; /* addresses in the hands of nobody: any thread may free them */
    size_t count;
};

static struct shared shared = {.lock = PTHREAD_MUTEX_INITIALIZER};
static uint64_t lost[THREADS];

/* Takes a block that some thread has left, or 0. */
static uintptr_t take_block(void)
{
    pthread_mutex_lock(&shared.lock);
    uintptr_t p = shared.count == 0 ? 0 : shared.blocks[--shared.count];
    pthread_mutex_unlock(&shared.lock);
    return p;
}

static bool leave_block(uintptr_t p)
{
    pthread_mutex_lock(&shared.lock);
    bool has_room = shared.count < BLOCKS;
    if (has_room) {
        shared.blocks[shared.count++] = p;
    }
    pthread_mutex_unlock(&shared.lock);
    return has_room;
}

static void free_one(uintptr_t p, size_t me)
{
    struct otp_live item;
    if (otp_live_remove(p, &item)) {
        otp_ledger_sub(item.account, item.objects, item.bytes);
    } else {
        lost[me]++;
    }
}

/* Real allocations, so that an address freed by one thread comes back in another at once. */
static void *churn(void *arg)
{
    size_t me = (size_t)(uintptr_t)arg;
    uint64_t frames[3] = {1000 + me % 2, 2, 3};
    for (int n = 0; n < ROUNDS; n++) {
        void *p = malloc(40);
        struct otp_account *a = otp_ledger_account(frames, 3, (uint32_t)n % 7, 0);
        struct otp_live item = {.account = a, .bytes = 40, .objects = 1};
        otp_ledger_add(a, 1, 40);
        if (!otp_live_insert((uintptr_t)p, &item)) {
            lost[me]++;
        }
        if (!leave_block((uintptr_t)p)) {
            free_one((uintptr_t)p, me);
            free(p);
        }
        uintptr_t q = n % 3 == 0 ? take_block() : 0;
        if (q != 0) {
            free_one(q, me); /* booked before it is given back */
            free((void *)q);
        }
    }
    return NULL;
}

struct sums {
    uint64_t alloc;
    uint64_t freed;
};

static void add_up(struct otp_account *a, void *arg)
{
    struct sums *s = arg;
    if (a->depth == 3 && (a->frames[0] == 1000 || a->frames[0] == 1001)) {
        s->alloc += a->alloc_objects;
        s->freed += a->freed_objects;
        ck_assert_uint_eq(a->alloc_bytes, a->alloc_objects * 40);
    }
}

START_TEST(test_threads_that_free_each_others_blocks)
{
    pthread_t t[THREADS];
    otp_hotmem_set_limit((size_t)512 << 20);
    uint64_t before = otp_live_count();
    for (size_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&t[i], NULL, churn, (void *)(uintptr_t)i), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(t[i], NULL), 0);
        ck_assert_uint_eq(lost[i], 0);
    }
    struct sums s = {0};
    otp_ledger_each(add_up, &s);
    ck_assert_uint_eq(s.alloc, (uint64_t)THREADS * ROUNDS);
    ck_assert_uint_eq(s.alloc - s.freed, shared.count);
    ck_assert_uint_eq(otp_live_count() - before, shared.count);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ledger");
    TCase *t = tcase_create("ledger");
    tcase_add_test(t, test_equal_stacks_share_an_account);
    tcase_add_test(t, test_memory_limit_is_an_answer_not_a_crash);
    tcase_add_test(t, test_little_memory_makes_small_tables);
    tcase_add_test(t, test_accounts_of_spans_are_taken_back);
    tcase_add_test(t, test_tags_have_a_limit_of_their_own);
    tcase_add_loop_test(t, test_an_account_rounds_its_sum, 0, 2);
    tcase_add_loop_test(t, test_accounts_of_one_sample_are_right_together, 0, 2);
    tcase_add_test(t, test_live_table_follows_a_model);
    tcase_add_test(t, test_entry_left_behind_is_booked_as_freed);
    tcase_add_test(t, test_threads_that_free_each_others_blocks);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    return unit_run(s);
}
