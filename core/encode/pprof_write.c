/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The string table is written behind all that refers to it, so strings get their numbers as they
 * are met; what stands behind the table in the message is numbered before it is written.
 */
#include "core/encode/pprof_write.h"

#include <stdint.h>
#include <string.h>

#include "proto/pprof.pb-c.h"

#include "core/base/fmt.h"
#include "core/encode/pack.h"
#include "core/encode/value.h"

#define PB(name) Perftools__Profiles__##name
#define PB_INIT(NAME) PERFTOOLS__PROFILES__##NAME##__INIT

/* Fields of the messages that are put together here. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    SAMPLE_LOCATION_ID = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_STR = 2,
    LABEL_NUM = 3,
    LABEL_NUM_UNIT = 4
};

/* What the locations of a mapping have. */
enum { HAS_LOCATIONS = 1, HAS_UNNAMED = 2, HAS_FILES = 4, HAS_LINES = 8, HAS_INLINED = 16 };

/* Part of the message. */
struct span {
    size_t off;
    size_t len; /* 0: not written yet */
};

struct writer {
    const struct otp_pprof_plan *plan;
    const struct otp_dict *dict;
    const struct otp_pprof_frame *frame;
    struct otp_buf *out;
    struct otp_words words;
    unsigned char *marks; /* by mapping: HAS_... */
    uint32_t main;        /* mapping that comes first; 0: none */
    bool adds_main;       /* the main program has no mapping: one that only names it is first */
    struct span *stacks;  /* by stack: its locations where they were written last */
    struct span *lists;   /* by list: its labels where they were written last */
    /* Parts of the sample that is being written. */
    struct otp_buf labels; /* those that were not written before */
    struct otp_buf values; /* len bytes from values_at on */
    unsigned char *values_at;
    struct otp_buf stack; /* one that was not written before */
    /* Working space, as large as the longest one of each. */
    PB(Line) * lines;
    PB(Line) * *line_ptrs;
};

static uint32_t number(const struct writer *w, enum otp_plan_table table, uint32_t id)
{
    return otp_plan_number(&w->plan->base, table, id);
}

static uint32_t intern(struct writer *w, struct otp_text text)
{
    return otp_words_intern(&w->words, text);
}

static uint32_t string(struct writer *w, uint32_t id)
{
    return otp_words_string(&w->words, id);
}

/* ---- types ---- */

/* The column at a place of the message; the scope's order counts when it fits. */
static void place_columns(const struct writer *w, uint32_t *out_column)
{
    const struct otp_pprof_frame *f = w->frame;
    size_t count = w->plan->column_count;
    bool fits = f->has_order && f->order_count == count;
    memset(out_column, 0xff, count * sizeof(out_column[0]));
    for (uint32_t i = 0; i < count && fits; i++) {
        fits = f->order[i] < count && out_column[f->order[i]] == UINT32_MAX;
        if (fits) {
            out_column[f->order[i]] = i;
        }
    }
    for (uint32_t i = 0; i < count && !fits; i++) {
        out_column[i] = i;
    }
}

static void write_types(struct writer *w, const uint32_t *column_at)
{
    const struct otp_pprof_column *columns = (const void *)w->plan->columns.data;
    for (size_t i = 0; i < w->plan->column_count; i++) {
        PB(ValueType) t = PB_INIT(VALUE_TYPE);
        t.type = string(w, columns[column_at[i]].type);
        t.unit = string(w, columns[column_at[i]].unit);
        otp_pack_message(w->out, PROFILE_SAMPLE_TYPE, &t.base);
    }
}

/* ---- samples ---- */

static void write_text_label(struct writer *w, uint32_t key, uint32_t text)
{
    size_t mark = otp_pack_open(&w->labels, SAMPLE_LABEL);
    otp_pack_uint(&w->labels, LABEL_KEY, string(w, key));
    otp_pack_uint(&w->labels, LABEL_STR, text);
    otp_pack_close(&w->labels, mark);
}

static void write_number_label(struct writer *w, uint32_t key, int64_t value, uint32_t unit)
{
    size_t mark = otp_pack_open(&w->labels, SAMPLE_LABEL);
    otp_pack_uint(&w->labels, LABEL_KEY, string(w, key));
    otp_pack_uint(&w->labels, LABEL_NUM, (uint64_t)value);
    if (unit != 0) {
        otp_pack_uint(&w->labels, LABEL_NUM_UNIT, unit);
    }
    otp_pack_close(&w->labels, mark);
}

