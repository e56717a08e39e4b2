/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables may come in any order and refer to each other by id, so a first pass notes where each
 * entry is; samples are read when all ids are known; then all is written. Source of the field
 * numbers: proto/pprof.proto.
 */
#include "core/decode/pprof.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/sort.h"
#include "core/decode/meter.h"
#include "core/decode/pprof_parts.h"

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE,
    PROFILE_MAPPING,
    PROFILE_LOCATION,
    PROFILE_FUNCTION,
    PROFILE_STRING_TABLE,
    PROFILE_DROP_FRAMES,
    PROFILE_KEEP_FRAMES,
    PROFILE_TIME,
    PROFILE_DURATION,
    PROFILE_PERIOD_TYPE,
    PROFILE_PERIOD,
    PROFILE_COMMENT,
    PROFILE_DEFAULT_TYPE,
    PROFILE_DOC_URL
};

#define ENTRY_ID 1U /* field of Mapping, Location and Function */

const char *const otp_pprof_words[OTP_WORDS] = {
    [OTP_WORD_BUILD_ID] = "process.executable.build_id.gnu",
    [OTP_WORD_HAS_FUNCTIONS] = "pprof.mapping.has_functions",
    [OTP_WORD_HAS_FILENAMES] = "pprof.mapping.has_filenames",
    [OTP_WORD_HAS_LINE_NUMBERS] = "pprof.mapping.has_line_numbers",
    [OTP_WORD_HAS_INLINE_FRAMES] = "pprof.mapping.has_inline_frames",
    [OTP_WORD_IS_FOLDED] = "pprof.location.is_folded",
    [OTP_WORD_COMMENT] = "pprof.profile.comment",
    [OTP_WORD_DOC_URL] = "pprof.profile.doc_url",
    [OTP_WORD_DROP_FRAMES] = "pprof.profile.drop_frames",
    [OTP_WORD_KEEP_FRAMES] = "pprof.profile.keep_frames",
};

bool otp_pprof_fail(struct otp_pprof *p, const uint8_t *at, const char *reason)
{
    if (p->fault.reason == NULL) {
        p->fault.reason = reason;
        p->fault.at = at;
    }
    return false;
}

bool otp_pprof_no_room(struct otp_pprof *p)
{
    return otp_pprof_fail(p, p->data, "there is more in it than the memory limit allows");
}

struct otp_wire otp_pprof_inside(struct otp_pprof *p, const struct otp_field *f)
{
    return otp_wire_inside(f, &p->fault);
}

bool otp_pprof_string(struct otp_pprof *p, const struct otp_field *f, uint32_t *out_string)
{
    if (f->type != OTP_WIRE_VARINT || f->value >= p->strings.count) {
        return f->type == OTP_WIRE_VARINT && f->value == 0
                   ? (*out_string = 0, true)
                   : otp_pprof_fail(p, f->at, "a text is not in the string table");
    }
    *out_string = (uint32_t)f->value;
    return true;
}

uint32_t otp_pprof_word(struct otp_pprof *p, enum otp_pprof_word word)
{
    if (p->word[word] == 0) {
        uint32_t own = p->strings.count > 0 ? p->strings.count : 1; /* string 0 is always there */
        p->word_order[p->word_count] = word;
        p->word[word] = own + p->word_count++;
    }
    return p->word[word];
}

/* ---- tables by id ---- */

static const struct otp_pprof_entry *entry_at(const struct otp_pprof_table *t, uint32_t i)
{
    return otp_vec_at(&t->entries, i);
}

static int compare_ids(const void *a, const void *b, void *arg)
{
    const struct otp_pprof_table *t = arg;
    uint64_t x = entry_at(t, *(const uint32_t *)a)->id;
    uint64_t y = entry_at(t, *(const uint32_t *)b)->id;
    return x < y ? -1 : x > y;
}

static bool counts_up(const struct otp_pprof_table *t)
{
    for (uint32_t i = 0; i < t->entries.count; i++) {
        if (entry_at(t, i)->id != (uint64_t)i + 1) {
            return false;
        }
    }
    return true;
}

/* Makes the table ready for otp_pprof_find. */
static bool index_table(struct otp_pprof *p, struct otp_pprof_table *t)
{
    if (counts_up(t)) {
        return true;
    }
    t->by_id = otp_heap_calloc(&p->heap, t->entries.count, sizeof(t->by_id[0]));
    if (t->by_id == NULL) {
        return otp_pprof_no_room(p);
    }
    for (uint32_t i = 0; i < t->entries.count; i++) {
        t->by_id[i] = i;
    }
    otp_sort(t->by_id, t->entries.count, sizeof(t->by_id[0]), compare_ids, t);
    for (uint32_t i = 0; i < t->entries.count; i++) {
        const struct otp_pprof_entry *e = entry_at(t, t->by_id[i]);
        if (e->id == 0) {
            return otp_pprof_fail(p, e->field.at, "a mapping, location or function has no id");
        }
        if (i > 0 && entry_at(t, t->by_id[i - 1])->id == e->id) {
            return otp_pprof_fail(p, e->field.at,
                                  "two mappings, locations or functions have one id");
        }
    }
    return true;
}

