/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/dict.h"

#include <string.h>

#include "core/base/sort.h"
#include "core/encode/clean.h"
#include "core/encode/value.h"

#define WORK_MAX (SIZE_MAX / 2) /* the heap's limit is the one that counts */

_Static_assert(sizeof(struct otp_dict_attr) == 24, "no padding");
_Static_assert(sizeof(struct otp_dict_function) == 24, "no padding");
_Static_assert(sizeof(struct otp_dict_mapping) == 32, "no padding");
_Static_assert(sizeof(struct otp_dict_location) == 16, "no padding");
_Static_assert(sizeof(struct otp_dict_line) == 24, "no padding");
_Static_assert(sizeof(struct otp_dict_link) == 24, "no padding");

enum otp_status otp_dict_init(struct otp_dict *d, struct otp_heap *heap, size_t max_string)
{
    memset(d, 0, sizeof(*d));
    d->heap = heap;
    d->max_string = max_string;
    otp_arena_init(&d->arena, heap);
    otp_buf_init(&d->text, heap, WORK_MAX);
    otp_buf_init(&d->numbers, heap, WORK_MAX);
    otp_buf_init(&d->keyed, heap, WORK_MAX);
    const struct {
        struct otp_pool *pool;
        size_t head_size;
        struct otp_arena *arena;
    } pools[] = {
        {&d->strings, 0, &d->arena},
        {&d->attrs, sizeof(struct otp_dict_attr), &d->arena},
        {&d->lists, 0, &d->arena},
        {&d->functions, sizeof(struct otp_dict_function), NULL},
        {&d->mappings, sizeof(struct otp_dict_mapping), NULL},
        {&d->locations, sizeof(struct otp_dict_location), &d->arena},
        {&d->stacks, 0, &d->arena},
        {&d->links, sizeof(struct otp_dict_link), NULL},
    };
    enum otp_status status = OTP_OK;
    for (size_t i = 0; i < OTP_ARRAY_LEN(pools); i++) {
        enum otp_status s = otp_pool_init(pools[i].pool, heap, pools[i].arena, pools[i].head_size);
        status = status == OTP_OK ? s : status;
    }
    return status;
}

void otp_dict_fini(struct otp_dict *d)
{
    struct otp_pool *pools[] = {&d->strings,  &d->attrs,     &d->lists,  &d->functions,
                                &d->mappings, &d->locations, &d->stacks, &d->links};
    for (size_t i = 0; i < OTP_ARRAY_LEN(pools); i++) {
        otp_pool_fini(pools[i]);
    }
    otp_buf_fini(&d->text);
    otp_buf_fini(&d->numbers);
    otp_buf_fini(&d->keyed);
    otp_arena_fini(&d->arena);
}

enum otp_status otp_dict_string(struct otp_dict *d, struct otp_text s, uint32_t *out_id)
{
    if (s.len > d->max_string || otp_clean_prefix(s.data, s.len) < s.len) {
        otp_buf_clear(&d->text);
        if (!otp_clean_text(&d->text, s, d->max_string)) {
            return OTP_NO_MEMORY;
        }
        s = otp_text_make((const char *)d->text.data, d->text.len);
    }
    return otp_pool_intern(&d->strings, NULL, s.data, s.len, out_id);
}

static enum otp_status attr_head(struct otp_dict *d, const struct otp_attr *a,
                                 struct otp_dict_attr *head)
{
    head->kind = (uint32_t)a->kind;
    switch (a->kind) {
    case OTP_ATTR_STRING:
        return otp_dict_string(d, a->string, &head->text);
    case OTP_ATTR_INT:
        head->bits = (uint64_t)a->number;
        return OTP_OK;
    case OTP_ATTR_BOOL:
        head->bits = a->number != 0;
        return OTP_OK;
    case OTP_ATTR_DOUBLE:
        memcpy(&head->bits, &a->real, sizeof(head->bits));
        return OTP_OK;
    case OTP_ATTR_BYTES:
    case OTP_ATTR_LIST:
    case OTP_ATTR_MAP: {
        const struct otp_value_limits limits = {.heap = d->heap, .max_string = d->max_string};
        return otp_value_encode(&limits, a, &d->text);
    }
    case OTP_ATTR_EMPTY:
        return OTP_OK;
    default:
        return OTP_INVALID;
    }
}

