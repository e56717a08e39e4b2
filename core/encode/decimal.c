/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A double is m * 2^e with whole m. With e >= 0 that is a whole number; otherwise
 * m * 5^-e * 10^e. Either way a whole number of up to 770 decimal digits is computed exactly, in
 * limbs of nine digits, and then rounded half to even.
 */
#include "core/encode/decimal.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/fmt.h"

#define LIMB UINT32_C(1000000000)
#define LIMB_DIGITS 9U
#define LIMBS_MAX 90U
#define DIGITS 17U
#define MANTISSA_BITS 52
#define EXPONENT_MASK 0x7ffU
#define BIAS 1075 /* 1023 + 52: m is whole */

struct big {
    uint32_t limbs[LIMBS_MAX]; /* lowest first */
    unsigned count;
};

static void multiply(struct big *b, uint32_t by)
{
    uint64_t carry = 0;
    for (unsigned i = 0; i < b->count; i++) {
        uint64_t v = (uint64_t)b->limbs[i] * by + carry;
        b->limbs[i] = (uint32_t)(v % LIMB);
        carry = v / LIMB;
    }
    while (carry > 0 && b->count < LIMBS_MAX) {
        b->limbs[b->count++] = (uint32_t)(carry % LIMB);
        carry /= LIMB;
    }
}

static void power(struct big *b, uint32_t base, int times)
{
    for (int i = 0; i < times; i++) {
        multiply(b, base);
    }
}

/* All decimal digits, the highest first; returns how many. */
static size_t digits_of(const struct big *b, char *out)
{
    char limb[OTP_FMT_NUMBER_MAX];
    size_t len = otp_fmt_u64(out, b->limbs[b->count - 1]);
    for (unsigned i = b->count - 1; i-- > 0;) {
        size_t n = otp_fmt_u64(limb, b->limbs[i]);
        memset(out + len, '0', LIMB_DIGITS - n);
        memcpy(out + len + LIMB_DIGITS - n, limb, n);
        len += LIMB_DIGITS;
    }
    return len;
}

static bool rounds_up(const char *digits, size_t len)
{
    bool is_half = digits[DIGITS] == '5';
    for (size_t i = DIGITS + 1; is_half && i < len; i++) {
        is_half = digits[i] == '0';
    }
    return is_half ? (digits[DIGITS - 1] - '0') % 2 == 1 : digits[DIGITS] >= '5';
}

/* Cuts to DIGITS digits; true when the number became one digit longer (99…9 to 100…0). */
static bool round_off(char *digits, size_t len)
{
    if (len <= DIGITS || !rounds_up(digits, len)) {
        return false;
    }
    size_t i = DIGITS;
    while (i > 0 && digits[i - 1] == '9') {
        digits[--i] = '0';
    }
    if (i > 0) {
        digits[i - 1]++;
        return false;
    }
    digits[0] = '1';
    return true;
}

static size_t put_word(char *out, const char *word)
{
    size_t len = strlen(word);
    memcpy(out, word, len);
    return len;
}

/* D.DDDDe±X; the exponent and the point only where they are needed. */
static size_t put_scientific(char *out, const char *digits, size_t count, int exponent)
{
    size_t len = 0;
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    out[len++] = digits[0];
    if (count > 1) {
        out[len++] = '.';
        memcpy(out + len, digits + 1, count - 1);
        len += count - 1;
    }
    if (exponent != 0) {
        out[len++] = 'e';
        len += otp_fmt_i64(out + len, exponent);
    }
    return len;
}

/* b = b * m, for m of up to 53 bits: more than one limb holds, so in two steps. */
static void multiply_wide(struct big *b, uint64_t m)
{
    struct big high = *b;
    uint64_t carry = 0;
    multiply(&high, (uint32_t)(m >> 27));
    multiply(&high, UINT32_C(1) << 27);
    multiply(b, (uint32_t)(m & ((UINT64_C(1) << 27) - 1)));
    for (unsigned i = 0; i < LIMBS_MAX; i++) {
        uint64_t sum =
            carry + (i < b->count ? b->limbs[i] : 0) + (i < high.count ? high.limbs[i] : 0);
        b->limbs[i] = (uint32_t)(sum % LIMB);
        carry = sum / LIMB;
    }
    b->count = LIMBS_MAX;
    while (b->count > 1 && b->limbs[b->count - 1] == 0) {
        b->count--;
    }
}

/* m * 2^e with m > 0 as decimal digits, the first 17 of them rounded. */
static size_t put_finite(char *out, uint64_t m, int e)
{
    char digits[LIMBS_MAX * LIMB_DIGITS + LIMB_DIGITS];
    struct big b = {.limbs = {1}, .count = 1};
    power(&b, e < 0 ? 5 : 2, e < 0 ? -e : e);
    multiply_wide(&b, m);
    size_t count = digits_of(&b, digits);
    int ten = (e < 0 ? e : 0) + (int)count - 1;
    ten += round_off(digits, count) ? 1 : 0;
    return put_scientific(out, digits, count < DIGITS ? count : DIGITS, ten);
}

size_t otp_decimal(char out[OTP_DECIMAL_MAX], double v)
{
    uint64_t bits;
    size_t len = 0;

    memcpy(&bits, &v, sizeof(bits));
    bool is_negative = bits >> 63 != 0;
    uint64_t m = bits & ((UINT64_C(1) << MANTISSA_BITS) - 1);
    unsigned exponent = (unsigned)(bits >> MANTISSA_BITS & EXPONENT_MASK);
    if (exponent == EXPONENT_MASK) {
        return put_word(out, m != 0 ? "NaN" : is_negative ? "-Infinity" : "Infinity");
    }
    if (is_negative) {
        out[len++] = '-';
    }
    if (exponent == 0 && m == 0) {
        out[len++] = '0';
        return len;
    }
    /* Without an exponent the number is subnormal: no hidden bit, the smallest exponent. */
    bool is_normal = exponent != 0;
    m |= is_normal ? UINT64_C(1) << MANTISSA_BITS : 0;
    return len + put_finite(out + len, m, (is_normal ? (int)exponent : 1) - BIAS);
}
