/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions on memory that compilers and C code take for granted, for this library alone. A
 * program may bring its own under these names (a sanitizer's, a checker's, a broken one), and those
 * may not be called from a signal handler or before the program has begun.
 *
 * Compiled without the compiler's own idea of these functions, which would turn their loops into
 * calls of themselves.
 */
#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>

#define PIECE sizeof(__m128i)
#define LONG_BYTES ((size_t)1024) /* from here on the processor's own loop is fastest */

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *s, int byte, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t n);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);

/* Loads and stores at any address. */
struct word64 {
    uint64_t v;
} __attribute__((packed, may_alias));
struct word32 {
    uint32_t v;
} __attribute__((packed, may_alias));
struct word16 {
    uint16_t v;
} __attribute__((packed, may_alias));

static __m128i load(const void *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

static void store(void *p, __m128i v)
{
    _mm_storeu_si128((__m128i *)p, v);
}

/* Both ends are read before either is written, so that the areas may overlap. */
static void copy_short(char *to, const char *from, size_t n)
{
    if (n >= 8) {
        struct word64 first = *(const struct word64 *)from;
        struct word64 last = *(const struct word64 *)(from + n - 8);
        *(struct word64 *)to = first;
        *(struct word64 *)(to + n - 8) = last;
    } else if (n >= 4) {
        struct word32 first = *(const struct word32 *)from;
        struct word32 last = *(const struct word32 *)(from + n - 4);
        *(struct word32 *)to = first;
        *(struct word32 *)(to + n - 4) = last;
    } else if (n >= 2) {
        struct word16 first = *(const struct word16 *)from;
        struct word16 last = *(const struct word16 *)(from + n - 2);
        *(struct word16 *)to = first;
        *(struct word16 *)(to + n - 2) = last;
    } else if (n == 1) {
        *to = *from;
    }
}

static void copy_up(char *to, const char *from, size_t n)
{
    __m128i last = load(from + n - PIECE);
    for (size_t i = 0; i + PIECE < n; i += PIECE) {
        store(to + i, load(from + i));
    }
    store(to + n - PIECE, last);
}

static void copy_down(char *to, const char *from, size_t n)
{
    __m128i first = load(from);
    for (size_t i = n; i > PIECE; i -= PIECE) {
        store(to + i - PIECE, load(from + i - PIECE));
    }
    store(to, first);
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    if (n < PIECE) {
        copy_short(to, from, n);
    } else if (n < LONG_BYTES) {
        copy_up(to, from, n);
    } else {
        void *d = to;
        __asm__ volatile("rep movsb" : "+D"(d), "+S"(from), "+c"(n) : : "memory");
    }
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    if (n < PIECE) {
        copy_short(to, from, n);
    } else if ((uintptr_t)to - (uintptr_t)from >= n) {
        return memcpy(to, from, n); /* to begins before from, or behind its end */
    } else {
        copy_down(to, from, n);
    }
    return to;
}

void *memset(void *to, int byte, size_t n)
{
    char *p = to;
    if (n < PIECE) {
        for (size_t i = 0; i < n; i++) {
            p[i] = (char)byte;
        }
    } else if (n < LONG_BYTES) {
        __m128i v = _mm_set1_epi8((char)byte);
        for (size_t i = 0; i + PIECE < n; i += PIECE) {
            store(p + i, v);
        }
        store(p + n - PIECE, v);
    } else {
        void *d = to;
        __asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(byte) : "memory");
    }
    return to;
}

/* Bit per byte in which the pieces differ. */
static unsigned differing(__m128i a, __m128i b)
{
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) ^ 0xffffU;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a;
    const unsigned char *y = b;
    size_t i = 0;
    for (; i + PIECE <= n; i += PIECE) {
        unsigned bits = differing(load(x + i), load(y + i));
        if (bits != 0) {
            i += (size_t)__builtin_ctz(bits);
            return x[i] - y[i];
        }
    }
    for (; i < n; i++) {
        if (x[i] != y[i]) {
            return x[i] - y[i];
        }
    }
    return 0;
}

/*
 * The first place of byte in s, at most n bytes on; n or more when there is none. Pieces are read
 * aligned, so that none reaches into a page that s does not.
 */
static size_t find(const char *s, int byte, size_t n)
{
    size_t before = (uintptr_t)s % PIECE;
    const char *piece = s - before;
    __m128i wanted = _mm_set1_epi8((char)byte);
    unsigned bits = differing(*(const __m128i *)(const void *)piece, wanted) ^ 0xffffU;
    bits >>= before;
    if (bits != 0) {
        return (size_t)__builtin_ctz(bits);
    }
    for (size_t i = PIECE - before; i < n; i += PIECE) {
        bits = differing(*(const __m128i *)(const void *)(s + i), wanted) ^ 0xffffU;
        if (bits != 0) {
            return i + (size_t)__builtin_ctz(bits);
        }
    }
    return n;
}

void *memchr(const void *s, int byte, size_t n)
{
    size_t at = n == 0 ? 0 : find(s, byte, n);
    return at >= n ? NULL : (char *)(uintptr_t)s + at;
}

size_t strlen(const char *s)
{
    return find(s, 0, SIZE_MAX);
}

size_t strnlen(const char *s, size_t n)
{
    size_t at = n == 0 ? 0 : find(s, 0, n);
    return at < n ? at : n;
}

int strcmp(const char *a, const char *b)
{
    const unsigned char *x = (const unsigned char *)a;
    const unsigned char *y = (const unsigned char *)b;
    while (*x == *y && *x != 0) {
        x++;
        y++;
    }
    return *x - *y;
}

int strncmp(const char *a, const char *b, size_t n)
{
    const unsigned char *x = (const unsigned char *)a;
    const unsigned char *y = (const unsigned char *)b;
    size_t i = 0;
    while (i < n && x[i] == y[i] && x[i] != 0) {
        i++;
    }
    return i == n ? 0 : x[i] - y[i];
}

char *strchr(const char *s, int c)
{
    for (;; s++) {
        if (*s == (char)c) {
            return (char *)(uintptr_t)s;
        }
        if (*s == '\0') {
            return NULL;
        }
    }
}

char *strrchr(const char *s, int c)
{
    char *last = NULL;
    for (;; s++) {
        if (*s == (char)c) {
            last = (char *)(uintptr_t)s;
        }
        if (*s == '\0') {
            return last;
        }
    }
}