/* True when v has no fraction and every digit of it is certain. */
static bool is_whole(double v)
{
    const double exact = 9007199254740992.0; /* 2 to the 53 */
    return v >= -exact && v <= exact && (double)(int64_t)v == v;
}

/* pprof may have several labels of one key. */
static void write_list_labels(struct writer *w, const struct otp_dict_attr *a,
                              struct otp_pool_tail tail)
{
    struct otp_attr item;
    size_t pos = 0;
    while (otp_value_next_item(tail.data, tail.len, &pos, &item) && w->words.status == OTP_OK) {
        if (item.kind == OTP_ATTR_STRING) {
            write_text_label(w, a->key, intern(w, item.string));
        } else if (item.kind == OTP_ATTR_INT) {
            write_number_label(w, a->key, item.number, string(w, a->unit));
        }
    }
}

/* Labels are texts or whole numbers; what is neither has no place in pprof. */
static void write_attr_label(struct writer *w, uint32_t id)
{
    const struct otp_dict_attr *a = otp_pool_head(&w->dict->attrs, id);
    double real;
    switch ((enum otp_attr_kind)a->kind) {
    case OTP_ATTR_STRING:
        write_text_label(w, a->key, string(w, a->text));
        break;
    case OTP_ATTR_INT:
        write_number_label(w, a->key, (int64_t)a->bits, string(w, a->unit));
        break;
    case OTP_ATTR_BOOL:
        write_text_label(w, a->key, intern(w, otp_text_of(a->bits != 0 ? "true" : "false")));
        break;
    case OTP_ATTR_DOUBLE:
        memcpy(&real, &a->bits, sizeof(real));
        if (is_whole(real)) {
            write_number_label(w, a->key, (int64_t)real, string(w, a->unit));
        }
        break;
    case OTP_ATTR_LIST:
        write_list_labels(w, a, otp_pool_tail(&w->dict->attrs, id));
        break;
    case OTP_ATTR_BYTES:
    case OTP_ATTR_MAP:
    case OTP_ATTR_EMPTY:
    default:
        break;
    }
}

static void write_id_label(struct writer *w, uint32_t key, const uint8_t *id, size_t len)
{
    char hex[32];
    otp_fmt_hex_bytes(hex, id, len);
    write_text_label(w, key, intern(w, otp_text_make(hex, 2 * len)));
}

/* The labels of a row, into w->labels. */
static void put_labels(struct writer *w, const struct otp_pprof_row *row)
{
    struct otp_pool_tail ids = otp_pool_tail(&w->dict->lists, row->list);
    const uint32_t *id = ids.data;
    otp_buf_clear(&w->labels);
    for (size_t i = 0; i < ids.len / sizeof(id[0]); i++) {
        write_attr_label(w, id[i]);
    }
    if (row->link != 0) {
        const struct otp_dict_link *l = otp_pool_head(&w->dict->links, row->link);
        write_id_label(w, w->frame->trace_id, l->trace_id, sizeof(l->trace_id));
        write_id_label(w, w->frame->span_id, l->span_id, sizeof(l->span_id));
    }
    if (row->time_ns != 0) {
        write_number_label(w, w->frame->timestamp_label, (int64_t)row->time_ns,
                           intern(w, otp_text_of("nanoseconds")));
    }
}

/* The locations of a stack as a field, into w->stack. */
static void put_stack(struct writer *w, uint32_t stack)
{
    struct otp_pool_tail tail = otp_pool_tail(&w->dict->stacks, stack);
    const uint32_t *frames = tail.data;
    otp_buf_clear(&w->stack);
    if (tail.len == 0) {
        return;
    }
    size_t list = otp_pack_open(&w->stack, SAMPLE_LOCATION_ID);
    for (size_t i = 0; i < tail.len / sizeof(frames[0]); i++) {
        otp_pack_varint(&w->stack, number(w, OTP_PLAN_LOCATIONS, frames[i]));
    }
    otp_pack_close(&w->stack, list);
}

