/* SPDX-License-Identifier: Apache-2.0 */
/*
 * I1 The output never grows past max, whatever the headers promise.
 * I2 The data has to end where its last member or frame ends.
 */
#include "core/decode/unpack.h"

#define ZLIB_CONST /* next_in points to const */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "core/decode/meter.h"

#define GZIP_RATIO_MAX 1032U /* of deflate, by its format */
#define GUESS_MAX ((size_t)64 << 20)
#define STEP_MIN ((size_t)64 << 10)
#define METER_STEP ((size_t)4 << 20)

struct output {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    size_t max;
};

enum otp_packing otp_packing_of(const uint8_t *data, size_t len)
{
    static const uint8_t zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};

    if (len >= 2 && data[0] == 0x1f && data[1] == 0x8b) {
        return OTP_GZIP;
    }
    if (len >= 4 && memcmp(data, zstd_magic, sizeof(zstd_magic)) == 0) {
        return OTP_ZSTD;
    }
    /* A skippable frame of zstd. */
    if (len >= 4 && (data[0] & 0xf0U) == 0x50 && data[1] == 0x2a && data[2] == 0x4d &&
        data[3] == 0x18) {
        return OTP_ZSTD;
    }
    return OTP_UNPACKED;
}

/* Room for at least one more byte. One byte past max may be used, to see that there is more. */
static enum otp_status make_room(struct output *o, struct otp_unpacked *out)
{
    if (o->size < o->capacity) {
        return OTP_OK;
    }
    if (o->size > o->max) {
        out->reason = "it unpacks to more than the limit";
        return OTP_TOO_LARGE;
    }
    size_t capacity = o->capacity + o->capacity / 2;
    capacity = capacity < STEP_MIN ? STEP_MIN : capacity;
    capacity = capacity > o->max + 1 ? o->max + 1 : capacity;
    uint8_t *bytes = realloc(o->bytes, capacity);
    if (bytes == NULL) {
        out->reason = "no memory";
        return OTP_NO_MEMORY;
    }
    o->bytes = bytes;
    o->capacity = capacity;
    return OTP_OK;
}

/* A first size that the packed data makes likely; wrong guesses cost a copy, never more. */
static void guess_size(struct output *o, uint64_t guess)
{
    size_t size = guess > GUESS_MAX ? GUESS_MAX : (size_t)guess;
    size = size > o->max ? o->max : size;
    o->bytes = malloc(size + 1);
    o->capacity = o->bytes == NULL ? 0 : size + 1;
}

/* Bytes that one step may unpack: all that there is room for, or a part, to say how far it is. */
static size_t step_of(const struct output *o)
{
    size_t room = o->capacity - o->size;
    return otp_meter_show != NULL && room > METER_STEP ? METER_STEP : room;
}

static uInt clamp_uint(size_t n)
{
    return n > UINT_MAX ? UINT_MAX : (uInt)n;
}

/* One step of inflate; *out_ret is zlib's answer. */
static enum otp_status gzip_step(z_stream *z, const uint8_t *end, struct output *o,
                                 struct otp_unpacked *out, int *out_ret)
{
    enum otp_status status = make_room(o, out);

    if (status != OTP_OK) {
        return status;
    }
    z->avail_in = clamp_uint((size_t)(end - z->next_in));
    z->next_out = o->bytes + o->size;
    z->avail_out = clamp_uint(step_of(o));
    *out_ret = inflate(z, Z_NO_FLUSH);
    o->size = (size_t)(z->next_out - o->bytes);
    if (*out_ret == Z_OK || *out_ret == Z_STREAM_END) {
        return OTP_OK;
    }
    if (*out_ret == Z_BUF_ERROR && z->next_in == end) {
        out->reason = "the gzip data ends too early";
        return OTP_TRUNCATED;
    }
    out->reason = *out_ret == Z_MEM_ERROR ? "no memory" : "the gzip data is damaged";
    return OTP_MALFORMED;
}