enum otp_status otp_dict_attr(struct otp_dict *d, const struct otp_attr *a, uint32_t *out_id)
{
    struct otp_dict_attr head = {.key = 0};
    *out_id = 0;
    OTP_TRY(otp_dict_string(d, a->key, &head.key));
    if (head.key == 0) {
        return OTP_OK;
    }
    OTP_TRY(otp_dict_string(d, a->unit, &head.unit));
    otp_buf_clear(&d->text);
    OTP_TRY(attr_head(d, a, &head));
    size_t tail_len = a->kind == OTP_ATTR_STRING ? 0 : d->text.len;
    return otp_pool_intern(&d->attrs, &head, d->text.data, tail_len, out_id);
}

struct keyed {
    uint32_t key;
    uint32_t place;
    uint32_t attr;
};

static int compare_keyed(const void *a, const void *b, void *arg)
{
    const struct keyed *x = a;
    const struct keyed *y = b;
    (void)arg;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->place < y->place ? -1 : x->place > y->place;
}

static uint32_t key_of(const struct otp_dict *d, uint32_t attr)
{
    const struct otp_dict_attr *head = otp_pool_head(&d->attrs, attr);
    return head->key;
}

/* Ascending keys without repetition already: the usual case, and then there is nothing to do. */
static bool is_canonical(const struct otp_dict *d, const uint32_t *attrs, size_t count)
{
    uint32_t before = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t key = key_of(d, attrs[i]);
        if (key <= before) {
            return false;
        }
        before = key;
    }
    return true;
}

static enum otp_status intern_sorted(struct otp_dict *d, const uint32_t *attrs, size_t count,
                                     uint32_t *out_id)
{
    otp_buf_clear(&d->keyed);
    struct keyed *items = (void *)otp_buf_reserve(&d->keyed, count * sizeof(items[0]));
    if (items == NULL) {
        return OTP_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        items[i].key = key_of(d, attrs[i]);
        items[i].place = (uint32_t)i;
        items[i].attr = attrs[i];
    }
    otp_sort(items, count, sizeof(items[0]), compare_keyed, NULL);
    uint32_t *ids = (void *)d->keyed.data; /* in place: never ahead of what is still to be read */
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool last = i + 1 == count || items[i + 1].key != items[i].key;
        if (last && items[i].attr != 0) {
            ids[kept++] = items[i].attr;
        }
    }
    return otp_pool_intern(&d->lists, NULL, ids, kept * sizeof(ids[0]), out_id);
}

enum otp_status otp_dict_list(struct otp_dict *d, const uint32_t *attrs, size_t count,
                              uint32_t *out_id)
{
    *out_id = 0;
    for (size_t i = 0; i < count; i++) {
        if (attrs[i] >= d->attrs.count) {
            return OTP_INVALID;
        }
    }
    if (count > UINT32_MAX / sizeof(struct keyed)) {
        return OTP_TOO_LARGE;
    }
    if (!is_canonical(d, attrs, count)) {
        return intern_sorted(d, attrs, count, out_id);
    }
    return otp_pool_intern(&d->lists, NULL, attrs, count * sizeof(attrs[0]), out_id);
}

enum otp_status otp_dict_attr_list(struct otp_dict *d, const struct otp_attr *attrs, size_t count,
                                   uint32_t *out_id)
{
    *out_id = 0;
    if (count == 0) {
        return OTP_OK;
    }
    otp_buf_clear(&d->numbers);
    for (size_t i = 0; i < count; i++) {
        uint32_t id;
        OTP_TRY(otp_dict_attr(d, &attrs[i], &id));
        if (!otp_buf_add(&d->numbers, &id, sizeof(id))) {
            return OTP_NO_MEMORY;
        }
    }
    return otp_dict_list(d, (const void *)d->numbers.data, count, out_id);
}