/* The values of a row as a field, into w->values. */
static void put_values(struct writer *w, uint32_t id, const uint32_t *column_at)
{
    const int64_t *values = otp_pprof_plan_values(w->plan, id);
    size_t most = w->plan->column_count * OTP_PACK_VARINT_MAX;
    otp_buf_clear(&w->values);
    unsigned char *begin = otp_buf_reserve(&w->values, most + 1 + OTP_PACK_VARINT_MAX);
    if (begin == NULL) {
        return;
    }
    /* Behind the largest head that there may be; the head is then put directly before them. */
    unsigned char *first = begin + 1 + OTP_PACK_VARINT_MAX;
    unsigned char *end = first;
    for (size_t i = 0; i < w->plan->column_count; i++) {
        end = otp_pack_put(end, (uint64_t)values[column_at[i]]);
    }
    unsigned char head[OTP_PACK_VARINT_MAX];
    size_t head_len = (size_t)(otp_pack_put(head, (uint64_t)(end - first)) - head);
    memcpy(first - head_len, head, head_len);
    *(first - head_len - 1) = SAMPLE_VALUE << 3 | 2;
    w->values_at = first - head_len - 1;
    w->values.len = (size_t)(end - w->values_at);
}

static bool parts_are_whole(struct writer *w)
{
    bool ok = otp_buf_ok(&w->labels) && otp_buf_ok(&w->values) && otp_buf_ok(&w->stack);
    if (!ok && w->words.status == OTP_OK) {
        w->words.status = OTP_NO_MEMORY;
    }
    return ok;
}

/* Bytes of a part that was written before (known), or has just been put together. */
static size_t part_len(const struct span *known, const struct otp_buf *fresh)
{
    return known->len > 0 ? known->len : fresh->len;
}

/* Copies a part to where the message has room for it, and remembers that; the place behind it. */
static unsigned char *put_part(const struct writer *w, unsigned char *to, struct span *known,
                               const struct otp_buf *fresh)
{
    size_t len = part_len(known, fresh);
    if (len > 0) {
        memcpy(to, known->len > 0 ? w->out->data + known->off : fresh->data, len);
        *known = (struct span){.off = (size_t)(to - w->out->data), .len = len};
    }
    return to + len;
}

/* A sample, put together from its parts; stack and labels from where they were written last. */
static void write_sample(struct writer *w, uint32_t id, const uint32_t *column_at)
{
    const struct otp_pprof_row *row = otp_pool_head(&w->plan->rows, id);
    struct span once = {.len = 0}; /* labels of a link or a time are of this sample alone */
    struct span *stack = &w->stacks[row->stack];
    struct span *labels = row->link == 0 && row->time_ns == 0 ? &w->lists[row->list] : &once;
    unsigned char head[1 + OTP_PACK_VARINT_MAX] = {PROFILE_SAMPLE << 3 | 2};
    if (labels->len == 0) {
        put_labels(w, row);
    }
    put_values(w, id, column_at);
    if (stack->len == 0) {
        put_stack(w, row->stack);
    }
    size_t len = part_len(stack, &w->stack) + w->values.len + part_len(labels, &w->labels);
    size_t head_len = (size_t)(otp_pack_put(head + 1, len) - head);
    unsigned char *to = otp_buf_reserve(w->out, head_len + len);
    if (to == NULL || !parts_are_whole(w)) {
        return;
    }
    memcpy(to, head, head_len);
    to = put_part(w, to + head_len, stack, &w->stack);
    memcpy(to, w->values_at, w->values.len);
    (void)put_part(w, to + w->values.len, labels, &w->labels);
    w->out->len += head_len + len;
}

#define FETCH_AHEAD 16U /* rows that are on their way from memory */

static void write_samples(struct writer *w, const uint32_t *column_at)
{
    const struct otp_pprof_plan *p = w->plan;
    for (uint32_t i = p->zero_is_used ? 0 : 1; i < p->rows.count; i++) {
        uint32_t ahead = i + FETCH_AHEAD;
        if (p->order != NULL && ahead < p->rows.count) {
            __builtin_prefetch(otp_pool_head(&p->rows, p->order[ahead]));
            __builtin_prefetch(otp_pprof_plan_values(p, p->order[ahead]));
            __builtin_prefetch(otp_pprof_plan_values(p, p->order[ahead] + 1) - 1);
        }
        write_sample(w, p->order != NULL ? p->order[i] : i, column_at);
    }
}

