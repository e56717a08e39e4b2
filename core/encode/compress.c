/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/compress.h"

#include <limits.h>
#include <string.h>

#define ZSTD_STATIC_LINKING_ONLY /* for the allocator and the parameters of a context */
#include <zlib.h>
#include <zstd.h>

#define GZIP_HEAD 16 /* added to the window: a gzip head instead of zlib's */
#define GZIP_STEP ((size_t)8 << 10)
/*
 * Where what follows is of another kind (samples, locations, texts, stacks) a new block with codes
 * of its own begins: zlib by itself begins one after 16,384 symbols, more than most messages have.
 */
#define PIECE ((size_t)512)
#define PIECE_APART 7U               /* tenths of the differences of all shares, 0 to 20 */
#define BLOCK_MIN ((size_t)1024)     /* a table of codes takes some 60 bytes */
#define BLOCKS_MAX ((size_t)1 << 20) /* in larger messages it would not tell */
#define LEVEL_MIN 1
#define LEVEL_MAX 9

/* From the best that is worth its memory to what there is nearly always memory for. */
static const struct {
    int window;
    int mem_level;
} gzip_shapes[] = {{MAX_WBITS, 8}, {12, 5}, {10, 2}};

static const struct {
    unsigned window_log; /* at most */
    unsigned table_log;  /* 17: tables that keep every level's workspace under 4 MiB */
} zstd_shapes[] = {{31, 17}, {13, 11}, {10, 8}};

static int clamp_level(int level)
{
    return level < LEVEL_MIN ? LEVEL_MIN : level > LEVEL_MAX ? LEVEL_MAX : level;
}

/* Takes back what was appended and says why. */
static enum otp_status undo(struct otp_buf *out, size_t len, size_t refused)
{
    enum otp_status status = out->heap->failures != refused ? OTP_NO_MEMORY : OTP_TOO_LARGE;
    out->len = len;
    out->failed = false;
    return status;
}

static void *gzip_alloc(void *heap, unsigned items, unsigned size)
{
    return otp_heap_calloc(heap, items, size);
}

static void heap_free(void *heap, void *p)
{
    otp_heap_free(heap, p);
}

static void count_bytes(const unsigned char *in, size_t len, uint32_t counts[256])
{
    for (size_t i = 0; i < len; i++) {
        counts[in[i]]++;
    }
}

/* Whether the bytes of a piece are distributed otherwise than those of the block before it. */
static bool is_other(const uint32_t block[256], size_t block_len, const uint32_t piece[256],
                     size_t piece_len)
{
    uint64_t apart = 0;
    for (size_t i = 0; i < 256; i++) {
        uint64_t a = (uint64_t)block[i] * piece_len;
        uint64_t b = (uint64_t)piece[i] * block_len;
        apart += a > b ? a - b : b - a;
    }
    return apart * 10 > (uint64_t)block_len * piece_len * PIECE_APART;
}

/* How many of the bytes to come, at least one, are best packed with one table of codes. */
static size_t block_len(const unsigned char *in, size_t len)
{
    uint32_t block[256] = {0};
    size_t at = 0;
    while (at < len) {
        uint32_t piece[256] = {0};
        size_t n = len - at < PIECE ? len - at : PIECE;
        count_bytes(in + at, n, piece);
        if (at >= BLOCK_MIN && n >= PIECE / 2 && is_other(block, at, piece, n)) {
            break;
        }
        for (size_t i = 0; i < 256; i++) {
            block[i] += piece[i];
        }
        at += n;
    }
    return at;
}

/* Packs what the stream has as input, and more of what it holds back, as flush wants it. */
static bool deflate_part(z_stream *z, int flush, struct otp_buf *out)
{
    int result;
    do {
        z->next_out = otp_buf_reserve(out, GZIP_STEP);
        if (z->next_out == NULL) {
            return false;
        }
        z->avail_out = (unsigned)GZIP_STEP;
        result = deflate(z, flush);
        out->len += GZIP_STEP - z->avail_out;
    } while (z->avail_out == 0 && (result == Z_OK || result == Z_BUF_ERROR));
    return result == Z_STREAM_END || (flush != Z_FINISH && z->avail_in == 0);
}

