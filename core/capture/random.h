/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers and the three functions that sampling needs, without libm.
 *
 * A heap sample is a point of a Poisson process over the bytes allocated, with one point per
 * interval on average. An allocation of n bytes holds at least one point with probability 1 -
 * exp(-n / interval); dividing by that probability makes its contribution unbiased.
 */
#ifndef OTP_CAPTURE_RANDOM_H
#define OTP_CAPTURE_RANDOM_H

#include <stdint.h>

/* Next 64 random bits of a thread's own generator (splitmix64). Context: hot. */
uint64_t otp_random_next(uint64_t *state);
/* A random number in [0, limit). Context: hot. */
uint64_t otp_random_below(uint64_t *state, uint64_t limit);
/* Natural logarithm of x in (0, 1]; relative error below 1e-9. Context: hot. */
double otp_log(double x);
/* 1 - exp(-x) for x >= 0; relative error below 1e-9. Context: hot. */
double otp_one_minus_exp(double x);
/* x (0 or more, below 2^63) rounded up or down, so that it is x on average. Context: hot. */
uint64_t otp_random_round(uint64_t *state, double x);
/* Bytes to the next point: exponential with the given mean, rounded down. Context: hot. */
uint64_t otp_random_gap(uint64_t *state, uint64_t mean);

#endif