/* ---- mappings ---- */

static unsigned marks_of_lines(const struct writer *w, struct otp_pool_tail tail)
{
    const struct otp_dict_line *lines = tail.data;
    size_t count = tail.len / sizeof(lines[0]);
    unsigned marks = count > 1 ? HAS_INLINED : 0;
    for (size_t i = 0; i < count; i++) {
        const struct otp_dict_function *f = otp_pool_head(&w->dict->functions, lines[i].function);
        marks |= f->filename != 0 ? HAS_FILES : 0;
        marks |= lines[i].line != 0 ? HAS_LINES : 0;
    }
    return marks | (count == 0 ? HAS_UNNAMED : 0) | HAS_LOCATIONS;
}

static void mark_mappings(struct writer *w)
{
    const struct otp_pool *locations = &w->dict->locations;
    for (uint32_t id = 1; id < locations->count; id++) {
        const struct otp_dict_location *l = otp_pool_head(locations, id);
        if (number(w, OTP_PLAN_LOCATIONS, id) != 0) {
            unsigned marks = w->marks[l->mapping] | marks_of_lines(w, otp_pool_tail(locations, id));
            w->marks[l->mapping] = (unsigned char)marks;
        }
    }
}

/* Which mapping comes first: that of the main program, if it is known. */
static void find_main(struct writer *w)
{
    const struct otp_pool *mappings = &w->dict->mappings;
    for (uint32_t id = 1; id < mappings->count && w->frame->main_file != 0; id++) {
        const struct otp_dict_mapping *m = otp_pool_head(mappings, id);
        if (number(w, OTP_PLAN_MAPPINGS, id) != 0 && m->filename == w->frame->main_file) {
            w->main = id;
            return;
        }
    }
    w->adds_main = w->frame->main_file != 0;
}

static uint32_t mapping_id(const struct writer *w, uint32_t mapping)
{
    uint32_t n = number(w, OTP_PLAN_MAPPINGS, mapping);
    if (n == 0 || w->adds_main) {
        return n == 0 ? 0 : n + 1;
    }
    if (w->main == 0 || mapping == w->main) {
        return w->main == 0 ? n : 1;
    }
    return n < number(w, OTP_PLAN_MAPPINGS, w->main) ? n + 1 : n;
}

static void fill_marks(const struct writer *w, uint32_t id, uint32_t list, PB(Mapping) * m)
{
    unsigned marks = w->marks[id];
    m->has_functions = otp_words_is_true(&w->words, list, OTP_PPROF_HAS_FUNCTIONS);
    m->has_filenames = otp_words_is_true(&w->words, list, OTP_PPROF_HAS_FILENAMES);
    m->has_line_numbers = otp_words_is_true(&w->words, list, OTP_PPROF_HAS_LINE_NUMBERS);
    m->has_inline_frames = otp_words_is_true(&w->words, list, OTP_PPROF_HAS_INLINE_FRAMES);
    bool is_said =
        m->has_functions || m->has_filenames || m->has_line_numbers || m->has_inline_frames;
    if (w->frame->mark_symbols && !is_said) {
        m->has_functions = (marks & (HAS_LOCATIONS | HAS_UNNAMED)) == HAS_LOCATIONS;
        m->has_filenames = (marks & HAS_FILES) != 0;
        m->has_line_numbers = (marks & HAS_LINES) != 0;
        m->has_inline_frames = (marks & HAS_INLINED) != 0;
    }
}

static void write_mapping(struct writer *w, uint32_t id)
{
    const struct otp_dict_mapping *head = otp_pool_head(&w->dict->mappings, id);
    uint32_t build_id = otp_words_text(&w->words, head->attrs, OTP_PPROF_BUILD_ID_GNU);
    PB(Mapping) m = PB_INIT(MAPPING);
    m.id = mapping_id(w, id);
    m.memory_start = head->start;
    m.memory_limit = head->limit;
    m.file_offset = head->file_offset;
    m.filename = string(w, head->filename);
    m.build_id =
        string(w, build_id != 0 ? build_id
                                : otp_words_text(&w->words, head->attrs, OTP_PPROF_BUILD_ID_GO));
    fill_marks(w, id, head->attrs, &m);
    otp_pack_message(w->out, PROFILE_MAPPING, &m.base);
}