/* Runs the stream to its end; its input may be longer than it can count. */
static bool deflate_all(z_stream *z, const void *in, size_t len, struct otp_buf *out)
{
    const unsigned char *next = in;
    bool has_blocks = len <= BLOCKS_MAX;
    size_t n;
    for (bool ok = true; ok; next += n, len -= n) {
        n = has_blocks ? block_len(next, len) : len > UINT_MAX ? UINT_MAX : len;
        z->next_in = (z_const Bytef *)(uintptr_t)next;
        z->avail_in = (unsigned)n;
        if (n == len) {
            return deflate_part(z, Z_FINISH, out);
        }
        ok = deflate_part(z, has_blocks ? Z_BLOCK : Z_NO_FLUSH, out);
    }
    return false;
}

static bool gzip_begin(struct otp_heap *heap, z_stream *z, int level, size_t shape)
{
    memset(z, 0, sizeof(*z));
    z->zalloc = gzip_alloc;
    z->zfree = heap_free;
    z->opaque = heap;
    return deflateInit2(z, clamp_level(level), Z_DEFLATED, gzip_shapes[shape].window + GZIP_HEAD,
                        gzip_shapes[shape].mem_level, Z_DEFAULT_STRATEGY) == Z_OK;
}

/* With as large a window as there is memory for, with what comes out. */
enum otp_status otp_gzip(struct otp_heap *heap, const void *in, size_t len, int level,
                         struct otp_buf *out)
{
    size_t before = out->len;
    enum otp_status status = OTP_NO_MEMORY;
    if (!otp_buf_ok(out)) {
        return OTP_NO_MEMORY;
    }
    for (size_t i = 0; i < OTP_ARRAY_LEN(gzip_shapes) && status == OTP_NO_MEMORY; i++) {
        size_t refused = out->heap->failures;
        z_stream z;
        if (gzip_begin(heap, &z, level, i)) {
            bool ok = deflate_all(&z, in, len, out);
            (void)deflateEnd(&z);
            status = ok ? OTP_OK : undo(out, before, refused);
        }
    }
    return status;
}

static void *zstd_alloc(void *heap, size_t size)
{
    return otp_heap_alloc(heap, size);
}

static int lesser(unsigned a, unsigned b)
{
    return (int)(a < b ? a : b);
}

static bool set_up(ZSTD_CCtx *c, size_t len, int level, size_t shape)
{
    const unsigned tables = zstd_shapes[shape].table_log;
    ZSTD_compressionParameters p = ZSTD_getCParams(level, len, 0);
    const struct {
        ZSTD_cParameter name;
        int value;
    } parameters[] = {
        {ZSTD_c_compressionLevel, level},
        {ZSTD_c_windowLog, lesser(p.windowLog, zstd_shapes[shape].window_log)},
        {ZSTD_c_hashLog, lesser(p.hashLog, tables)},
        {ZSTD_c_chainLog, lesser(p.chainLog, tables)},
        {ZSTD_c_checksumFlag, 1},
        {ZSTD_c_contentSizeFlag, 1},
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(parameters); i++) {
        if (ZSTD_isError(ZSTD_CCtx_setParameter(c, parameters[i].name, parameters[i].value))) {
            return false;
        }
    }
    return true;
}

enum otp_status otp_zstd(struct otp_heap *heap, const void *in, size_t len, int level,
                         struct otp_buf *out)
{
    const ZSTD_customMem memory = {
        .customAlloc = zstd_alloc, .customFree = heap_free, .opaque = heap};
    size_t before = out->len;
    size_t refused = out->heap->failures;
    size_t bound = ZSTD_compressBound(len);
    if (!otp_buf_ok(out)) {
        return OTP_NO_MEMORY;
    }
    if (ZSTD_isError(bound)) {
        return OTP_TOO_LARGE;
    }
    unsigned char *to = otp_buf_reserve(out, bound);
    if (to == NULL) {
        return undo(out, before, refused);
    }
    size_t n = SIZE_MAX; /* an error */
    for (size_t i = 0; i < OTP_ARRAY_LEN(zstd_shapes) && ZSTD_isError(n); i++) {
        ZSTD_CCtx *c = ZSTD_createCCtx_advanced(memory);
        if (c != NULL && set_up(c, len, clamp_level(level), i)) {
            n = ZSTD_compress2(c, to, bound, in, len);
        }
        (void)ZSTD_freeCCtx(c);
    }
    if (ZSTD_isError(n)) {
        return OTP_NO_MEMORY;
    }
    out->len += n;
    return OTP_OK;
}
