/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/random.h"

#include <string.h>

#define LN2 0.693147180559945309417
#define MAX_GAP (UINT64_C(1) << 56)

uint64_t otp_random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

uint64_t otp_random_below(uint64_t *state, uint64_t limit)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)otp_random_next(state) * limit;
    return (uint64_t)(product >> 64);
}

/* x = m * 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh((m - 1) / (m + 1)) by its series. */
double otp_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    int e = (int)(bits >> 52) - 1023;
    bits = (bits & 0x000fffffffffffffU) | (UINT64_C(1023) << 52);
    double m;
    memcpy(&m, &bits, sizeof(m));
    if (m > 1.41421356237309504880) {
        m /= 2;
        e++;
    }
    double s = (m - 1) / (m + 1);
    double s2 = s * s;
    double sum = 1.0 / 13;
    for (int k = 11; k >= 1; k -= 2) {
        sum = sum * s2 + 1.0 / k;
    }
    return 2 * s * sum + e * LN2;
}

/* Small x: the series itself, to keep the leading digits. Else exp(-x) = 2^-k * exp(-f ln 2). */
double otp_one_minus_exp(double x)
{
    if (x > 64) {
        return 1;
    }
    if (x < 0.5) {
        double sum = 0;
        for (int n = 11; n >= 2; n--) {
            sum = (1 - sum) * x / n;
        }
        return x * (1 - sum);
    }
    int k = (int)(x / LN2);
    double f = x - k * LN2;
    double e = 1;
    for (int n = 16; n >= 1; n--) {
        e = 1 - e * f / n;
    }
    uint64_t bits = (uint64_t)(1023 - k) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof(scale));
    return 1 - e * scale;
}

uint64_t otp_random_round(uint64_t *state, double x)
{
    uint64_t whole = (uint64_t)x;
    double rest = x - (double)whole;
    return whole + (rest > 0 && (double)(otp_random_next(state) >> 11) * 0x1p-53 < rest);
}

uint64_t otp_random_gap(uint64_t *state, uint64_t mean)
{
    /* 53 random bits, never 0. */
    double u = ((double)(otp_random_next(state) >> 11) + 0.5) * 0x1p-53;
    double gap = -otp_log(u) * (double)mean;
    return gap >= (double)MAX_GAP ? MAX_GAP : (uint64_t)gap;
}
