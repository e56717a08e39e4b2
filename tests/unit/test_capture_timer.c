/* SPDX-License-Identifier: Apache-2.0 */
/* Periods of a thread's CPU clock: what samples stand for adds up to the time, whatever happens to
 * the length of the periods on the way. */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/annot.h"
#include "core/base/hotmem.h"
#include "core/capture/capture.h"
#include "core/capture/phase.h"
#include "core/capture/random.h"
#include "core/capture/thread.h"
#include "core/capture/timer.h"
#include "tests/unit/run.h"

#define MS INT64_C(1000000)
#define TAIL_NS 103700001

static uint64_t state = 12345;

static uint64_t below(uint64_t limit)
{
    return otp_random_below(&state, limit);
}

static struct otp_thread *fresh(uint64_t period_ns)
{
    static uint64_t number;
    struct otp_thread *t = otp_thread_claim();
    ck_assert_ptr_nonnull(t);
    t->random = ++number * 7919;
    otp_settings.cpu_period_ns = period_ns;
    /* Begins periods at 0; the timer itself is refused, since there is no such thread. */
    t->tid = 0x3fffffff;
    (void)otp_timer_start_from_birth(t);
    return t;
}

static uint64_t take(struct otp_thread *t, uint64_t now)
{
    uint64_t period = 0;
    uint64_t count = otp_timer_take(t, now, &period);
    return count * period;
}

/* Of a thread that the worker has found and that makes itself known at the same time, one record
 * counts, whoever of both is first. */
START_TEST(test_a_thread_has_the_periods_of_one_record)
{
    struct otp_thread *found = fresh(10 * MS);
    ck_assert(otp_timer_may_adopt(found));
    struct otp_thread *own = fresh(10 * MS);
    struct otp_thread *other = fresh(10 * MS);
    other->tid = own->tid - 1;
    otp_timer_end_adopted(own);
    ck_assert_uint_eq(otp_timer_due(found, 100 * MS), 0);
    ck_assert_uint_ge(otp_timer_due(own, 100 * MS), 9);
    ck_assert_uint_ge(otp_timer_due(other, 100 * MS), 9);
    found->tid = other->tid;
    ck_assert(!otp_timer_may_adopt(found));
}
END_TEST

START_TEST(test_a_period_is_due_once)
{
    struct otp_thread *t = fresh(10 * MS);
    uint64_t period;
    ck_assert_uint_eq(otp_timer_due(t, 0), 0);
    ck_assert_uint_ge(otp_timer_due(t, 100 * MS), 9);
    ck_assert_uint_le(otp_timer_due(t, 100 * MS), 10);
    uint64_t due = otp_timer_due(t, 100 * MS);
    ck_assert_uint_eq(otp_timer_take(t, 100 * MS, &period), due);
    ck_assert_uint_eq(period, 10 * MS);
    ck_assert_uint_eq(otp_timer_take(t, 100 * MS, &period), 0);
    ck_assert_uint_eq(otp_timer_due(t, 110 * MS), 1);
    otp_timer_forget(t);
    ck_assert_uint_eq(otp_timer_due(t, 1000000 * MS), 0);
    ck_assert_uint_eq(otp_timer_take(t, 1000000 * MS, &period), 0);
    otp_thread_unclaim(t);
}
END_TEST

START_TEST(test_a_part_is_taken_and_the_rest_stays_due)
{
    struct otp_thread *t = fresh(10 * MS);
    uint64_t period;
    uint64_t due = otp_timer_due(t, 100 * MS);
    ck_assert_uint_eq(otp_timer_take_since(t, 0, 100 * MS, 0, &period), 0);
    ck_assert_uint_eq(otp_timer_take_since(t, 0, 100 * MS, 3, &period), 3);
    ck_assert_uint_eq(otp_timer_due(t, 100 * MS), due - 3);
    ck_assert_uint_eq(otp_timer_take_since(t, 50 * MS, 100 * MS, 2, &period), 2);
    ck_assert_uint_eq(otp_timer_take_since(t, 0, 100 * MS, due, &period), due - 5);
    otp_thread_unclaim(t);
}
END_TEST

