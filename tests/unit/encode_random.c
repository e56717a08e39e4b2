/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything is made from small numbers ("frame 7"), so that the same things come again and again.
 * The expectation is computed with lists of texts and plain loops, in no way like the builder does
 * it.
 */
#include "tests/unit/encode_random.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 60U
#define MAPPINGS 5U
#define ATTRS 12U
#define STACKS 40U
#define DEPTH 12U
#define LINKS 4U
#define TYPES 3U
#define SAMPLE_ATTRS 5U
#define TIME_BASE UINT64_C(1700000000000000000)

static const char *const type_names[][2] = {
    {"samples", "count"}, {"wall", "nanoseconds"}, {"cpu", "nanoseconds"}, {"space", "bytes"}};

struct told_sample {
    unsigned stack;
    unsigned link;
    unsigned attrs[SAMPLE_ATTRS];
    unsigned attr_count;
    int64_t values[TYPES];
    uint64_t time;
};

struct told_profile {
    unsigned types[TYPES];
    size_t type_count;
    size_t period;
    bool clean_events; /* counts are 0 or 1, as folding wants them */
    unsigned timed;    /* 0: none, 1: all, 2: some */
};

struct teller {
    const struct enc_random *r;
    struct otp_visitor *v;
    struct enc_lines *want;
    uint64_t state;
    struct told_sample *samples; /* of the profile being told */
    size_t sample_count;
    struct otp_visit_rows rows; /* items NULL: samples are told one by one */
    struct otp_visit_row *row_space;
    int64_t *longs;
};

