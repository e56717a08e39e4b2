/* SPDX-License-Identifier: Apache-2.0 */
/* One producer, one consumer: order, wrapping, refusing when full, and both sides at once. */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/ring/ring.h"
#include "tests/unit/run.h"

#define BYTES 4096U
#define SEED 7U

static struct otp_ring *make_ring(void)
{
    struct otp_ring *r = aligned_alloc(64, otp_ring_bytes(BYTES));
    ck_assert_ptr_nonnull(r);
    otp_ring_init(r, BYTES);
    return r;
}

/* A record whose content follows from n alone. */
static bool produce(struct otp_ring *r, uint64_t n)
{
    unsigned depth = (unsigned)(n * 2654435761U >> 7) % 40;
    struct otp_record *rec = otp_ring_reserve(r, depth, 0);
    if (rec == NULL) {
        return false;
    }
    rec->type = OTP_RECORD_CPU;
    rec->cpu_ns = n;
    for (unsigned i = 0; i < depth; i++) {
        rec->frames[i] = n * 1000 + i;
    }
    otp_ring_commit(r, rec);
    return true;
}

static bool is_record(const struct otp_record *rec, uint64_t n)
{
    unsigned depth = (unsigned)(n * 2654435761U >> 7) % 40;
    if (rec->cpu_ns != n || rec->depth != depth || rec->type != OTP_RECORD_CPU) {
        return false;
    }
    for (unsigned i = 0; i < depth; i++) {
        if (rec->frames[i] != n * 1000 + i) {
            return false;
        }
    }
    return true;
}

START_TEST(test_records_come_out_whole_and_in_order)
{
    struct otp_ring *r = make_ring();
    uint64_t in = 0;
    uint64_t out = 0;
    srand(SEED);
    while (out < 50000) {
        for (int k = rand() % 30; k > 0; k--) {
            in += produce(r, in);
        }
        for (int k = rand() % 30; k > 0; k--) {
            const struct otp_record *rec = otp_ring_peek(r);
            if (rec != NULL) {
                ck_assert(is_record(rec, out));
                otp_ring_pop(r);
                out++;
            }
        }
        ck_assert_uint_le(otp_ring_used(r), BYTES);
    }
    free(r);
}
END_TEST

START_TEST(test_full_ring_refuses_and_recovers)
{
    struct otp_ring *r = make_ring();
    uint64_t in = 0;
    while (produce(r, in)) {
        in++;
        ck_assert_uint_lt(in, 1000);
    }
    ck_assert_uint_gt(in, 5);
    ck_assert_ptr_null(otp_ring_reserve(r, BYTES / 8, 0));
    for (uint64_t n = 0; n < in; n++) {
        ck_assert(is_record(otp_ring_peek(r), n));
        otp_ring_pop(r);
    }
    ck_assert_ptr_null(otp_ring_peek(r));
    ck_assert(produce(r, in));
    free(r);
}
END_TEST

#define MANY 100000U

static void *produce_all(void *arg)
{
    struct otp_ring *r = arg;
    for (uint64_t n = 0; n < MANY;) {
        if (produce(r, n)) {
            n++;
        } else {
            sched_yield();
        }
    }
    return NULL;
}

START_TEST(test_both_sides_at_once)
{
    struct otp_ring *r = make_ring();
    pthread_t t;
    ck_assert_int_eq(pthread_create(&t, NULL, produce_all, r), 0);
    for (uint64_t n = 0; n < MANY;) {
        const struct otp_record *rec = otp_ring_peek(r);
        if (rec != NULL) {
            ck_assert(is_record(rec, n));
            otp_ring_pop(r);
            n++;
        } else {
            sched_yield();
        }
    }
    ck_assert_int_eq(pthread_join(t, NULL), 0);
    ck_assert_ptr_null(otp_ring_peek(r));
    free(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ring");
    TCase *t = tcase_create("ring");
    tcase_add_test(t, test_records_come_out_whole_and_in_order);
    tcase_add_test(t, test_full_ring_refuses_and_recovers);
    tcase_add_test(t, test_both_sides_at_once);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    return unit_run(s);
}