START_TEST(test_what_is_due_stays_due_in_other_periods)
{
    struct otp_thread *t = fresh(10 * MS);
    uint64_t due = otp_timer_due(t, 1000 * MS);
    otp_timer_change(t, 1000 * MS, 5 * MS);
    ck_assert_uint_eq(otp_timer_due(t, 1000 * MS), 2 * due);
    otp_timer_change(t, 1000 * MS, 20 * MS);
    ck_assert_uint_ge(otp_timer_due(t, 1000 * MS), due / 2);
    ck_assert_uint_le(otp_timer_due(t, 1000 * MS), due / 2 + 1);
    uint64_t told = take(t, 1000 * MS);
    ck_assert_uint_ge(told, due * 10 * MS - 20 * MS);
    ck_assert_uint_le(told, due * 10 * MS + 20 * MS);
    otp_thread_unclaim(t);
}
END_TEST

START_TEST(test_what_was_told_in_advance_is_not_told_again)
{
    struct otp_thread *t = fresh(10 * MS);
    uint64_t told = take(t, 100 * MS); /* by a thread that was faster than the worker's look */
    otp_timer_change(t, 20 * MS, 5 * MS);
    otp_timer_change(t, 21 * MS, 20 * MS);
    otp_timer_change(t, 22 * MS, 10 * MS);
    ck_assert_uint_eq(otp_timer_due(t, 60 * MS), 0);
    told += take(t, 1000 * MS);
    ck_assert_uint_ge(told, 950 * MS);
    ck_assert_uint_le(told, 1050 * MS);
    otp_thread_unclaim(t);
}
END_TEST

/* A span has what nothing is told of yet, and leaves what ended before it due. */
START_TEST(test_a_span_takes_its_own_time_once)
{
    struct otp_thread *t = fresh(10 * MS);
    uint64_t period;
    ck_assert_uint_eq(otp_timer_take_since(t, 100 * MS, 200 * MS, UINT64_MAX, &period), 10);
    ck_assert_uint_eq(otp_timer_take_since(t, 100 * MS, 200 * MS, UINT64_MAX, &period),
                      10); /* those before it */
    ck_assert_uint_eq(otp_timer_due_since(t, 100 * MS, 200 * MS), 0);
    ck_assert_uint_eq(otp_timer_due_since(t, 150 * MS, 250 * MS), 5);
    ck_assert_uint_eq(otp_timer_due_since(t, 250 * MS, 250 * MS), 0);
    ck_assert_uint_eq(otp_timer_due(t, 250 * MS), 5);
    otp_thread_unclaim(t);
}
END_TEST

/* Spans told in advance are not due later, and no two moments, however odd, give more periods than
 * fit between. */
START_TEST(test_spans_are_told_once_and_are_never_negative)
{
    struct otp_thread *t = fresh(10 * MS);
    uint64_t period;
    uint64_t told = otp_timer_take_since(t, 0, 300 * MS, UINT64_MAX, &period);
    ck_assert_uint_eq(told, 30);
    ck_assert_uint_eq(otp_timer_due(t, 299 * MS), 0);
    told += otp_timer_take(t, 1000 * MS, &period);
    ck_assert_uint_ge(told, 99);
    ck_assert_uint_le(told, 101);
    otp_timer_change(t, 1 * MS, 5 * MS); /* what is owed now began before the thread did */
    for (int i = 0; i < 20000; i++) {
        uint64_t from = below(4) == 0 ? UINT64_MAX - below(9 * MS) : below(50 * MS);
        uint64_t to = below(4) == 0 ? UINT64_MAX - below(9 * MS) : below(50 * MS);
        uint64_t most = to > from ? (to - from) / (5 * MS) + 1 : 0;
        ck_assert_uint_le(otp_timer_due_since(t, from, to), most);
    }
    otp_thread_unclaim(t);
}
END_TEST

/* A stretch of up to 60 ms, with ticks at moments that follow their periods' ends (if they are
 * fine) or that are all their own. What was told of it. */