static enum otp_status unpack_gzip(const uint8_t *data, size_t len, struct output *o,
                                   struct otp_unpacked *out)
{
    const uint8_t *end = data + len;
    enum otp_status status = OTP_OK;
    int ret = Z_OK;
    z_stream z;

    memset(&z, 0, sizeof(z));
    if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK) {
        out->reason = "no memory";
        return OTP_NO_MEMORY;
    }
    z.next_in = data;
    while (status == OTP_OK && (ret != Z_STREAM_END || z.next_in < end)) {
        if (ret == Z_STREAM_END) {
            if (otp_packing_of(z.next_in, (size_t)(end - z.next_in)) != OTP_GZIP) {
                out->reason = "there is something else behind the gzip data";
                status = OTP_MALFORMED;
                break;
            }
            (void)inflateReset(&z); /* cannot fail on a stream that was initialised */
        }
        otp_meter_at("unpacking", data, z.next_in, end, 0);
        status = gzip_step(&z, end, o, out, &ret);
    }
    out->fault_off = (uint64_t)(z.next_in - data);
    (void)inflateEnd(&z);
    return status;
}

static enum otp_status unpack_zstd(const uint8_t *data, size_t len, struct output *o,
                                   struct otp_unpacked *out)
{
    ZSTD_DStream *z = ZSTD_createDStream();
    ZSTD_inBuffer in = {.src = data, .size = len, .pos = 0};
    enum otp_status status = OTP_OK;
    size_t more = 1; /* 0: at the end of a frame */

    if (z == NULL) {
        out->reason = "no memory";
        return OTP_NO_MEMORY;
    }
    while (status == OTP_OK && (more != 0 || in.pos < len)) {
        status = make_room(o, out);
        if (status != OTP_OK) {
            break;
        }
        otp_meter_at("unpacking", data, data + in.pos, data + len, 0);
        ZSTD_outBuffer to = {.dst = o->bytes, .size = o->size + step_of(o), .pos = o->size};
        size_t pos = in.pos;
        more = ZSTD_decompressStream(z, &to, &in);
        if (ZSTD_isError(more)) {
            out->reason = pos == 0 || in.pos < len ? "the zstd data is damaged"
                                                   : "the zstd data is damaged at its end";
            status = OTP_MALFORMED;
        } else if (more != 0 && in.pos == len && to.pos == o->size && to.pos < to.size) {
            out->reason = "the zstd data ends too early";
            status = OTP_TRUNCATED;
        }
        o->size = to.pos;
    }
    out->fault_off = in.pos;
    (void)ZSTD_freeDStream(z);
    return status;
}

static uint64_t gzip_guess(const uint8_t *data, size_t len)
{
    uint64_t size = 0;

    if (len < 18) {
        return 0;
    }
    for (size_t i = 0; i < 4; i++) {
        size |= (uint64_t)data[len - 4 + i] << (8 * i);
    }
    return size > (uint64_t)len * GZIP_RATIO_MAX ? 0 : size;
}

enum otp_status otp_unpack(const uint8_t *data, size_t len, size_t max, struct otp_unpacked *out)
{
    struct output o = {.max = max};
    enum otp_packing packing = otp_packing_of(data, len);
    enum otp_status status;

    memset(out, 0, sizeof(*out));
    if (packing == OTP_GZIP) {
        guess_size(&o, gzip_guess(data, len));
        status = unpack_gzip(data, len, &o, out);
    } else {
        unsigned long long size = ZSTD_getFrameContentSize(data, len);
        guess_size(&o, size >= ZSTD_CONTENTSIZE_ERROR ? 0 : size);
        status = unpack_zstd(data, len, &o, out);
    }
    if (status == OTP_OK && o.size > max) {
        out->reason = "it unpacks to more than the limit";
        status = OTP_TOO_LARGE;
    }
    if (status != OTP_OK) {
        free(o.bytes);
        return status;
    }
    out->bytes = o.bytes;
    out->size = o.size;
    uint8_t *smaller = realloc(o.bytes, o.size + 1);
    out->bytes = smaller != NULL ? smaller : o.bytes;
    return OTP_OK;
}