enum otp_status otp_dict_mapping(struct otp_dict *d, const struct otp_visit_mapping *m,
                                 uint32_t *out_id)
{
    struct otp_dict_mapping head = {.file_offset = m->file_offset};
    *out_id = 0;
    if (m->start < m->limit) {
        head.start = m->start;
        head.limit = m->limit;
    }
    OTP_TRY(otp_dict_string(d, m->filename, &head.filename));
    OTP_TRY(otp_dict_attr_list(d, m->attrs, m->attr_count, &head.attrs));
    return otp_pool_intern(&d->mappings, &head, NULL, 0, out_id);
}

static int64_t not_negative(int64_t v)
{
    return v < 0 ? 0 : v;
}

static enum otp_status intern_function(struct otp_dict *d, const struct otp_visit_line *l,
                                       uint32_t *out_id)
{
    struct otp_dict_function head = {.name = 0};
    *out_id = 0;
    OTP_TRY(otp_dict_string(d, l->name, &head.name));
    OTP_TRY(otp_dict_string(d, l->system_name, &head.system_name));
    OTP_TRY(otp_dict_string(d, l->filename, &head.filename));
    if (head.name == 0 && head.system_name == 0 && head.filename == 0) {
        return OTP_OK; /* a function has at least one text */
    }
    head.start_line = not_negative(l->start_line);
    return otp_pool_intern(&d->functions, &head, NULL, 0, out_id);
}

/* The frame's lines as the tail of its location, in d->numbers. */
static enum otp_status collect_lines(struct otp_dict *d, const struct otp_visit_frame *f)
{
    otp_buf_clear(&d->numbers);
    for (size_t i = 0; i < f->line_count; i++) {
        struct otp_dict_line line = {.line = not_negative(f->lines[i].line),
                                     .column = not_negative(f->lines[i].column)};
        OTP_TRY(intern_function(d, &f->lines[i], &line.function));
        if (line.function == 0 && line.line == 0 && line.column == 0) {
            continue; /* says nothing */
        }
        if (!otp_buf_add(&d->numbers, &line, sizeof(line))) {
            return OTP_NO_MEMORY;
        }
    }
    return OTP_OK;
}

enum otp_status otp_dict_frame(struct otp_dict *d, const struct otp_visit_frame *f,
                               uint32_t *out_id)
{
    struct otp_dict_location head = {.address = f->address, .mapping = f->mapping};
    *out_id = 0;
    if (f->mapping >= d->mappings.count) {
        return OTP_INVALID;
    }
    OTP_TRY(otp_dict_attr_list(d, f->attrs, f->attr_count, &head.attrs));
    OTP_TRY(collect_lines(d, f));
    return otp_pool_intern(&d->locations, &head, d->numbers.data, d->numbers.len, out_id);
}

enum otp_status otp_dict_stack(struct otp_dict *d, const uint32_t *frames, size_t count,
                               uint32_t *out_id)
{
    bool gaps = false;
    *out_id = 0;
    for (size_t i = 0; i < count; i++) {
        if (frames[i] >= d->locations.count) {
            return OTP_INVALID;
        }
        gaps = gaps || frames[i] == 0;
    }
    if (!gaps) {
        return otp_pool_intern(&d->stacks, NULL, frames, count * sizeof(frames[0]), out_id);
    }
    otp_buf_clear(&d->numbers);
    for (size_t i = 0; i < count; i++) {
        if (frames[i] != 0 && !otp_buf_add(&d->numbers, &frames[i], sizeof(frames[i]))) {
            return OTP_NO_MEMORY;
        }
    }
    return otp_pool_intern(&d->stacks, NULL, d->numbers.data, d->numbers.len, out_id);
}

static bool all_zero(const uint8_t *p, size_t len)
{
    uint8_t any = 0;
    for (size_t i = 0; i < len; i++) {
        any |= p[i];
    }
    return any == 0;
}

enum otp_status otp_dict_link(struct otp_dict *d, const uint8_t trace_id[16],
                              const uint8_t span_id[8], uint32_t *out_id)
{
    struct otp_dict_link head;
    *out_id = 0;
    if (all_zero(trace_id, sizeof(head.trace_id)) || all_zero(span_id, sizeof(head.span_id))) {
        return OTP_OK;
    }
    memcpy(head.trace_id, trace_id, sizeof(head.trace_id));
    memcpy(head.span_id, span_id, sizeof(head.span_id));
    return otp_pool_intern(&d->links, &head, NULL, 0, out_id);
}