static void write_mappings(struct writer *w)
{
    if (w->adds_main) {
        PB(Mapping) m = PB_INIT(MAPPING);
        m.id = 1;
        m.filename = string(w, w->frame->main_file);
        otp_pack_message(w->out, PROFILE_MAPPING, &m.base);
    }
    if (w->main != 0) {
        write_mapping(w, w->main);
    }
    for (uint32_t id = 1; id < w->dict->mappings.count; id++) {
        if (number(w, OTP_PLAN_MAPPINGS, id) != 0 && id != w->main) {
            write_mapping(w, id);
        }
    }
}

/* ---- locations, functions ---- */

/* Lines without a function are left out: readers refuse them. */
static size_t fill_lines(const struct writer *w, struct otp_pool_tail tail)
{
    static const PB(Line) empty_line = PB_INIT(LINE);
    const struct otp_dict_line *lines = tail.data;
    size_t count = 0;
    for (size_t i = 0; i < tail.len / sizeof(lines[0]); i++) {
        if (lines[i].function != 0) {
            w->lines[count] = empty_line;
            w->lines[count].function_id = number(w, OTP_PLAN_FUNCTIONS, lines[i].function);
            w->lines[count].line = lines[i].line;
            w->lines[count].column = lines[i].column;
            count++;
        }
    }
    return count;
}

static void write_locations(struct writer *w)
{
    const struct otp_pool *locations = &w->dict->locations;
    for (uint32_t id = 1; id < locations->count; id++) {
        const struct otp_dict_location *head = otp_pool_head(locations, id);
        PB(Location) l = PB_INIT(LOCATION);
        l.id = number(w, OTP_PLAN_LOCATIONS, id);
        if (l.id != 0) {
            l.mapping_id = mapping_id(w, head->mapping);
            l.address = head->address;
            l.n_line = fill_lines(w, otp_pool_tail(locations, id));
            l.line = w->line_ptrs;
            l.is_folded = otp_words_is_true(&w->words, head->attrs, OTP_PPROF_IS_FOLDED);
            otp_pack_message(w->out, PROFILE_LOCATION, &l.base);
        }
    }
}

static void write_functions(struct writer *w)
{
    const struct otp_pool *functions = &w->dict->functions;
    for (uint32_t id = 1; id < functions->count; id++) {
        const struct otp_dict_function *head = otp_pool_head(functions, id);
        PB(Function) f = PB_INIT(FUNCTION);
        f.id = number(w, OTP_PLAN_FUNCTIONS, id);
        if (f.id != 0) {
            f.name = string(w, head->name);
            f.system_name = string(w, head->system_name);
            f.filename = string(w, head->filename);
            f.start_line = head->start_line;
            otp_pack_message(w->out, PROFILE_FUNCTION, &f.base);
        }
    }
}

/* ---- the rest ---- */

static void set_once(struct writer *w, int64_t *to, uint32_t list, enum otp_pprof_key key)
{
    if (*to == 0) {
        *to = string(w, otp_words_text(&w->words, list, key));
    }
}

static void fill_default_type(struct writer *w, PB(Profile) * p)
{
    const struct otp_pprof_column *columns = (const void *)w->plan->columns.data;
    uint32_t usual = w->frame->usual_type;
    p->default_sample_type = string(w, w->frame->default_type);
    for (size_t i = 0; i < w->plan->column_count && usual != 0 && !w->frame->has_order; i++) {
        if (p->default_sample_type == 0 && columns[i].type == usual) {
            p->default_sample_type = string(w, usual);
        }
    }
}

/* pprof has one period: that of the first profile that has one. */
static void fill_period(struct writer *w, const struct otp_group *g, PB(Profile) * p,
                        PB(ValueType) * type)
{
    if (p->period_type != NULL || (g->period_type.type == 0 && g->period == 0)) {
        return;
    }
    type->type = string(w, g->period_type.type);
    type->unit = string(w, g->period_type.unit);
    p->period_type = type;
    p->period = g->period;
}