static uint64_t live(struct otp_thread *t, uint64_t *now, bool on_ends)
{
    uint64_t end = *now + 1 + below(60 * MS);
    uint64_t told = 0;
    for (;;) {
        *now += on_ends ? 1 * MS : 1 + below(15 * MS);
        if (*now >= end) {
            *now = end;
            return told;
        }
        told += take(t, *now);
    }
}

/* Told time less true time of a thread whose period is changed so often. */
static double error_of(const uint64_t *periods, size_t count, unsigned changes, bool on_ends)
{
    struct otp_thread *t = fresh(periods[0]);
    uint64_t now = 0;
    uint64_t told = 0;
    for (unsigned c = 1; c <= changes; c++) {
        told += live(t, &now, on_ends);
        otp_timer_change(t, now, periods[c % count]);
    }
    told += take(t, now + TAIL_NS);
    otp_thread_unclaim(t);
    return (double)told - (double)(now + TAIL_NS);
}

static void check_sum(const uint64_t *periods, size_t count, unsigned changes, bool on_ends)
{
    const unsigned threads = 4000;
    double sum = 0;
    double squares = 0;
    for (unsigned i = 0; i < threads; i++) {
        double error = error_of(periods, count, changes, on_ends);
        sum += error;
        squares += error * error;
    }
    double mean = sum / threads;
    double sigma = sqrt(squares / threads / threads);
    ck_assert_msg(fabs(mean) < 4 * sigma, "%u changes: mean error %.0f ns, 1 sigma %.0f", changes,
                  mean, sigma);
    ck_assert(sigma > 0);
}

START_TEST(test_sums_are_true_over_changes_of_the_period)
{
    static const uint64_t up[] = {10 * MS, 20 * MS, 40 * MS, 80 * MS};
    static const uint64_t down[] = {80 * MS, 40 * MS, 20 * MS, 10 * MS};
    static const uint64_t both[] = {10 * MS, 3 * MS, 97 * MS, 11 * MS, 1 * MS};
    for (unsigned n = 0; n < 8; n++) {
        check_sum(up, OTP_ARRAY_LEN(up), n, n % 2 == 0);
        check_sum(down, OTP_ARRAY_LEN(down), n, n % 2 == 0);
        check_sum(both, OTP_ARRAY_LEN(both), n * 5, n % 2 == 0);
    }
}
END_TEST

/* The thread takes what is due by its clock, the worker changes the period by it, both at once. */
static struct {
    struct otp_thread *thread;
    uint64_t clock; /* atomic */
    uint64_t told;
    int is_over;
} race;

static void *live_on(void *unused)
{
    (void)unused;
    while (__atomic_load_n(&race.is_over, __ATOMIC_ACQUIRE) == 0) {
        uint64_t now = __atomic_add_fetch(&race.clock, 300000, __ATOMIC_ACQ_REL);
        race.told += take(race.thread, now);
    }
    return NULL;
}

START_TEST(test_a_change_while_the_thread_takes_its_periods)
{
    static const uint64_t periods[] = {10 * MS, 1 * MS, 7 * MS, 2 * MS};
    const unsigned changes = 20000;
    pthread_t other;
    race.thread = fresh(periods[0]);
    ck_assert_int_eq(pthread_create(&other, NULL, live_on, NULL), 0);
    uint64_t last = 0;
    for (unsigned i = 1; i <= changes; i++) {
        /* Drawn, not read: the clock stands longest where a period has just been taken. */
        last += 100000 + below(900000);
        while (__atomic_load_n(&race.clock, __ATOMIC_ACQUIRE) < last) {
            sched_yield();
        }
        otp_timer_change(race.thread, last, periods[i % OTP_ARRAY_LEN(periods)]);
    }
    __atomic_store_n(&race.is_over, 1, __ATOMIC_RELEASE);
    pthread_join(other, NULL);
    double end = (double)race.clock + TAIL_NS;
    race.told += take(race.thread, race.clock + TAIL_NS);
    /* Each change rounds by at most a period, by chance: 10 ms / sqrt(6) each, 6 sigma. */
    double allowed = 6 * 10e6 / sqrt(6) * sqrt(changes);
    ck_assert_double_le(fabs((double)race.told - end), allowed);
    ck_assert_double_gt(end, 2 * allowed);
    otp_thread_unclaim(race.thread);
}
END_TEST

