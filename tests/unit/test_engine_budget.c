/* SPDX-License-Identifier: Apache-2.0 */
/* What the budget makes of readings of clocks: a simulated process whose profiling costs what its
 * level makes it cost. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/annot.h"
#include "core/capture/cost.h"
#include "core/engine/budget.h"
#include "tests/unit/run.h"

#define SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)

struct process {
    struct otp_budget budget;
    struct otp_budget_reading now;
    uint32_t lowest; /* levels met */
    uint32_t highest;
};

static struct process begin(uint32_t ppm, uint32_t level)
{
    struct process p = {.lowest = UINT32_MAX};
    p.now.wall_ns = 5 * SECOND;
    p.now.process_ns = 77 * SECOND; /* it did not begin with the profiling */
    p.now.cost_ns = SECOND;
    otp_budget_init(&p.budget, ppm, level, &p.now);
    return p;
}

/* seconds of busy_ns CPU time a second, at a cost of rate_ns at level 0 and fixed_ns at any. */
static uint32_t run(struct process *p, int seconds, uint64_t busy_ns, uint64_t rate_ns,
                    uint64_t fixed_ns)
{
    uint32_t level = p->budget.level;
    p->lowest = UINT32_MAX;
    p->highest = 0;
    for (int i = 0; i < seconds; i++) {
        uint64_t cost = (rate_ns >> level) + fixed_ns;
        p->now.wall_ns += SECOND;
        p->now.cost_ns += cost;
        p->now.process_ns += busy_ns + cost;
        level = otp_budget_step(&p->budget, &p->now);
        p->lowest = level < p->lowest ? level : p->lowest;
        p->highest = level > p->highest ? level : p->highest;
    }
    return level;
}

START_TEST(test_within_the_budget_nothing_changes)
{
    struct process p = begin(10000, 0);
    ck_assert_uint_eq(run(&p, 1000, SECOND, 9 * MS, 0), 0);
    ck_assert_uint_eq(p.highest, 0);
    ck_assert_uint_ge(otp_budget_spent_ppm(&p.budget), 8500);
    ck_assert_uint_le(otp_budget_spent_ppm(&p.budget), 9500);
}
END_TEST

/* What is measured of a thread's events stands for all of them up to the last one measured, and the
 * first for itself. */
START_TEST(test_measurements_stand_for_all_events)
{
    uint64_t sum = 0;
    unsigned measured = 0;
    for (uint64_t n = 1; n <= 1000; n++) {
        uint64_t weight = otp_cost_weight(n);
        sum += weight;
        measured += weight != 0;
        ck_assert_uint_le(weight, n == 1 ? 1 : n / 2 < 16 ? n : 16);
        ck_assert(weight == 0 || sum == n);
        ck_assert_uint_le(n - sum, n < 16 ? n / 2 : 15);
    }
    ck_assert_uint_eq(measured, 5 + 1000 / 16 - 1);
}
END_TEST

START_TEST(test_ten_times_the_budget_is_met_within_seconds)
{
    struct process p = begin(10000, 0);
    ck_assert_uint_ge(run(&p, 4, SECOND, 100 * MS, 0), 3);
    uint32_t level = run(&p, 600, SECOND, 100 * MS, 0);
    ck_assert_uint_eq(level, 4); /* a sixteenth of 10 % is 0.63 %; an eighth is 1.25 % */
    ck_assert_uint_le(otp_budget_spent_ppm(&p.budget), 10500);
}
END_TEST

START_TEST(test_rates_come_back_when_the_cost_is_gone)
{
    struct process p = begin(10000, 0);
    ck_assert_uint_ge(run(&p, 120, SECOND, 100 * MS, 0), 4);
    ck_assert_uint_eq(run(&p, 600, SECOND, 2 * MS, 0), 0);
}
END_TEST

START_TEST(test_a_steady_load_is_answered_with_a_steady_level)
{
    static const uint64_t loads[] = {11, 15, 19, 21, 30, 39, 41, 70, 79, 81, 150, 300};
    for (size_t i = 0; i < OTP_ARRAY_LEN(loads); i++) {
        struct process p = begin(10000, 0);
        (void)run(&p, 600, SECOND, loads[i] * MS, 0);
        (void)run(&p, 2000, SECOND, loads[i] * MS, 0);
        ck_assert_uint_le(p.highest - p.lowest, 1);
        ck_assert_uint_le(loads[i] * 1000 >> p.highest, 11000);
    }
}
END_TEST

START_TEST(test_a_flush_a_minute_is_no_reason)
{
    struct process p = begin(10000, 0);
    for (int minute = 0; minute < 30; minute++) {
        (void)run(&p, 1, SECOND, MS, 200 * MS); /* names and writes */
        (void)run(&p, 59, SECOND, MS, 0);
        ck_assert_uint_le(p.highest, minute == 0 ? 4 : 0);
    }
    ck_assert_uint_eq(p.budget.level, 0);
}
END_TEST

START_TEST(test_an_idle_process_keeps_its_rates)
{
    struct process p = begin(10000, 0);
    ck_assert_uint_eq(run(&p, 1000, MS, 0, 300000), 0); /* the worker looks around */
    ck_assert_uint_eq(p.highest, 0);
}
END_TEST

START_TEST(test_the_level_has_an_end)
{
    struct process p = begin(100, 0);
    ck_assert_uint_eq(run(&p, 100, SECOND, SECOND, SECOND), OTP_BUDGET_LEVEL_MAX);
    ck_assert_uint_eq(run(&p, 100, 0, 0, 0), OTP_BUDGET_LEVEL_MAX - 0U);
}
END_TEST

START_TEST(test_all_of_the_time_is_never_too_much)
{
    struct process p = begin(1000000, 0);
    ck_assert_uint_eq(run(&p, 1000, SECOND, 900 * MS, 0), 0);
}
END_TEST

START_TEST(test_clocks_that_stand_still_or_go_back_do_no_harm)
{
    struct process p = begin(10000, 2);
    for (int i = 0; i < 5; i++) {
        ck_assert_uint_eq(otp_budget_step(&p.budget, &p.now), 2);
    }
    struct otp_budget_reading back = {0};
    ck_assert_uint_le(otp_budget_step(&p.budget, &back), OTP_BUDGET_LEVEL_MAX);
    ck_assert_uint_le(otp_budget_step(&p.budget, &p.now), OTP_BUDGET_LEVEL_MAX);
    ck_assert_uint_eq(otp_budget_spent_ppm(&(struct otp_budget){0}), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("engine_budget");
    TCase *t = tcase_create("steps");
    tcase_add_test(t, test_within_the_budget_nothing_changes);
    tcase_add_test(t, test_measurements_stand_for_all_events);
    tcase_add_test(t, test_ten_times_the_budget_is_met_within_seconds);
    tcase_add_test(t, test_rates_come_back_when_the_cost_is_gone);
    tcase_add_test(t, test_a_steady_load_is_answered_with_a_steady_level);
    tcase_add_test(t, test_a_flush_a_minute_is_no_reason);
    tcase_add_test(t, test_an_idle_process_keeps_its_rates);
    tcase_add_test(t, test_the_level_has_an_end);
    tcase_add_test(t, test_all_of_the_time_is_never_too_much);
    tcase_add_test(t, test_clocks_that_stand_still_or_go_back_do_no_harm);
    suite_add_tcase(s, t);
    return unit_run_here(s);
}