uint32_t otp_pprof_find(const struct otp_pprof_table *t, uint64_t id)
{
    uint32_t low = 0;
    uint32_t high = t->entries.count;
    if (t->by_id == NULL) {
        return id <= t->entries.count ? (uint32_t)id : 0;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint64_t here = entry_at(t, t->by_id[middle])->id;
        if (here == id) {
            return t->by_id[middle] + 1;
        }
        low = here < id ? middle + 1 : low;
        high = here < id ? high : middle;
    }
    return 0;
}

static bool add_entry(struct otp_pprof *p, const struct otp_field *f, struct otp_pprof_table *t)
{
    struct otp_wire w = otp_pprof_inside(p, f);
    struct otp_pprof_entry *e = otp_vec_push(&t->entries);
    struct otp_field inner;
    if (e == NULL) {
        return otp_pprof_no_room(p);
    }
    e->field = *f;
    while (otp_wire_next(&w, &inner)) {
        if (inner.number == ENTRY_ID && inner.type == OTP_WIRE_VARINT) {
            e->id = inner.value;
        }
    }
    return otp_wire_ok(&w);
}

/* ---- first pass ---- */

static bool add_field(struct otp_pprof *p, const struct otp_field *f, struct otp_vec *to)
{
    return otp_vec_append(to, f, 1) || otp_pprof_no_room(p);
}

static bool table_field(struct otp_pprof *p, const struct otp_field *f)
{
    switch (f->number) {
    case PROFILE_SAMPLE_TYPE:
        return add_field(p, f, &p->types);
    case PROFILE_SAMPLE:
        p->samples_begin = p->sample_count == 0 ? f->at : p->samples_begin;
        p->samples_end = f->data + f->len;
        p->sample_count++;
        return true;
    case PROFILE_MAPPING:
        return add_entry(p, f, &p->mappings);
    case PROFILE_LOCATION:
        return add_entry(p, f, &p->locations);
    case PROFILE_FUNCTION:
        return add_entry(p, f, &p->functions);
    case PROFILE_STRING_TABLE:
        return add_field(p, f, &p->strings);
    case PROFILE_PERIOD_TYPE:
        p->period_type = *f;
        p->has_period_type = true;
        return true;
    default:
        return true;
    }
}

static void number_field(struct otp_pprof *p, const struct otp_field *f)
{
    int64_t *const numbers[PROFILE_DOC_URL + 1] = {
        [PROFILE_DROP_FRAMES] = &p->drop_frames, [PROFILE_KEEP_FRAMES] = &p->keep_frames,
        [PROFILE_TIME] = &p->time_nanos,         [PROFILE_DURATION] = &p->duration_nanos,
        [PROFILE_PERIOD] = &p->period,           [PROFILE_DEFAULT_TYPE] = &p->default_type,
        [PROFILE_DOC_URL] = &p->doc_url,
    };
    if (f->number <= PROFILE_DOC_URL && numbers[f->number] != NULL) {
        *numbers[f->number] = (int64_t)f->value;
    }
}

/* One comment, or a packed list of them. */
static bool comment_field(struct otp_pprof *p, const struct otp_field *f)
{
    uint64_t v = f->value;
    if (f->type == OTP_WIRE_VARINT) {
        return otp_vec_append(&p->comments, &v, 1) || otp_pprof_no_room(p);
    }
    struct otp_wire w = otp_pprof_inside(p, f);
    while (f->type == OTP_WIRE_LEN && w.pos < w.end) {
        if (!otp_wire_varint(&w, &v)) {
            return false;
        }
        if (!otp_vec_append(&p->comments, &v, 1)) {
            return otp_pprof_no_room(p);
        }
    }
    return true;
}

static bool read_tables(struct otp_pprof *p)
{
    struct otp_wire w;
    struct otp_field f;
    bool ok = true;
    otp_wire_init(&w, p->data, p->len, &p->fault);
    for (uint64_t i = 0; ok && otp_wire_next(&w, &f); i++) {
        otp_meter_at("reading", p->data, f.at, p->data + p->len, i);
        if (f.number == PROFILE_COMMENT) {
            ok = comment_field(p, &f);
        } else if (f.type == OTP_WIRE_LEN) {
            ok = table_field(p, &f);
        } else if (f.type == OTP_WIRE_VARINT) {
            number_field(p, &f);
        }
    }
    return ok && otp_wire_ok(&w);
}

