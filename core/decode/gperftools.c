/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of callers are those that they return to, and all of a heap profile are callers: one
 * less is inside the call, which is what pprof and OTLP tell.
 */
#include "core/decode/gperftools.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/base/reader.h"
#include "core/base/sort.h"
#include "core/base/text.h"
#include "core/capture/random.h"
#include "core/decode/pprof.h"

#define HEADER_WORDS 3U /* behind the first two */
#define NS_PER_US 1000
#define PB_MAX ((size_t)1 << 30)
#define VALUES 4U
#define VALUE_MAX 0x1p62

/* Fields of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_STRING_TABLE = 6,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATION_ID = 1,
    SAMPLE_VALUE = 2,
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILENAME = 5,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3
};

/* The strings that all have; names of files follow. */
enum {
    WORD_NONE,
    WORD_SAMPLES,
    WORD_COUNT,
    WORD_CPU,
    WORD_NANOSECONDS,
    WORD_ALLOC_OBJECTS,
    WORD_ALLOC_SPACE,
    WORD_IN_USE_OBJECTS,
    WORD_IN_USE_SPACE,
    WORD_BYTES,
    WORD_SPACE,
    WORDS
};
static const char *const words[WORDS] = {"",
                                         "samples",
                                         "count",
                                         "cpu",
                                         "nanoseconds",
                                         "alloc_objects",
                                         "alloc_space",
                                         "inuse_objects",
                                         "inuse_space",
                                         "bytes",
                                         "space"};

struct mapping {
    uint64_t start;
    uint64_t limit;
    uint64_t offset;
    struct otp_text name;
    uint64_t line; /* its place in the file */
    uint64_t id;   /* of those that a frame lies in, from 1; 0: none does */
};

struct reading {
    struct otp_translation *t;
    const uint8_t *data;
    struct otp_reader r;
    struct otp_heap heap;
    struct otp_map map;
    struct otp_buf pcs;      /* uint64_t, each once */
    struct otp_buf mappings; /* struct mapping */
    struct otp_buf stack;    /* uint64_t: locations of the sample that is being read */
    uint64_t interval;       /* of a heap that was sampled, in bytes; 0: it was not */
    double exact[VALUES];    /* sums of scaled values, */
    int64_t told[VALUES];    /* and of whole numbers that were told of them */
    bool is_in_stack;        /* its frames were read, and its counts come */
    struct otp_emit pb;
};

static enum otp_status refuse(struct reading *x, enum otp_status status, uint64_t at,
                              const char *reason)
{
    x->t->fault.at = x->data + at;
    x->t->fault.reason = reason;
    return status;
}

/* ---- what both have ---- */

static bool is_pc(const void *ctx, uint32_t id, const void *key)
{
    const struct reading *x = ctx;
    return ((const uint64_t *)(const void *)x->pcs.data)[id] == *(const uint64_t *)key;
}

/* Adds a frame to the stack; false: no memory. */
static bool add_frame(struct reading *x, uint64_t pc)
{
    uint64_t hash = otp_hash_mix(1, pc);
    uint64_t count = x->pcs.len / sizeof(pc);
    uint64_t id = otp_map_find(&x->map, hash, &pc, is_pc, x);
    if (id == OTP_MAP_NONE) {
        id = count;
        if (count >= OTP_MAP_NONE || !otp_buf_add(&x->pcs, &pc, sizeof(pc)) ||
            !otp_map_add(&x->map, hash, (uint32_t)id)) {
            return false;
        }
    }
    id++;
    return otp_buf_add(&x->stack, &id, sizeof(id));
}

static void emit_type(struct otp_emit *e, uint32_t field, uint64_t type, uint64_t unit)
{
    size_t mark = otp_emit_open(e, field);
    otp_emit_uint(e, TYPE_TYPE, type);
    otp_emit_uint(e, TYPE_UNIT, unit);
    otp_emit_close(e, mark);
}

static void emit_sample(struct reading *x, const int64_t *values, size_t count)
{
    const uint64_t *ids = (const void *)x->stack.data;
    size_t sample = otp_emit_open(&x->pb, PROFILE_SAMPLE);
    size_t mark = otp_emit_open(&x->pb, SAMPLE_LOCATION_ID);
    for (size_t i = 0; i < x->stack.len / sizeof(ids[0]); i++) {
        otp_emit_varint(&x->pb, ids[i]);
    }
    otp_emit_close(&x->pb, mark);
    mark = otp_emit_open(&x->pb, SAMPLE_VALUE);
    for (size_t i = 0; i < count; i++) {
        otp_emit_varint(&x->pb, (uint64_t)values[i]);
    }
    otp_emit_close(&x->pb, mark);
    otp_emit_close(&x->pb, sample);
    otp_buf_clear(&x->stack);
}