/* A whole life: first_ns of one kind of work, then another; periods told of both. */
struct life {
    uint64_t first_ns;
    uint64_t second_ns;
    uint64_t told[2];
};

static void begin_and_end(struct life *l)
{
    struct otp_thread *t = fresh(10 * MS);
    l->told[0] += take(t, l->first_ns) / (10 * MS);
    l->told[1] += take(t, l->first_ns + l->second_ns) / (10 * MS);
    otp_timer_hand_on(t, l->first_ns + l->second_ns);
    otp_thread_unclaim(t);
}

/* Threads one after the other, of any length, are told as one thread would be. */
START_TEST(test_what_threads_leave_of_a_period_is_the_next_ones)
{
    uint64_t used = 0;
    uint64_t told = 0;
    for (int i = 0; i < 100000; i++) {
        uint64_t longest = i % 1000 < 900 ? 2 * MS : 95 * MS;
        struct life l = {.first_ns = below(longest), .second_ns = below(longest)};
        begin_and_end(&l);
        used += l.first_ns + l.second_ns;
        told += l.told[0] + l.told[1];
        ck_assert_uint_ge(told, used / (10 * MS));
        ck_assert_uint_le(told, used / (10 * MS) + 1);
    }
    ck_assert_uint_gt(told, 10000);
}
END_TEST

/* As many periods are begun as there are threads at a time, and no more. */
START_TEST(test_threads_side_by_side_go_on_with_a_period_each)
{
    struct otp_thread *alive[4];
    uint64_t told = 0;
    const unsigned rounds = 20000;
    for (unsigned round = 0; round < rounds; round++) {
        for (size_t i = 0; i < OTP_ARRAY_LEN(alive); i++) {
            alive[i] = fresh(10 * MS);
        }
        for (size_t i = 0; i < OTP_ARRAY_LEN(alive); i++) {
            told += take(alive[i], 3 * MS) / (10 * MS);
            otp_timer_hand_on(alive[i], 3 * MS);
            otp_thread_unclaim(alive[i]);
        }
    }
    uint64_t used = rounds * OTP_ARRAY_LEN(alive) * 3 * MS;
    ck_assert_uint_ge(told + OTP_ARRAY_LEN(alive), used / (10 * MS));
    ck_assert_uint_le(told, used / (10 * MS) + OTP_ARRAY_LEN(alive));
}
END_TEST

/* Lives that divide a period, and parts of them, have their share all the same, wherever in a
 * period the first of them begins: a moment in each is drawn anew. */
static void check_shares(uint64_t begin_ns)
{
    struct life left = {.first_ns = 1 * MS, .second_ns = 4 * MS};
    struct life right = {.first_ns = 2 * MS, .second_ns = 13 * MS};
    const double lives = 20000;
    struct life before = {.first_ns = begin_ns};
    otp_phase_forget_all();
    begin_and_end(&before);
    for (int i = 0; i < (int)lives; i++) {
        begin_and_end(&left);
        begin_and_end(&right);
    }
    const double shares[] = {0.1, 0.4, 0.2, 1.3};
    const uint64_t told[] = {left.told[0], left.told[1], right.told[0], right.told[1]};
    for (size_t i = 0; i < OTP_ARRAY_LEN(shares); i++) {
        double part = shares[i] - floor(shares[i]);
        double sigma = sqrt(lives * part * (1 - part));
        ck_assert_msg(fabs((double)told[i] - lives * shares[i]) <= 5 * sigma,
                      "begun at %lu, part %zu: %lu of %.0f", (unsigned long)begin_ns, i,
                      (unsigned long)told[i], lives * shares[i]);
    }
}

START_TEST(test_threads_in_step_with_periods_have_their_share)
{
    for (uint64_t begin_ns = 0; begin_ns < 10 * MS; begin_ns += MS / 2) {
        check_shares(begin_ns);
    }
}
END_TEST

