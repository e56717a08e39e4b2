/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Known by their first bytes: gzip and zstd around any other; a protobuf message begins with the
 * tag of one of its fields; the length of a framed message, big-endian, begins with a byte that no
 * tag can be. Formats that are known but not readable are named in the refusal.
 */
#include "core/decode/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/profiles.h"
#include "core/decode/gperftools.h"
#include "core/decode/otep239.h"
#include "core/decode/otlp.h"
#include "core/decode/json.h"
#include "core/decode/meter.h"
#include "core/decode/old_otlp.h"
#include "core/decode/otlp_version.h"
#include "core/decode/pprof.h"
#include "core/decode/unpack.h"
#include "core/decode/wire.h"

#define FRAME_HEAD 4U /* bytes of a frame's length */
/* Memory for a message: its arrays are at most that many times as large as its bytes. */
#define BUDGET_FACTOR 24U
#define BUDGET_BASE ((uint64_t)1 << 20)
#define BUDGET_MAX ((uint64_t)8 << 30)
#define NOT_ONLY "not one message of the format that is stated"
#define MESSAGES_MAX 500000U /* of one file: an empty one is four bytes there and a record here */

enum format {
    FORMAT_OTLP,
    FORMAT_FRAMES,
    FORMAT_PPROF,
    FORMAT_OTEP239,
    FORMAT_JSON,
    FORMAT_GPERFTOOLS,
    FORMAT_LIKE_GPERFTOOLS,
    FORMAT_NONE
};

/* The file that is being added. */
struct adding {
    struct otp_profile_set *set;
    const struct otp_input *in;
    struct otp_input_fault *fault;
    struct otp_blob *file; /* the first blob: the file's own */
    size_t unpacked;       /* bytes that packed frames have become */
    bool was_packed;
};

/* Bytes that hold one message or a sequence of frames. */
struct content {
    uint8_t *bytes;
    size_t size;
    uint64_t off; /* of bytes in the file */
    enum otp_source source;
    struct otp_rows *rows; /* its samples, when they are beside it */
    size_t read_from;      /* bytes that it was translated from */
};

static enum otp_status refuse(struct adding *a, enum otp_status status, uint64_t off,
                              const char *reason)
{
    a->fault->status = status;
    a->fault->off = off;
    a->fault->in_unpacked = a->was_packed;
    (void)snprintf(a->fault->reason, sizeof(a->fault->reason), "%s", reason);
    return status;
}

/* Adds bytes (adopted) to the set under the file's name. */
static struct otp_blob *add_blob(struct adding *a, uint8_t *bytes, size_t size)
{
    struct otp_profile_set *set = a->set;
    struct otp_blob **blobs =
        realloc(set->blobs, (set->blob_count + 1) * sizeof(struct otp_blob *));
    struct otp_blob *blob = calloc(1, sizeof(*blob));
    char *name = strdup(a->in->name);

    if (blobs != NULL) {
        set->blobs = blobs;
    }
    if (blobs == NULL || blob == NULL || name == NULL) {
        free(blob);
        free(name);
        free(bytes);
        return NULL;
    }
    blob->name = name;
    blob->bytes = bytes;
    blob->size = size;
    set->blobs[set->blob_count++] = blob;
    return blob;
}

static bool append_message(struct otp_profile_set *set, struct otp_profiles *m)
{
    struct otp_profiles **messages =
        realloc(set->messages, (set->message_count + 1) * sizeof(struct otp_profiles *));

    if (messages == NULL) {
        return false;
    }
    set->messages = messages;
    set->messages[set->message_count++] = m;
    return true;
}

static enum otp_status verify(struct adding *a, struct otp_profiles *m)
{
    struct otp_bad_index bad;
    char place[200];

    if (!a->in->with_verify || otp_profiles_verify(m, &bad)) {
        return OTP_OK;
    }
    otp_place_format(&bad.place, place, sizeof(place));
    (void)refuse(a, OTP_MALFORMED, m->off, "");
    (void)snprintf(a->fault->reason, sizeof(a->fault->reason),
                   "%s: index %d is outside its table of %u entries", place, (int)bad.index,
                   (unsigned)bad.count);
    return OTP_MALFORMED;
}

static uint64_t budget_of(size_t size)
{
    uint64_t budget = (uint64_t)size * BUDGET_FACTOR + BUDGET_BASE;
    return budget > BUDGET_MAX ? BUDGET_MAX : budget;
}