/* Numbers of strings that stand in the profile itself. */
static bool check_texts(struct otp_pprof *p)
{
    const int64_t own[] = {p->drop_frames, p->keep_frames, p->default_type, p->doc_url};
    const int64_t *comments = p->comments.items;
    bool ok = true;
    for (size_t i = 0; i < OTP_ARRAY_LEN(own); i++) {
        ok = ok && (own[i] == 0 || (own[i] > 0 && (uint64_t)own[i] < p->strings.count));
    }
    for (uint32_t i = 0; i < p->comments.count; i++) {
        ok = ok && comments[i] >= 0 && (uint64_t)comments[i] < p->strings.count;
    }
    if (!ok) {
        return otp_pprof_fail(p, p->data, "a text of the profile is not in the string table");
    }
    const struct otp_field *first = p->strings.items;
    if (p->strings.count > 0 && first->len > 0) {
        return otp_pprof_fail(p, first->at, "the first text of the string table is not empty");
    }
    if (p->types.count == 0) {
        return otp_pprof_fail(p, p->data, "the profile has no sample type");
    }
    return true;
}

static void init(struct otp_pprof *p, uint64_t budget_bytes)
{
    const struct {
        struct otp_vec *vec;
        size_t size;
    } vecs[] = {
        {&p->strings, sizeof(struct otp_field)},
        {&p->types, sizeof(struct otp_field)},
        {&p->mappings.entries, sizeof(struct otp_pprof_entry)},
        {&p->locations.entries, sizeof(struct otp_pprof_entry)},
        {&p->functions.entries, sizeof(struct otp_pprof_entry)},
        {&p->comments, sizeof(int64_t)},
        {&p->samples, sizeof(struct otp_row)},
        {&p->values, sizeof(int64_t)},
        {&p->attrs, sizeof(uint32_t)},
        {&p->frames, sizeof(uint32_t)},
        {&p->stacks, sizeof(struct otp_slice)},
        {&p->attr_parts, sizeof(struct otp_pprof_value)},
        {&p->attr_table, sizeof(struct otp_slice)},
        {&p->links, sizeof(struct otp_pprof_link)},
        {&p->numbers, sizeof(uint64_t)},
        {&p->labels, sizeof(struct otp_pprof_value)},
    };
    p->budget.left_bytes = budget_bytes;
    for (size_t i = 0; i < OTP_ARRAY_LEN(vecs); i++) {
        otp_vec_init(vecs[i].vec, &p->budget, vecs[i].size);
    }
    otp_heap_init(&p->heap, (size_t)budget_bytes);
    otp_map_init(&p->stack_map, &p->heap);
    otp_map_init(&p->attr_map, &p->heap);
    otp_map_init(&p->link_map, &p->heap);
}

static void fini(struct otp_pprof *p)
{
    struct otp_vec *const vecs[] = {&p->strings,
                                    &p->types,
                                    &p->mappings.entries,
                                    &p->locations.entries,
                                    &p->comments,
                                    &p->samples,
                                    &p->functions.entries,
                                    &p->values,
                                    &p->attrs,
                                    &p->frames,
                                    &p->stacks,
                                    &p->attr_parts,
                                    &p->numbers,
                                    &p->attr_table,
                                    &p->links,
                                    &p->labels};
    for (size_t i = 0; i < OTP_ARRAY_LEN(vecs); i++) {
        otp_vec_fini(vecs[i]);
    }
    otp_heap_reset(&p->heap);
}

/* Gives an array away, with the memory that it takes. */
static void hand_over(struct otp_vec *from, struct otp_vec *to)
{
    *to = *from;
    to->budget = NULL;
    otp_vec_init(from, from->budget, from->item_size);
}

static void hand_over_rows(struct otp_pprof *p, struct otp_rows *rows)
{
    hand_over(&p->samples, &rows->rows);
    hand_over(&p->values, &rows->values);
    hand_over(&p->attrs, &rows->attrs);
    rows->width = p->types.count;
}

enum otp_status otp_pprof_decode(const uint8_t *data, size_t len, struct otp_translation *t)
{
    struct otp_pprof p;
    memset(&p, 0, sizeof(p));
    p.data = data;
    p.len = len;
    p.is_consumed = t->is_consumed;
    init(&p, t->budget_bytes);
    bool ok = read_tables(&p) && check_texts(&p) && otp_pprof_read_origin(&p) &&
              index_table(&p, &p.mappings) && index_table(&p, &p.locations) &&
              index_table(&p, &p.functions) && otp_pprof_read_samples(&p) &&
              otp_pprof_emit(&p, &t->out, t->rows);
    if (ok && t->rows != NULL) {
        hand_over_rows(&p, t->rows);
    }
    t->fault = p.fault;
    t->used = len;
    t->lost = p.lost;
    t->lost.negatives = (p.time_nanos < 0) + (uint64_t)(p.duration_nanos < 0);
    fini(&p);
    return ok ? OTP_OK : OTP_MALFORMED;
}