static uint64_t next(struct teller *t)
{
    t->state ^= t->state << 13;
    t->state ^= t->state >> 7;
    t->state ^= t->state << 17;
    return t->state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

static unsigned below(struct teller *t, unsigned limit)
{
    return (unsigned)(next(t) % limit);
}

/* ---- the things, by number; texts live in the caller's space ---- */

struct attr_space {
    char key[16];
    char text[16];
};

static struct otp_attr make_attr(unsigned n, struct attr_space *s)
{
    struct otp_attr a = {.kind = (enum otp_attr_kind)(n % 4), .number = n / 4 % 3};
    snprintf(s->key, sizeof(s->key), "key%u", n % 5);
    snprintf(s->text, sizeof(s->text), "text%u", n / 4);
    a.key = enc_text(s->key);
    a.unit = enc_text(n % 7 == 0 ? "By" : "");
    if (a.kind == OTP_ATTR_STRING) {
        a.string = enc_text(s->text);
    } else if (a.kind == OTP_ATTR_DOUBLE) {
        a.real = n / 3.0;
    } else if (a.kind == OTP_ATTR_BOOL) {
        a.number = n / 4 % 2;
    }
    return a;
}

struct mapping_space {
    char filename[32];
    struct attr_space spaces[2];
    struct otp_attr attrs[2];
};

static struct otp_visit_mapping make_mapping(unsigned n, struct mapping_space *s)
{
    struct otp_visit_mapping m = {.file_offset = n % 2 * 4096};
    if (n % 3 != 0) {
        m.start = n * 0x100000U;
        m.limit = m.start + 0x1000;
    }
    snprintf(s->filename, sizeof(s->filename), "/lib/lib%u.so", n);
    m.filename = enc_text(s->filename);
    for (size_t i = 0; i < n % 3; i++) {
        s->attrs[i] = make_attr(n + (unsigned)i, &s->spaces[i]);
    }
    m.attrs = s->attrs;
    m.attr_count = n % 3;
    return m;
}

struct frame_space {
    char texts[3][3][32];
    struct otp_visit_line lines[3];
    struct attr_space attr_space;
    struct otp_attr attr;
};

static struct otp_visit_frame make_frame(unsigned n, struct frame_space *s)
{
    struct otp_visit_frame f = {.address = n % 4 == 3 ? 0 : n * 16 + 1,
                                .line_count = n % 4 == 3 ? 1 + n % 3 : n % 4};
    for (unsigned i = 0; i < f.line_count; i++) {
        struct otp_visit_line *l = &s->lines[i];
        snprintf(s->texts[i][0], 32, "fn%u", (n + i) % 23);
        snprintf(s->texts[i][1], 32, "_Zfn%u", (n + i) % 23);
        snprintf(s->texts[i][2], 32, "src%u.c", n % 9);
        memset(l, 0, sizeof(*l));
        l->name = enc_text(s->texts[i][0]);
        l->system_name = enc_text(n % 2 == 0 ? s->texts[i][1] : s->texts[i][0]);
        l->filename = enc_text(n % 5 == 0 ? "" : s->texts[i][2]);
        l->start_line = n % 6;
        l->line = n % 6 == 0 ? 0 : n;
        l->column = n % 3;
    }
    f.lines = s->lines;
    s->attr = make_attr(n, &s->attr_space);
    f.attrs = &s->attr;
    f.attr_count = n % 3 == 0;
    return f;
}

static unsigned mapping_of_frame(unsigned n)
{
    return n % (MAPPINGS + 1); /* 0: none */
}

static size_t make_stack(unsigned n, unsigned out_frames[DEPTH])
{
    size_t depth = n % DEPTH; /* some are empty */
    for (unsigned i = 0; i < depth; i++) {
        out_frames[i] = (n * 7 + i * (1 + n % 3)) % FRAMES;
    }
    return depth;
}

/* Link 0 is none; 1 has a zero span, which means none too. */
static void make_link(unsigned n, uint8_t trace[16], uint8_t span[8])
{
    memset(trace, (int)n, 16);
    memset(span, n <= 1 ? 0 : (int)n, 8);
}

/* ---- telling; every thing is told again for each sample ---- */

static enum otp_status tell_frame(struct teller *t, unsigned n, uint32_t *out_id)
{
    struct frame_space fs;
    struct mapping_space ms;
    struct otp_visit_frame f = make_frame(n, &fs);
    if (mapping_of_frame(n) != 0) {
        struct otp_visit_mapping m = make_mapping(mapping_of_frame(n), &ms);
        OTP_TRY(t->v->mapping(t->v, &m, &f.mapping));
    }
    return t->v->frame(t->v, &f, out_id);
}

static enum otp_status tell_stack(struct teller *t, unsigned n, uint32_t *out_id)
{
    unsigned frames[DEPTH];
    uint32_t ids[DEPTH];
    size_t depth = make_stack(n, frames);
    for (size_t i = 0; i < depth; i++) {
        OTP_TRY(tell_frame(t, frames[i], &ids[i]));
    }
    return t->v->stack(t->v, ids, depth, out_id);
}

static enum otp_status tell_sample(struct teller *t, const struct told_sample *s)
{
    uint32_t ids[SAMPLE_ATTRS];
    struct otp_visit_sample out = {
        .attrs = ids, .attr_count = s->attr_count, .values = s->values, .timestamp_ns = s->time};
    uint8_t trace[16];
    uint8_t span[8];
    OTP_TRY(tell_stack(t, s->stack, &out.stack));
    for (unsigned i = 0; i < s->attr_count; i++) {
        struct attr_space space;
        struct otp_attr a = make_attr(s->attrs[i], &space);
        OTP_TRY(t->v->attr(t->v, &a, &ids[i]));
    }
    if (s->link != 0) {
        make_link(s->link, trace, span);
        OTP_TRY(t->v->link(t->v, trace, span, &out.link));
    }
    if (t->rows.items == NULL) {
        return t->v->sample(t->v, &out);
    }
    struct otp_visit_row row = {.stack = out.stack, .link = out.link};
    int64_t value = s->values[0];
    row.value = (uint32_t)value;
    if (value < 0 || value % 7 == 0) { /* a value may be long without need */
        t->longs[t->rows.long_count] = value;
        row.value = (uint32_t)t->rows.long_count++ | OTP_VISIT_ROW_LONG;
    }
    OTP_TRY(t->v->list(t->v, ids, s->attr_count, &row.list));
    t->rows.items[t->rows.count++] = row;
    return OTP_OK;
}

/* ---- the expectation ---- */

/* The text of a sample of type, up to its time. */
static char *identity(const struct told_sample *s, unsigned type)
{
    char *text;
    size_t len;
    unsigned frames[DEPTH];
    FILE *f = open_memstream(&text, &len);
    fprintf(f, "%s %s ", type_names[type][0], type_names[type][1]);
    size_t depth = make_stack(s->stack, frames);
    for (size_t i = 0; i < depth; i++) {
        char *mapping;
        size_t mapping_len;
        FILE *g = open_memstream(&mapping, &mapping_len);
        struct mapping_space ms;
        struct frame_space fs;
        struct otp_visit_mapping m = {.start = 0};
        if (mapping_of_frame(frames[i]) != 0) {
            m = make_mapping(mapping_of_frame(frames[i]), &ms);
        }
        enc_print_mapping(g, &m);
        fclose(g);
        struct otp_visit_frame frame = make_frame(frames[i], &fs);
        enc_print_frame(f, &frame, mapping);
        free(mapping);
    }
    struct attr_space spaces[SAMPLE_ATTRS];
    struct otp_attr attrs[SAMPLE_ATTRS];
    for (unsigned i = 0; i < s->attr_count; i++) {
        attrs[i] = make_attr(s->attrs[i], &spaces[i]);
    }
    enc_print_attrs(f, attrs, s->attr_count);
    for (unsigned i = 0; i < 8 && s->link > 1; i++) {
        fprintf(f, "%02x", s->link);
    }
    fprintf(f, " @%" PRIu64 " =", s->time);
    fclose(f);
    return text;
}

static void want_line(struct teller *t, char *prefix, int64_t value)
{
    char *line;
    size_t len;
    FILE *f = open_memstream(&line, &len);
    fprintf(f, "%s%" PRId64, prefix, value);
    fclose(f);
    enc_lines_add(t->want, line);
    free(prefix);
}

static size_t type_index(const struct told_profile *p, unsigned type)
{
    size_t i = 0;
    while (i < p->type_count && p->types[i] != type) {
        i++;
    }
    return i;
}

/* Whether every event is one observation with a time, and every observation of period an event. */
static bool folds(const struct teller *t, const struct told_profile *p)
{
    size_t count = type_index(p, 0);
    if (!t->r->fold || count == p->type_count || p->period == count) {
        return false;
    }
    for (size_t i = 0; i < t->sample_count; i++) {
        const struct told_sample *s = &t->samples[i];
        int64_t events = s->values[count];
        if (events != 0 && (events != 1 || s->time == 0)) {
            return false;
        }
        if (events == 0 && s->values[p->period] != 0) {
            return false;
        }
    }
    return true;
}

static void want_type(struct teller *t, const struct told_profile *p, size_t type, bool folded)
{
    struct {
        char *prefix;
        int64_t sum;
    } *sums = calloc(t->sample_count + 1, sizeof(sums[0]));
    size_t count = 0;
    ck_assert_ptr_nonnull(sums);
    for (size_t i = 0; i < t->sample_count; i++) {
        const struct told_sample *s = &t->samples[i];
        int64_t value = s->values[type];
        if (value == 0 && !(folded && s->values[type_index(p, 0)] != 0)) {
            continue;
        }
        char *prefix = identity(s, p->types[type]);
        if (s->time != 0) {
            want_line(t, prefix, value);
            continue;
        }
        size_t k = 0;
        while (k < count && strcmp(sums[k].prefix, prefix) != 0) {
            k++;
        }
        if (k == count) {
            sums[count++].prefix = prefix;
        } else {
            free(prefix);
        }
        sums[k].sum += value;
    }
    for (size_t k = 0; k < count; k++) {
        if (sums[k].sum != 0) {
            want_line(t, sums[k].prefix, sums[k].sum);
        } else {
            free(sums[k].prefix);
        }
    }
    free(sums);
}

static void want_profile(struct teller *t, const struct told_profile *p)
{
    bool fold = folds(t, p);
    for (size_t type = 0; type < p->type_count; type++) {
        if (!fold || p->types[type] != 0) {
            want_type(t, p, type, fold && type == p->period);
        }
    }
}

/* ---- the profile ---- */

static void draw_sample(struct teller *t, const struct told_profile *p, struct told_sample *s)
{
    memset(s, 0, sizeof(*s));
    s->stack = below(t, STACKS);
    s->link = below(t, 3) == 0 ? below(t, LINKS) : 0;
    s->attr_count = below(t, 2) == 0 ? below(t, SAMPLE_ATTRS + 1) : 0;
    for (unsigned i = 0; i < s->attr_count; i++) {
        s->attrs[i] = below(t, ATTRS);
    }
    for (size_t i = 0; i < p->type_count; i++) {
        s->values[i] = below(t, 3) == 0 ? 0 : (int64_t)below(t, 100) - 10;
    }
    if (p->timed == 1 || (p->timed == 2 && below(t, 2) == 0)) {
        s->time = TIME_BASE + below(t, 1000);
    }
    size_t count = type_index(p, 0);
    if (p->clean_events && count < p->type_count) {
        s->values[count] = below(t, 4) != 0;
        if (s->values[count] == 0) {
            s->values[p->period] = 0;
        }
    }
}

static enum otp_status tell_profile(struct teller *t)
{
    struct told_profile p = {.type_count = 1 + below(t, t->r->one_type ? 1 : TYPES),
                             .clean_events = below(t, 2) == 0,
                             .timed = below(t, 3)};
    struct otp_value_type types[TYPES];
    unsigned first = below(t, 2);
    for (unsigned i = 0; i < p.type_count; i++) {
        p.types[i] = first + i;
        types[i].type = enc_text(type_names[p.types[i]][0]);
        types[i].unit = enc_text(type_names[p.types[i]][1]);
    }
    p.period = below(t, (unsigned)p.type_count);
    struct attr_space space;
    struct otp_attr a = make_attr(below(t, ATTRS), &space);
    const struct otp_visit_profile out = {
        .types = types,
        .type_count = p.type_count,
        .period_type = types[p.period],
        .period = 1 + (int64_t)below(t, 9),
        .time_unix_ns = below(t, 4) == 0 ? 0 : TIME_BASE + below(t, 500),
        .duration_ns = below(t, 800),
        .attrs = &a,
        .attr_count = below(t, 2),
    };
    t->sample_count = below(t, t->r->samples + 1);
    for (size_t i = 0; i < t->sample_count; i++) {
        draw_sample(t, &p, &t->samples[i]);
    }
    if (t->want != NULL) {
        want_profile(t, &p);
    }
    OTP_TRY(t->v->begin_profile(t->v, &out));
    t->rows = (struct otp_visit_rows){.items = NULL};
    if (t->r->rows && p.timed == 0 && p.type_count == 1) {
        t->rows.items = t->row_space;
        t->rows.longs = t->longs;
        t->row_space += t->sample_count;
    }
    for (size_t i = 0; i < t->sample_count; i++) {
        OTP_TRY(tell_sample(t, &t->samples[i]));
    }
    if (t->rows.items != NULL) {
        OTP_TRY(t->v->rows(t->v, &t->rows));
        *t->r->row_profiles += 1;
    }
    return t->v->end_profile(t->v);
}

enum otp_status enc_random_tell(const struct enc_random *r, struct otp_visitor *v,
                                struct enc_lines *want)
{
    struct teller t = {.r = r, .v = v, .want = want, .state = r->seed * 2654435761U + 1};
    enum otp_status status = OTP_OK;
    t.samples = calloc(r->samples + 1, sizeof(t.samples[0]));
    ck_assert_ptr_nonnull(t.samples);
    if (r->rows) {
        t.row_space = r->row_space;
        t.longs = calloc(r->samples + 1, sizeof(t.longs[0]));
        ck_assert_ptr_nonnull(t.row_space);
        ck_assert_ptr_nonnull(t.longs);
    }
    unsigned profiles = 1 + below(&t, 4);
    for (unsigned i = 0; i < profiles && status == OTP_OK; i++) {
        status = tell_profile(&t);
    }
    free(t.samples);
    free(t.longs);
    if (want != NULL) {
        enc_lines_sort(want);
    }
    return status;
}