/* known: its version; NULL: it was translated to the present one. */
static enum otp_status decode(struct adding *a, const struct content *c,
                              const struct otp_otlp_version *known)
{
    struct otp_wire_fault fault = {.reason = NULL};
    struct otp_profiles *m = calloc(1, sizeof(*m));

    if (m == NULL || !append_message(a->set, m)) {
        free(m);
        return refuse(a, OTP_NO_MEMORY, c->off, "no memory");
    }
    m->blob = a->file;
    m->off = c->off;
    m->number = a->file->message_count++;
    m->was_packed = a->was_packed;
    m->bytes = c->bytes;
    m->source = c->source;
    m->size = (uint32_t)c->size;
    if (!otp_profiles_init(m, budget_of(c->rows != NULL ? c->read_from : c->size))) {
        return refuse(a, OTP_NO_MEMORY, c->off, "no memory");
    }
    enum otp_status status =
        c->rows != NULL ? otp_otlp_decode_rows(m, a->in->with_notes, c->rows, &fault)
                        : otp_otlp_decode(m, a->in->with_notes, a->in->is_consumed, known, &fault);
    if (status != OTP_OK) {
        uint64_t at = (uint64_t)(fault.at - c->bytes);
        return refuse(a, status, c->off + at, fault.reason);
    }
    return verify(a, m);
}

typedef enum otp_status (*translator)(const uint8_t *data, size_t len, struct otp_translation *t);

/* Reads one message of another format: its content becomes OTLP in a blob of its own. rows: all
 * zero, for samples that need not be in that. */
static enum otp_status translate_one(struct adding *a, const struct content *c, translator run,
                                     struct otp_rows *rows, size_t *out_used)
{
    struct otp_translation t = {.budget_bytes = budget_of(c->size),
                                .rows = rows,
                                .is_consumed = a->in->is_consumed && !a->in->with_original};

    otp_emit_init(&t.out, OTP_INPUT_MAX);
    enum otp_status status = run(c->bytes, c->size, &t);
    if (status != OTP_OK) {
        otp_emit_fini(&t.out);
        (void)refuse(a, status, c->off + (uint64_t)(t.fault.at - c->bytes), "");
        (void)snprintf(a->fault->reason, sizeof(a->fault->reason), "%s: %s", a->file->format,
                       t.fault.reason);
        return status;
    }
    if (add_blob(a, t.out.data, t.out.len) == NULL) {
        return refuse(a, OTP_NO_MEMORY, c->off, "no memory");
    }
    struct content otlp = {.bytes = t.out.data,
                           .size = t.out.len,
                           .source = c->source,
                           .rows = rows->width > 0 ? rows : NULL,
                           .read_from = t.used + t.out.len};
    status = decode(a, &otlp, NULL);
    *out_used = t.used;
    if (status != OTP_OK) {
        a->fault->off = c->off; /* where in the message is known of its translation only */
    } else {
        struct otp_profiles *m = a->set->messages[a->set->message_count - 1];
        m->original = c->bytes;
        m->original_size = t.used;
        m->lost = t.lost;
        m->off = c->off;
    }
    return status;
}

static enum otp_status translate(struct adding *a, const struct content *c, translator run,
                                 size_t *out_used)
{
    struct otp_rows rows;

    memset(&rows, 0, sizeof(rows));
    enum otp_status status = translate_one(a, c, run, &rows, out_used);
    otp_rows_fini(&rows);
    return status;
}

/* One message after the other, to the end. */
static enum otp_status translate_all(struct adding *a, const struct content *all,
                                     enum otp_source source, translator run)
{
    struct content c = *all;
    enum otp_status status = OTP_OK;

    c.source = source;
    while (c.size > 0 && status == OTP_OK) {
        size_t used = 0;
        status = translate(a, &c, run, &used);
        c.bytes += used;
        c.size -= used;
        c.off += used;
    }
    return status;
}

/* OTLP of any version. */
static enum otp_status decode_otlp(struct adding *a, const struct content *c)
{
    struct otp_otlp_version found;