/* A phase is told by its length of period: others are not gone on with, and make room. */
START_TEST(test_phases_are_of_periods_of_one_length)
{
    struct otp_phase used = {.used_ns = 7 * MS, .is_over = true};
    otp_phase_forget_all();
    for (int i = 0; i < 1000; i++) {
        otp_phase_leave(10 * MS, used);
    }
    ck_assert_uint_eq(otp_phase_take(20 * MS).used_ns, 0);
    otp_phase_leave(20 * MS, used);
    ck_assert_uint_eq(otp_phase_take(20 * MS).used_ns, 7 * MS);
    ck_assert_uint_eq(otp_phase_take(20 * MS).used_ns, 0);
    struct otp_phase found = otp_phase_take(10 * MS);
    ck_assert_uint_eq(found.used_ns, 7 * MS);
    ck_assert(found.is_over);
    otp_phase_leave((uint64_t)5000 * MS, used); /* longer than can be kept */
    ck_assert_uint_eq(otp_phase_take((uint64_t)5000 * MS).used_ns, 0);
    otp_phase_forget_all();
    ck_assert_uint_eq(otp_phase_take(10 * MS).used_ns, 0);
}
END_TEST

START_TEST(test_epochs_wrap)
{
    struct otp_thread *t = fresh(10 * MS);
    for (uint64_t i = 0; i < 70000; i++) {
        otp_timer_change(t, i * MS / 10, i % 2 == 0 ? 5 * MS : 10 * MS);
    }
    uint64_t all = take(t, 7000 * MS);
    ck_assert_uint_ge(all, 1);
    ck_assert_uint_eq(otp_timer_due(t, 7000 * MS), 0);
    ck_assert_uint_le(otp_timer_due(t, 7010 * MS), 2);
    otp_thread_unclaim(t);
}
END_TEST

START_TEST(test_no_timer_starts_at_the_end)
{
    struct otp_thread *t = fresh(10 * MS);
    int32_t tid = t->tid;
    otp_capture_state = OTP_CAPTURE_ENDED;
    ck_assert(otp_timer_start(t));
    ck_assert_uint_eq(t->has_timer, OTP_TIMER_NONE);
    ck_assert(otp_timer_start_from_birth(t));
    ck_assert_uint_eq(t->has_timer, OTP_TIMER_NONE);
    ck_assert(!otp_timer_start_for(t, 7));
    ck_assert_uint_eq(t->has_timer, OTP_TIMER_NONE);
    ck_assert_int_eq(t->tid, tid);
    otp_capture_state = OTP_CAPTURE_NOT_YET;
    otp_thread_unclaim(t);
}
END_TEST

int main(void)
{
    otp_hotmem_set_limit((size_t)64 << 20);
    Suite *s = suite_create("capture_timer");
    TCase *t = tcase_create("periods");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_a_thread_has_the_periods_of_one_record);
    tcase_add_test(t, test_a_period_is_due_once);
    tcase_add_test(t, test_a_part_is_taken_and_the_rest_stays_due);
    tcase_add_test(t, test_what_is_due_stays_due_in_other_periods);
    tcase_add_test(t, test_what_was_told_in_advance_is_not_told_again);
    tcase_add_test(t, test_a_span_takes_its_own_time_once);
    tcase_add_test(t, test_spans_are_told_once_and_are_never_negative);
    tcase_add_test(t, test_sums_are_true_over_changes_of_the_period);
    tcase_add_test(t, test_a_change_while_the_thread_takes_its_periods);
    tcase_add_test(t, test_what_threads_leave_of_a_period_is_the_next_ones);
    tcase_add_test(t, test_threads_side_by_side_go_on_with_a_period_each);
    tcase_add_test(t, test_threads_in_step_with_periods_have_their_share);
    tcase_add_test(t, test_phases_are_of_periods_of_one_length);
    tcase_add_test(t, test_epochs_wrap);
    tcase_add_test(t, test_no_timer_starts_at_the_end);
    suite_add_tcase(s, t);
    return unit_run_here(s);
}