/* The next line without its end; false: there is none. */
static bool next_line(struct reading *x, struct otp_text *out)
{
    uint64_t left = otp_reader_left(&x->r);
    const char *at = (const char *)x->data + x->r.pos;
    if (left == 0) {
        return false;
    }
    const char *end = memchr(at, '\n', left);
    size_t len = end == NULL ? left : (size_t)(end - at);
    (void)otp_reader_bytes(&x->r, end == NULL ? left : len + 1);
    *out = otp_text_make(at, len);
    if (len > 0 && at[len - 1] == '\r') {
        out->len--;
    }
    return true;
}

static void pass_spaces(struct otp_text *t)
{
    while (t->len > 0 && (t->data[0] == ' ' || t->data[0] == '\t')) {
        *t = otp_text_make(t->data + 1, t->len - 1);
    }
}

/* Takes text off the front of t, with the spaces before it. */
static bool take(struct otp_text *t, const char *text)
{
    size_t len = strlen(text);
    pass_spaces(t);
    if (t->len < len || memcmp(t->data, text, len) != 0) {
        return false;
    }
    *t = otp_text_make(t->data + len, t->len - len);
    return true;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes a number off the front, with the spaces before it; false: there is none, or it is too
 * large. */
static bool take_number(struct otp_text *t, unsigned base, uint64_t *out)
{
    size_t used = 0;
    pass_spaces(t);
    *out = 0;
    for (int d; used < t->len && (d = digit_of(t->data[used])) >= 0 && (unsigned)d < base; used++) {
        if (__builtin_mul_overflow(*out, base, out) ||
            __builtin_add_overflow(*out, (uint64_t)d, out)) {
            return false;
        }
    }
    *t = otp_text_make(t->data + used, t->len - used);
    return used > 0;
}

/* Passes over what is no space, with the spaces before it. */
static bool take_word(struct otp_text *t, struct otp_text *out)
{
    size_t used = 0;
    pass_spaces(t);
    while (used < t->len && t->data[used] != ' ' && t->data[used] != '\t') {
        used++;
    }
    *out = otp_text_make(t->data, used);
    *t = otp_text_make(t->data + used, t->len - used);
    return used > 0;
}

/* A line of /proc/self/maps that is of code: start-limit perms offset device inode name. */
static bool read_mapping(struct otp_text line, struct mapping *out)
{
    struct otp_text perms;
    struct otp_text word;
    bool is_one = take_number(&line, 16, &out->start) && take(&line, "-") &&
                  take_number(&line, 16, &out->limit) && take_word(&line, &perms) &&
                  perms.len >= 3 && perms.data[2] == 'x' && take_number(&line, 16, &out->offset) &&
                  take_word(&line, &word) && take_word(&line, &word);
    out->name = otp_text_trim(line);
    return is_one && out->limit > out->start;
}

static enum otp_status read_maps(struct reading *x)
{
    struct otp_text line;
    uint64_t count = 0;
    while (next_line(x, &line)) {
        struct mapping m = {.line = count};
        if (!read_mapping(line, &m)) {
            continue;
        }
        count++;
        if (!otp_buf_add(&x->mappings, &m, sizeof(m))) {
            return refuse(x, OTP_NO_MEMORY, 0, "no memory");
        }
    }
    return OTP_OK;
}

static int compare_starts(const void *a, const void *b, void *arg)
{
    const struct mapping *x = a;
    const struct mapping *y = b;
    (void)arg;
    int diff = (x->start > y->start) - (x->start < y->start);
    return diff != 0 ? diff : (x->line > y->line) - (x->line < y->line);
}

static int compare_lines(const void *a, const void *b, void *arg)
{
    const struct mapping *x = a;
    const struct mapping *y = b;
    (void)arg;
    return (x->line > y->line) - (x->line < y->line);
}

/* The mapping that pc is in, NULL: none; they are sorted by start. */
static struct mapping *mapping_of(const struct reading *x, uint64_t pc)
{
    struct mapping *all = (void *)x->mappings.data;
    size_t low = 0;
    size_t high = x->mappings.len / sizeof(all[0]);
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (all[mid].start <= pc) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low > 0 && pc < all[low - 1].limit ? &all[low - 1] : NULL;
}

/* Maps are of all files that were loaded: those that a frame lies in are told, as they stand. */
static void number_mappings(struct reading *x)
{
    struct mapping *all = (void *)x->mappings.data;
    const uint64_t *pcs = (const void *)x->pcs.data;
    size_t count = x->mappings.len / sizeof(all[0]);
    otp_sort(all, count, sizeof(all[0]), compare_starts, NULL);
    for (size_t i = 0; i < x->pcs.len / sizeof(pcs[0]); i++) {
        struct mapping *m = mapping_of(x, pcs[i]);
        if (m != NULL) {
            m->id = 1;
        }
    }
    otp_sort(all, count, sizeof(all[0]), compare_lines, NULL);
    uint64_t used = 0;
    for (size_t i = 0; i < count; i++) {
        all[i].id = all[i].id == 0 ? 0 : ++used;
    }
}

static void emit_mapping(struct otp_emit *e, const struct mapping *m)
{
    size_t mark = otp_emit_open(e, PROFILE_MAPPING);
    otp_emit_uint(e, MAPPING_ID, m->id);
    otp_emit_uint(e, MAPPING_START, m->start);
    otp_emit_uint(e, MAPPING_LIMIT, m->limit);
    otp_emit_uint(e, MAPPING_OFFSET, m->offset);
    otp_emit_uint(e, MAPPING_FILENAME, WORDS + m->id - 1);
    otp_emit_close(e, mark);
    otp_emit_bytes(e, PROFILE_STRING_TABLE, m->name.data, m->name.len);
}

/* What samples refer to. */
static void emit_tables(struct reading *x)
{
    struct mapping *all = (void *)x->mappings.data;
    const uint64_t *pcs = (const void *)x->pcs.data;
    size_t count = x->mappings.len / sizeof(all[0]);
    number_mappings(x);
    for (size_t i = 0; i < WORDS; i++) {
        otp_emit_text(&x->pb, PROFILE_STRING_TABLE, words[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (all[i].id != 0) {
            emit_mapping(&x->pb, &all[i]);
        }
    }
    otp_sort(all, count, sizeof(all[0]), compare_starts, NULL);
    for (size_t i = 0; i < x->pcs.len / sizeof(pcs[0]); i++) {
        const struct mapping *m = mapping_of(x, pcs[i]);
        size_t mark = otp_emit_open(&x->pb, PROFILE_LOCATION);
        otp_emit_uint(&x->pb, LOCATION_ID, i + 1);
        otp_emit_number(&x->pb, LOCATION_MAPPING, m == NULL ? 0 : m->id);
        otp_emit_number(&x->pb, LOCATION_ADDRESS, pcs[i]);
        otp_emit_close(&x->pb, mark);
    }
}

/* ---- CPU ---- */

static enum otp_status read_record(struct reading *x, uint64_t period_ns, bool *out_is_end)
{
    uint64_t at = x->r.pos;
    uint64_t count = otp_reader_u64_le(&x->r);
    uint64_t depth = otp_reader_u64_le(&x->r);
    int64_t values[2];
    if (x->r.failed || depth > otp_reader_left(&x->r) / sizeof(uint64_t)) {
        return refuse(x, OTP_TRUNCATED, at, "the end of the profile is missing");
    }
    for (uint64_t i = 0; i < depth; i++) {
        uint64_t pc = otp_reader_u64_le(&x->r);
        *out_is_end = i == 0 && pc == 0 && count == 0 && depth == 1;
        if (!*out_is_end && !add_frame(x, pc - (i > 0 && pc > 0))) {
            return refuse(x, OTP_NO_MEMORY, at, "no memory");
        }
    }
    if (count > INT64_MAX ||
        __builtin_mul_overflow((int64_t)count, (int64_t)period_ns, &values[1])) {
        return refuse(x, OTP_MALFORMED, at, "the count of a stack is too large");
    }
    values[0] = (int64_t)count;
    if (!*out_is_end) {
        emit_sample(x, values, 2);
    }
    return OTP_OK;
}

static enum otp_status read_cpu(struct reading *x)
{
    (void)otp_reader_u64_le(&x->r); /* what the file is known by */
    uint64_t behind = otp_reader_u64_le(&x->r);
    uint64_t version = otp_reader_u64_le(&x->r);
    uint64_t period = otp_reader_u64_le(&x->r);
    (void)otp_reader_u64_le(&x->r); /* nothing is in it */
    if (behind != HEADER_WORDS || version != 0 || x->r.failed) {
        return refuse(x, OTP_UNSUPPORTED, 0, "its header is none of version 0");
    }
    if (period == 0 || period > UINT32_MAX) {
        return refuse(x, OTP_MALFORMED, HEADER_WORDS * sizeof(uint64_t),
                      "its period is 0, or more than 2^32 microseconds");
    }
    emit_type(&x->pb, PROFILE_SAMPLE_TYPE, WORD_SAMPLES, WORD_COUNT);
    emit_type(&x->pb, PROFILE_SAMPLE_TYPE, WORD_CPU, WORD_NANOSECONDS);
    emit_type(&x->pb, PROFILE_PERIOD_TYPE, WORD_CPU, WORD_NANOSECONDS);
    otp_emit_uint(&x->pb, PROFILE_PERIOD, period * NS_PER_US);
    for (bool is_end = false; !is_end;) {
        OTP_TRY(read_record(x, period * NS_PER_US, &is_end));
    }
    return read_maps(x);
}

/* ---- heap ---- */

/* `1: 100 [2: 200]`, in use and allocated. */
static bool take_counts(struct otp_text *line, int64_t *out)
{
    static const char *const behind[VALUES] = {":", "[", ":", "]"};
    static const unsigned char place[VALUES] = {2, 3, 0, 1}; /* allocated ones are told first */
    for (size_t i = 0; i < VALUES; i++) {
        uint64_t v;
        if (!take_number(line, 10, &v) || v > INT64_MAX || !take(line, behind[i])) {
            return false;
        }
        out[place[i]] = (int64_t)v;
    }
    return true;
}

/*
 * What was sampled becomes what it stands for: a block of n bytes was taken with probability 1 -
 * exp(-n / interval), n being the mean of the stack. Whole numbers are told so that their sum is
 * never wrong by more than a half. Source: jemalloc's and gperftools' own pprof. False: too large.
 */
static bool scale(struct reading *x, int64_t *values)
{
    if (x->interval == 0) {
        return true; /* nothing is left out */
    }
    for (size_t i = 0; i < VALUES; i++) {
        int64_t count = values[i & ~(size_t)1];
        int64_t bytes = values[i | 1];
        double mean = count > 0 ? (double)bytes / (double)count : 0;
        x->exact[i] +=
            (double)values[i] / (mean > 0 ? otp_one_minus_exp(mean / (double)x->interval) : 1);
        if (!(x->exact[i] < VALUE_MAX)) {
            return false;
        }
    }
    for (size_t i = 0; i < VALUES; i++) {
        values[i] = (int64_t)(x->exact[i] + 0.5) - x->told[i];
        x->told[i] += values[i];
    }
    return true;
}

/* The counts of the stack whose frames were read. */
static enum otp_status end_stack(struct reading *x, struct otp_text *line, uint64_t at)
{
    int64_t values[VALUES];
    if (!take_counts(line, values)) {
        return refuse(x, OTP_MALFORMED, at, "a line is no stack");
    }
    if (!scale(x, values)) {
        return refuse(x, OTP_MALFORMED, at, "the values are too large");
    }
    emit_sample(x, values, VALUES);
    return OTP_OK;
}

static enum otp_status read_frames(struct reading *x, struct otp_text line, uint64_t at)
{
    for (uint64_t pc; line = otp_text_trim(line), line.len > 0;) {
        if (!take(&line, "0x") || !take_number(&line, 16, &pc)) {
            return refuse(x, OTP_MALFORMED, at, "a line is no stack");
        }
        if (!add_frame(x, pc - (pc > 0))) {
            return refuse(x, OTP_NO_MEMORY, at, "no memory");
        }
    }
    return OTP_OK;
}

/* gperftools': `1: 100 [2: 200] @ 0x1 0x2`. */
static enum otp_status read_stack(struct reading *x, struct otp_text line, uint64_t at)
{
    struct otp_text counts = line;
    const char *frames = memchr(line.data, '@', line.len);
    if (frames == NULL) {
        return refuse(x, OTP_MALFORMED, at, "a line is no stack");
    }
    counts.len = (size_t)(frames - line.data);
    OTP_TRY(read_frames(x, otp_text_make(frames + 1, line.len - counts.len - 1), at));
    return end_stack(x, &counts, at);
}

/* jemalloc's: `@ 0x1 0x2`, then `t*: 1: 100 [2: 200]` and the same of each thread. Before the first
 * stack these are sums. */
static enum otp_status read_jemalloc(struct reading *x, struct otp_text line, uint64_t at)
{
    if (take(&line, "@")) {
        otp_buf_clear(&x->stack);
        x->is_in_stack = true;
        return read_frames(x, line, at);
    }
    if (!take(&line, "t")) {
        return refuse(x, OTP_MALFORMED, at, "a line is no stack");
    }
    if (!take(&line, "*:") || !x->is_in_stack) {
        return OTP_OK;
    }
    x->is_in_stack = false;
    return end_stack(x, &line, at);
}

/* The rest of the file, line by line. */
static enum otp_status read_stacks(struct reading *x,
                                   enum otp_status (*read)(struct reading *x, struct otp_text line,
                                                           uint64_t at))
{
    struct otp_text line = otp_text_of(NULL);
    for (uint64_t i = WORD_ALLOC_OBJECTS; i <= WORD_IN_USE_SPACE; i++) {
        bool is_count = i == WORD_ALLOC_OBJECTS || i == WORD_IN_USE_OBJECTS;
        emit_type(&x->pb, PROFILE_SAMPLE_TYPE, i, is_count ? WORD_COUNT : WORD_BYTES);
    }
    if (x->interval > 0) {
        emit_type(&x->pb, PROFILE_PERIOD_TYPE, WORD_SPACE, WORD_BYTES);
        otp_emit_uint(&x->pb, PROFILE_PERIOD, x->interval);
    }
    for (uint64_t at = x->r.pos; next_line(x, &line); at = x->r.pos) {
        line = otp_text_trim(line);
        if (take(&line, "MAPPED_LIBRARIES:")) {
            return read_maps(x);
        }
        if (line.len > 0 && line.data[0] != '#') {
            OTP_TRY(read(x, line, at));
        }
    }
    return refuse(x, OTP_TRUNCATED, x->r.pos, "the line MAPPED_LIBRARIES: is missing");
}

/* `heap_v2/524288`: every so many bytes. */
static bool take_interval(struct reading *x, struct otp_text *line)
{
    return take(line, "heap_v2/") && take_number(line, 10, &x->interval) && x->interval > 0 &&
           x->interval <= INT64_MAX;
}

static enum otp_status read_heap(struct reading *x)
{
    struct otp_text line = otp_text_of(NULL);
    int64_t sums[VALUES];
    bool is_line = next_line(x, &line);
    if (is_line && take_interval(x, &line)) {
        return read_stacks(x, read_jemalloc);
    }
    if (!is_line || !take(&line, "heap profile:") || !take_counts(&line, sums) ||
        !take(&line, "@")) {
        return refuse(x, OTP_MALFORMED, 0, "its first line is no header");
    }
    if (!take(&line, "heapprofile") && !take_interval(x, &line)) {
        return refuse(x, OTP_UNSUPPORTED, 0,
                      "its values are samples that nobody has scaled; pprof -proto does that");
    }
    return read_stacks(x, read_stack);
}

/* ---- both ---- */

static enum otp_status translate(struct reading *x)
{
    struct otp_translation pprof = {.budget_bytes = x->t->budget_bytes, .out = x->t->out};
    emit_tables(x);
    if (x->pb.failed) {
        return refuse(x, OTP_NO_MEMORY, 0, "no memory");
    }
    enum otp_status status = otp_pprof_decode(x->pb.data, x->pb.len, &pprof);
    x->t->out = pprof.out;
    x->t->lost = pprof.lost;
    return status == OTP_OK ? OTP_OK : refuse(x, status, 0, pprof.fault.reason);
}

enum otp_status otp_gperftools_decode(const uint8_t *data, size_t len, struct otp_translation *t)
{
    struct reading x = {.t = t, .data = data};
    otp_heap_init(&x.heap, (size_t)t->budget_bytes);
    otp_map_init(&x.map, &x.heap);
    otp_buf_init(&x.pcs, &x.heap, SIZE_MAX / 2);
    otp_buf_init(&x.mappings, &x.heap, SIZE_MAX / 2);
    otp_buf_init(&x.stack, &x.heap, SIZE_MAX / 2);
    otp_emit_init(&x.pb, PB_MAX);
    otp_reader_init(&x.r, data, len);
    enum otp_status status = len > 0 && data[0] != 0 ? read_heap(&x) : read_cpu(&x);
    status = status == OTP_OK ? translate(&x) : status;
    t->used = len;
    otp_emit_fini(&x.pb);
    otp_heap_reset(&x.heap);
    return status;
}
