/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/sha256.h"

#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t load_be(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return __builtin_bswap32(v);
}

static void expand(uint32_t w[64], const unsigned char *block)
{
    for (unsigned t = 0; t < 16; t++) {
        w[t] = load_be(block + 4 * t);
    }
    for (unsigned t = 16; t < 64; t++) {
        uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
}

/* Section 6.2.2; the names of the variables are those of the standard. */
static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    uint32_t a = state[0];
    uint32_t b = state[1];
    uint32_t c = state[2];
    uint32_t d = state[3];
    uint32_t e = state[4];
    uint32_t f = state[5];
    uint32_t g = state[6];
    uint32_t h = state[7];

    expand(w, block);
    for (unsigned t = 0; t < 64; t++) {
        uint32_t t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) +
                      round_constants[t] + w[t];
        uint32_t t2 =
            (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

void otp_sha256_init(struct otp_sha256 *s)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memset(s, 0, sizeof(*s));
    memcpy(s->state, start, sizeof(start));
}

void otp_sha256_add(struct otp_sha256 *s, const void *data, size_t len)
{
    const unsigned char *p = data;
    size_t used = (size_t)(s->total % sizeof(s->block));

    s->total += len;
    while (len > 0) {
        size_t n = sizeof(s->block) - used;
        n = n > len ? len : n;
        memcpy(s->block + used, p, n);
        used += n;
        p += n;
        len -= n;
        if (used == sizeof(s->block)) {
            compress(s->state, s->block);
            used = 0;
        }
    }
}

void otp_sha256_finish(struct otp_sha256 *s, unsigned char digest[OTP_SHA256_SIZE])
{
    static const unsigned char padding[64] = {0x80};
    uint64_t bits = __builtin_bswap64(s->total * 8);
    size_t used = (size_t)(s->total % sizeof(s->block));

    otp_sha256_add(s, padding, used < 56 ? 56 - used : 120 - used);
    otp_sha256_add(s, &bits, sizeof(bits));
    for (unsigned i = 0; i < 8; i++) {
        uint32_t word = __builtin_bswap32(s->state[i]);
        memcpy(digest + 4 * i, &word, sizeof(word));
    }
}