    otp_otlp_version_find(c->bytes, c->size, &found);
    if (!found.is_old) {
        return decode(a, c, &found);
    }
    if (a->in->only == OTP_ONLY_OTLP) {
        return refuse(a, OTP_UNSUPPORTED, c->off, NOT_ONLY);
    }
    a->file->format = otp_old_otlp_name(c->bytes, c->size);
    return translate_all(a, c, OTP_SOURCE_OLD_OTLP, otp_old_otlp_decode);
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool begins_with(const uint8_t *p, size_t len, const char *text)
{
    size_t n = strlen(text);
    return len >= n && memcmp(p, text, n) == 0;
}

/* gperftools' CPU profile: machine words 0, 3, 0, period, 0; heap profile: text; and jemalloc's. */
static bool is_gperftools(const uint8_t *p, size_t len)
{
    static const uint8_t wide[] = {0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0};
    return begins_with(p, len, "heap profile:") || begins_with(p, len, "heap_v2/") ||
           (len >= 40 && memcmp(p, wide, sizeof(wide)) == 0);
}

/* The same of 32-bit words; profiles with names, and of locks. */
static bool is_like_gperftools(const uint8_t *p, size_t len)
{
    static const uint8_t narrow[] = {0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0};
    return begins_with(p, len, "--- ") || (len >= 20 && memcmp(p, narrow, sizeof(narrow)) == 0);
}

/* pprof's sample types are two numbers each, where OTLP has a resource with its scopes. */
static bool is_pprof(const uint8_t *p, size_t len)
{
    struct otp_wire_fault ignored = {.reason = NULL};
    struct otp_wire w;
    struct otp_field f;

    otp_wire_init(&w, p, len, &ignored);
    while (otp_wire_next(&w, &f)) {
        if (f.number == 1 && f.type == OTP_WIRE_LEN && f.len > 0) {
            return f.data[0] == 0x08 || f.data[0] == 0x10;
        }
        if (f.number >= 9 && f.number <= 14 && f.type == OTP_WIRE_VARINT) {
            return true;
        }
    }
    return false;
}

/* A message whose first field has so many bytes begins as a text does in which a line feed stands
 * before the brace. In such a text the field would not end where another one begins. */
static bool is_message_of_123(const uint8_t *p, size_t len)
{
    struct otp_wire_fault fault = {.reason = NULL};
    struct otp_wire w;
    struct otp_field f;

    if (!begins_with(p, len, "\n{")) {
        return false;
    }
    otp_wire_init(&w, p, len, &fault);
    while (otp_wire_next(&w, &f)) {
    }
    return fault.reason == NULL;
}

static bool is_json(const uint8_t *p, size_t len)
{
    size_t blank = 0;

    while (blank < len &&
           (p[blank] == ' ' || p[blank] == '\t' || p[blank] == '\n' || p[blank] == '\r')) {
        blank++;
    }
    return blank < len && p[blank] == '{' && !is_message_of_123(p, len);
}

static enum format format_of(const uint8_t *p, size_t len)
{
    if (is_gperftools(p, len)) {
        return FORMAT_GPERFTOOLS;
    }
    if (is_like_gperftools(p, len)) {
        return FORMAT_LIKE_GPERFTOOLS;
    }
    if (is_json(p, len)) {
        return FORMAT_JSON;
    }
    /* The smallest tag, of field 1, is 8. Frames of less than 2^27 bytes begin with less. */
    if (p[0] < 8) {
        return FORMAT_FRAMES;
    }
    /* All fields of the outermost message, in all versions and in pprof, begin with one of these
     * tags. */
    if ((p[0] & 7U) == OTP_WIRE_LEN && p[0] >> 3 <= 8) {
        return is_pprof(p, len)         ? FORMAT_PPROF
               : otp_otep239_is(p, len) ? FORMAT_OTEP239
                                        : FORMAT_OTLP;
    }
    return is_pprof(p, len) ? FORMAT_PPROF : FORMAT_NONE;
}

/* Unpacks c into a blob of its own, which c then is. */
static enum otp_status unpack(struct adding *a, struct content *c)
{
    struct otp_unpacked out;
    enum otp_status status = otp_unpack(c->bytes, c->size, OTP_INPUT_MAX - a->unpacked, &out);

    if (status != OTP_OK) {
        return refuse(a, status, c->off + out.fault_off, out.reason);
    }
    a->unpacked += out.size;
    if (add_blob(a, out.bytes, out.size) == NULL) {
        return refuse(a, OTP_NO_MEMORY, c->off, "no memory");
    }
    c->bytes = out.bytes;
    c->size = out.size;
    c->off = 0;
    a->was_packed = true;
    return OTP_OK;
}

static enum otp_status decode_frame(struct adding *a, struct content *c)
{
    bool outer = a->was_packed;
    enum otp_status status = OTP_OK;

    if (otp_packing_of(c->bytes, c->size) != OTP_UNPACKED) {
        status = unpack(a, c);
    }
    if (status == OTP_OK) {
        status = decode_otlp(a, c);
    }
    a->was_packed = status == OTP_OK ? outer : a->was_packed;
    return status;
}

static enum otp_status decode_frames(struct adding *a, const struct content *c)
{
    size_t pos = 0;