static void fill_rest(struct writer *w, PB(Profile) * p, PB(ValueType) * period_type)
{
    const struct otp_plan *base = &w->plan->base;
    const struct otp_group *last = NULL;
    for (size_t i = 0; i < base->profile_count; i++) {
        const struct otp_group *g = base->profiles[i].group;
        if (g == last) {
            continue;
        }
        last = g;
        set_once(w, &p->drop_frames, g->attrs, OTP_PPROF_DROP_FRAMES);
        set_once(w, &p->keep_frames, g->attrs, OTP_PPROF_KEEP_FRAMES);
        set_once(w, &p->doc_url, g->attrs, OTP_PPROF_DOC_URL);
        fill_period(w, g, p, period_type);
        otp_words_add_comments(&w->words, g->attrs);
    }
    if (w->frame->origin != 0) {
        otp_words_add_comment(&w->words, w->frame->origin);
    }
    struct otp_plan_range range = otp_plan_range_of_all(base->store);
    p->time_nanos = (int64_t)range.time_ns;
    p->duration_nanos = (int64_t)range.duration_ns;
    p->n_comment = w->words.comment_count;
    p->comment = w->words.comments;
    fill_default_type(w, p);
}

static void write_all(struct writer *w)
{
    uint32_t column_at[OTP_PPROF_COLUMNS_MAX];
    PB(Profile) rest = PB_INIT(PROFILE);
    PB(ValueType) period_type = PB_INIT(VALUE_TYPE);
    place_columns(w, column_at);
    find_main(w);
    mark_mappings(w);
    write_types(w, column_at);
    write_samples(w, column_at);
    write_mappings(w);
    write_locations(w);
    write_functions(w);
    fill_rest(w, &rest, &period_type);
    for (uint32_t i = 0; i < w->words.strings.count; i++) {
        struct otp_pool_tail t = otp_pool_tail(&w->words.strings, i);
        otp_pack_bytes(w->out, PROFILE_STRING_TABLE, t.data, t.len);
    }
    otp_pack_fields(w->out, &rest.base);
}

/* ---- working space ---- */

static bool make_space(struct writer *w)
{
    const struct otp_dict *d = w->dict;
    size_t lines = d->locations.longest_tail / sizeof(struct otp_dict_line);
    w->marks = otp_heap_calloc(d->heap, d->mappings.count, sizeof(w->marks[0]));
    w->lines = otp_heap_calloc(d->heap, lines, sizeof(w->lines[0]));
    w->line_ptrs = otp_heap_calloc(d->heap, lines, sizeof(w->line_ptrs[0]));
    w->stacks = otp_heap_calloc(d->heap, d->stacks.count, sizeof(w->stacks[0]));
    w->lists = otp_heap_calloc(d->heap, d->lists.count, sizeof(w->lists[0]));
    if (w->stacks == NULL || w->lists == NULL || w->marks == NULL || w->lines == NULL ||
        w->line_ptrs == NULL) {
        return false;
    }
    for (size_t i = 0; i < lines; i++) {
        w->line_ptrs[i] = &w->lines[i];
    }
    return true;
}

enum otp_status otp_pprof_write(const struct otp_pprof_plan *plan,
                                const struct otp_pprof_frame *frame, struct otp_buf *out)
{
    struct writer w = {.plan = plan, .dict = &plan->base.store->dict, .frame = frame, .out = out};
    otp_buf_init(&w.labels, w.dict->heap, SIZE_MAX / 2);
    otp_buf_init(&w.values, w.dict->heap, SIZE_MAX / 2);
    otp_buf_init(&w.stack, w.dict->heap, SIZE_MAX / 2);
    enum otp_status status = otp_words_init(&w.words, w.dict, frame->key);
    if (status == OTP_OK && !make_space(&w)) {
        status = OTP_NO_MEMORY;
    }
    if (status == OTP_OK) {
        write_all(&w);
        status = w.words.status;
    }
    otp_words_fini(&w.words);
    otp_buf_fini(&w.labels);
    otp_buf_fini(&w.values);
    otp_buf_fini(&w.stack);
    otp_heap_free(w.dict->heap, w.marks);
    otp_heap_free(w.dict->heap, w.stacks);
    otp_heap_free(w.dict->heap, w.lists);
    otp_heap_free(w.dict->heap, w.lines);
    otp_heap_free(w.dict->heap, w.line_ptrs);
    return status;
}
