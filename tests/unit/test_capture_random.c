/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of sampling: own logarithm and exponential against libm, and the process itself.
 */
#include <check.h>
#include <math.h>
#include <stdint.h>

#include "core/capture/random.h"
#include "tests/unit/run.h"

#define SEED 424242U

START_TEST(test_log_agrees_with_libm)
{
    uint64_t state = SEED;
    for (int i = 0; i < 200000; i++) {
        double x = ldexp((double)(otp_random_next(&state) >> 11) + 0.5, -53 - (i % 40));
        double expected = log(x);
        ck_assert_double_le(fabs(otp_log(x) - expected), 1e-9 * fabs(expected) + 1e-12);
    }
    ck_assert_double_eq(otp_log(1), 0);
}
END_TEST

START_TEST(test_probability_agrees_with_libm)
{
    for (double x = 1e-12; x < 100; x *= 1.003) {
        double expected = -expm1(-x);
        ck_assert_double_le(fabs(otp_one_minus_exp(x) - expected), 1e-9 * expected);
    }
    ck_assert_double_eq(otp_one_minus_exp(0), 0);
}
END_TEST

START_TEST(test_below_stays_below_and_reaches_everything)
{
    uint64_t state = SEED;
    unsigned seen[7] = {0};
    for (int i = 0; i < 70000; i++) {
        uint64_t v = otp_random_below(&state, 7);
        ck_assert_uint_lt(v, 7);
        seen[v]++;
    }
    for (int i = 0; i < 7; i++) {
        /* 10000 expected, standard deviation 92.6 */
        ck_assert_uint_gt(seen[i], 10000 - 5 * 93);
        ck_assert_uint_lt(seen[i], 10000 + 5 * 93);
    }
}
END_TEST

/* Allocations of one size, sampled as the hooks do it, weigh what they are, within four sigma. */
START_TEST(test_weights_are_unbiased)
{
    static const uint64_t sizes[] = {0, 1, 16, 100, 4095, 4096, 4097, 50000, 1000000};
    const uint64_t interval = 4096;
    uint64_t size = sizes[_i];
    uint64_t state = SEED + (uint64_t)_i;
    double probability = otp_one_minus_exp((double)(size + 1) / (double)interval);
    const double count = 400000;
    double objects = 0;
    uint64_t left = otp_random_gap(&state, interval);
    for (int i = 0; i < (int)count; i++) {
        if (size < left) {
            left -= size + 1;
        } else {
            objects += 1 / probability;
            left = otp_random_gap(&state, interval);
        }
    }
    double sigma = sqrt(count * (1 - probability) / probability);
    ck_assert_double_le(fabs(objects - count), 4 * sigma + 1e-6 * count);
}
END_TEST

/* Between two whole numbers, each as often as the other is far; a whole one stays. */
START_TEST(test_rounding_is_right_on_average)
{
    static const double values[] = {0, 0.01, 0.5, 1.26, 1.42, 7.99, 1000.3, 1e12 + 0.25};
    const double count = 200000;
    double value = values[_i];
    double rest = value - floor(value);
    uint64_t state = SEED + (uint64_t)_i;
    double ups = 0;
    for (int i = 0; i < (int)count; i++) {
        double rounded = (double)otp_random_round(&state, value);
        ck_assert(rounded == floor(value) || rounded == ceil(value));
        ups += rounded > value;
    }
    ck_assert_double_le(fabs(ups - count * rest), 4 * sqrt(count * rest * (1 - rest)));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("capture_random");
    TCase *t = tcase_create("random");
    tcase_add_test(t, test_log_agrees_with_libm);
    tcase_add_test(t, test_probability_agrees_with_libm);
    tcase_add_test(t, test_below_stays_below_and_reaches_everything);
    tcase_add_loop_test(t, test_weights_are_unbiased, 0, 9);
    tcase_add_loop_test(t, test_rounding_is_right_on_average, 0, 8);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return unit_run(s);
}