    while (pos < c->size) {
        if (c->size - pos < FRAME_HEAD) {
            return refuse(a, OTP_TRUNCATED, c->off + pos, "the length of a message is cut off");
        }
        uint32_t len = be32(c->bytes + pos);
        if (len > c->size - pos - FRAME_HEAD) {
            return refuse(a, OTP_TRUNCATED, c->off + pos,
                          a->file->message_count == 0
                              ? "not a profile of a known format, or a message is cut off"
                              : "a message is cut off");
        }
        if (a->file->message_count >= MESSAGES_MAX) {
            return refuse(a, OTP_TOO_LARGE, c->off + pos, "the file has more than 500000 messages");
        }
        struct content frame = {
            .bytes = c->bytes + pos + FRAME_HEAD, .size = len, .off = c->off + pos + FRAME_HEAD};
        enum otp_status status = decode_frame(a, &frame);
        if (status != OTP_OK) {
            return status;
        }
        pos += FRAME_HEAD + len;
    }
    return OTP_OK;
}

static enum otp_status decode_content(struct adding *a, const struct content *c)
{
    if (c->size == 0) {
        return refuse(a, OTP_TRUNCATED, c->off, "the file is empty");
    }
    if (c->size > OTP_INPUT_MAX) {
        return refuse(a, OTP_TOO_LARGE, OTP_INPUT_MAX,
                      "the file is larger than the limit of 1 GiB");
    }
    if (otp_packing_of(c->bytes, c->size) != OTP_UNPACKED) {
        return refuse(a, OTP_UNSUPPORTED, c->off, "the file is packed twice");
    }
    switch (format_of(c->bytes, c->size)) {
    case FORMAT_OTLP:
        return decode_otlp(a, c);
    case FORMAT_FRAMES:
        a->file->format = "OTLP, framed";
        return decode_frames(a, c);
    case FORMAT_PPROF:
        a->file->format = "pprof";
        return translate_all(a, c, OTP_SOURCE_PPROF, otp_pprof_decode);
    case FORMAT_OTEP239:
        a->file->format = "OTEP-0239";
        return translate_all(a, c, OTP_SOURCE_OTEP239, otp_otep239_decode);
    case FORMAT_JSON:
        a->file->format = "OTLP/JSON";
        return translate_all(a, c, OTP_SOURCE_JSON, otp_json_decode);
    case FORMAT_GPERFTOOLS:
        a->file->format = "gperftools";
        return translate_all(a, c, OTP_SOURCE_GPERFTOOLS, otp_gperftools_decode);
    case FORMAT_LIKE_GPERFTOOLS:
        return refuse(a, OTP_UNSUPPORTED, c->off,
                      "this is a profile in a format of gperftools' kind that is not read; "
                      "pprof -proto makes of it one that is");
    case FORMAT_NONE:
    default:
        return refuse(a, OTP_UNSUPPORTED, c->off, "not a profile of a known format");
    }
}

/* One message of that format, as its first bytes tell. */
static bool is_only(const struct content *c, enum otp_packing packing, enum otp_input_only only)
{
    if (c->size == 0 || packing != OTP_UNPACKED) {
        return false;
    }
    return format_of(c->bytes, c->size) == (only == OTP_ONLY_JSON ? FORMAT_JSON : FORMAT_OTLP);
}

/* Takes back what was added since there were that many messages and blobs. */
static void take_back(struct otp_profile_set *set, size_t messages, size_t blobs)
{
    while (set->message_count > messages) {
        struct otp_profiles *m = set->messages[--set->message_count];
        otp_profiles_fini(m);
        free(m);
    }
    while (set->blob_count > blobs) {
        struct otp_blob *b = set->blobs[--set->blob_count];
        free(b->name);
        free(b->bytes);
        free(b);
    }
}

/* The packed bytes are of no use once they are unpacked. */
static void drop_packed(struct otp_blob *file)
{
    free(file->bytes);
    file->bytes = NULL;
    file->size = 0;
}

enum otp_status otp_profile_set_add(struct otp_profile_set *set, const struct otp_input *in,
                                    struct otp_input_fault *out_fault)
{
    struct adding a = {.set = set, .in = in, .fault = out_fault};
    struct content c = {.bytes = in->bytes, .size = in->size};
    size_t messages = set->message_count;
    size_t blobs = set->blob_count;
    enum otp_status status = OTP_OK;

    memset(out_fault, 0, sizeof(*out_fault));
    a.file = add_blob(&a, in->bytes, in->size);
    if (a.file == NULL) {
        return refuse(&a, OTP_NO_MEMORY, 0, "no memory");
    }
    a.file->file_size = in->size;
    a.file->format = "OTLP";
    enum otp_packing packing = otp_packing_of(c.bytes, c.size);
    if (in->only != OTP_ONLY_NOTHING && !is_only(&c, packing, in->only)) {
        status = refuse(&a, OTP_UNSUPPORTED, 0, NOT_ONLY);
    } else if (packing != OTP_UNPACKED) {
        a.file->packing = packing == OTP_GZIP ? "gzip" : "zstd";
        status = unpack(&a, &c);
        drop_packed(a.file);
        a.file->size = c.size;
    }
    if (status == OTP_OK) {
        otp_meter_file(c.bytes, c.bytes + c.size);
        status = decode_content(&a, &c);
        otp_meter_file(NULL, NULL);
    }
    if (status != OTP_OK) {
        take_back(set, messages, blobs);
    }
    return status;
}
