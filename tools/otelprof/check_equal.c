/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal entries. Each entry becomes a key: a list of numbers in which each reference is replaced by
 * the first entry that is equal to the one referred to, so that equality is by meaning. Tables are
 * gone through in an order in which a table comes behind those that it refers to.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "core/base/sort.h"
#include "tools/otelprof/check.h"

/* A key under construction. */
struct key {
    struct otp_vec numbers; /* uint64_t */
    struct otp_text text;   /* bytes that are part of it, for strings and the like */
    bool failed;
};

struct finder {
    struct otp_check *c;
    enum otp_table table;
    struct otp_budget budget;
    struct otp_heap heap;
    struct otp_map map;
    struct key mine;                   /* of the entry that is looked for */
    struct key other;                  /* of the one it is compared with */
    const struct otp_profile *profile; /* when samples are compared */
};

static void add(struct key *k, uint64_t number)
{
    k->failed = !otp_vec_append(&k->numbers, &number, 1) || k->failed;
}

/* The first entry equal to entry `index`; an index that points nowhere stands for itself. */
static uint64_t first_of(const struct otp_check *c, enum otp_table table, int32_t index)
{
    if (index >= 0 && (uint32_t)index < c->m->table[table].count && c->first[table] != NULL) {
        return c->first[table][index];
    }
    return (uint32_t)index;
}

static int compare_numbers(const void *left, const void *right, void *arg)
{
    const uint64_t *a = left;
    const uint64_t *b = right;
    (void)arg;
    return (*a > *b) - (*a < *b);
}

/* Attributes are a set: their order does not count. */
static void add_list(struct finder *f, struct key *k, uint32_t list)
{
    uint32_t count;
    const int32_t *items = otp_profiles_list(f->c->m, list, &count);
    uint32_t begin = k->numbers.count;

    for (uint32_t i = 0; i < count; i++) {
        add(k, first_of(f->c, OTP_TABLE_ATTRIBUTE, items[i]));
    }
    if (!k->failed && count > 1) {
        otp_sort((uint64_t *)k->numbers.items + begin, count, sizeof(uint64_t), compare_numbers,
                 NULL);
    }
}

static void key_of_mapping(struct finder *f, struct key *k, uint32_t i)
{
    const struct otp_mapping *m = otp_profiles_mapping(f->c->m, (int32_t)i);
    add(k, m->start);
    add(k, m->limit);
    add(k, m->file_offset);
    add(k, first_of(f->c, OTP_TABLE_STRING, m->filename));
    add_list(f, k, m->attrs);
}

static void key_of_location(struct finder *f, struct key *k, uint32_t i)
{
    const struct otp_location *l = otp_profiles_location(f->c->m, (int32_t)i);
    add(k, first_of(f->c, OTP_TABLE_MAPPING, l->mapping));
    add(k, l->address);
    add(k, l->lines.count);
    for (uint32_t n = 0; n < l->lines.count; n++) {
        const struct otp_source_line *line = otp_profiles_line(f->c->m, l->lines.first + n);
        add(k, first_of(f->c, OTP_TABLE_FUNCTION, line->function));
        add(k, (uint64_t)line->line);
        add(k, (uint64_t)line->column);
    }
    add_list(f, k, l->attrs);
}

static void key_of_function(struct finder *f, struct key *k, uint32_t i)
{
    const struct otp_function *fn = otp_profiles_function(f->c->m, (int32_t)i);
    add(k, first_of(f->c, OTP_TABLE_STRING, fn->name));
    add(k, first_of(f->c, OTP_TABLE_STRING, fn->system_name));
    add(k, first_of(f->c, OTP_TABLE_STRING, fn->filename));
    add(k, (uint64_t)fn->start_line);
}

static void key_of_link(struct finder *f, struct key *k, uint32_t i)
{
    const struct otp_link *l = otp_profiles_link(f->c->m, (int32_t)i);
    struct otp_text ids[] = {otp_profiles_text(f->c->m, l->trace_id),
                             otp_profiles_text(f->c->m, l->span_id)};

    for (size_t n = 0; n < 2; n++) {
        add(k, ids[n].len);
        for (size_t b = 0; b < ids[n].len; b++) {
            add(k, (unsigned char)ids[n].data[b]);
        }
    }
}

static void key_of_string(struct finder *f, struct key *k, uint32_t i)
{
    k->text = otp_profiles_string(f->c->m, (int32_t)i);
}

static void key_of_attribute(struct finder *f, struct key *k, uint32_t i)
{
    const struct otp_attribute *a = otp_profiles_attribute(f->c->m, (int32_t)i);
    uint64_t bits = 0;

    add(k, first_of(f->c, OTP_TABLE_STRING, a->key));
    add(k, first_of(f->c, OTP_TABLE_STRING, a->unit));
    add(k, a->value.kind == OTP_VALUE_STRINDEX ? OTP_VALUE_STRING : (uint64_t)a->value.kind);
    switch (a->value.kind) {
    case OTP_VALUE_STRING:
    case OTP_VALUE_STRINDEX:
        k->text = otp_profiles_value_text(f->c->m, &a->value);
        break;
    case OTP_VALUE_BOOL:
    case OTP_VALUE_INT:
        add(k, (uint64_t)a->value.of.number);
        break;
    case OTP_VALUE_DOUBLE:
        memcpy(&bits, &a->value.of.real, sizeof(bits));
        add(k, bits);
        break;
    case OTP_VALUE_ARRAY:
    case OTP_VALUE_KVLIST:
    case OTP_VALUE_BYTES:
        k->text = otp_profiles_text(f->c->m, a->value.of.piece);
        break;
    case OTP_VALUE_NONE:
    case OTP_VALUE_KINDS:
    default:
        break;
    }
}

static void key_of_stack(struct finder *f, struct key *k, uint32_t i)
{
    const struct otp_slice *stack = otp_profiles_stack(f->c->m, (int32_t)i);
    const int32_t *frames = otp_profiles_frames(f->c->m, stack);

    for (uint32_t n = 0; n < stack->count; n++) {
        add(k, first_of(f->c, OTP_TABLE_LOCATION, frames[n]));
    }
}

static void key_of_sample(struct finder *f, struct key *k, uint32_t i)
{
    const struct otp_sample *s = otp_profiles_sample(f->c->m, f->profile->samples.first + i);
    add(k, first_of(f->c, OTP_TABLE_STACK, s->stack));
    add(k, first_of(f->c, OTP_TABLE_LINK, s->link));
    add_list(f, k, s->attrs);
}

static void (*const key_makers[OTP_TABLES])(struct finder *f, struct key *k, uint32_t i) = {
    [OTP_TABLE_MAPPING] = key_of_mapping,   [OTP_TABLE_LOCATION] = key_of_location,
    [OTP_TABLE_FUNCTION] = key_of_function, [OTP_TABLE_LINK] = key_of_link,
    [OTP_TABLE_STRING] = key_of_string,     [OTP_TABLE_ATTRIBUTE] = key_of_attribute,
    [OTP_TABLE_STACK] = key_of_stack,
};

static void make_key(struct finder *f, struct key *k, uint32_t i)
{
    k->numbers.count = 0;
    k->text = otp_text_make("", 0);
    (f->profile != NULL ? key_of_sample : key_makers[f->table])(f, k, i);
}

static bool keys_equal(const struct key *a, const struct key *b)
{
    return a->numbers.count == b->numbers.count && a->text.len == b->text.len &&
           (a->numbers.count == 0 || memcmp(a->numbers.items, b->numbers.items,
                                            (size_t)a->numbers.count * sizeof(uint64_t)) == 0) &&
           memcmp(a->text.data, b->text.data, a->text.len) == 0;
}

/* The map asks whether entry id has the key that is looked for. */
static bool is_entry(const void *ctx, uint32_t id, const void *key)
{
    struct finder *f = *(struct finder *const *)ctx;
    make_key(f, &f->other, id);
    return keys_equal(&f->other, key);
}

static uint64_t hash_of(const struct key *k)
{
    const void *numbers = k->numbers.count > 0 ? k->numbers.items : "";
    uint64_t h = otp_hash_bytes(numbers, (size_t)k->numbers.count * sizeof(uint64_t), 7);
    return otp_hash_bytes(k->text.data, k->text.len, h);
}

static void finder_init(struct finder *f, struct otp_check *c)
{
    memset(f, 0, sizeof(*f));
    f->c = c;
    f->budget.left_bytes = UINT64_MAX;
    otp_heap_init(&f->heap, SIZE_MAX);
    otp_map_init(&f->map, &f->heap);
    otp_vec_init(&f->mine.numbers, &f->budget, sizeof(uint64_t));
    otp_vec_init(&f->other.numbers, &f->budget, sizeof(uint64_t));
}

static void finder_fini(struct finder *f)
{
    otp_heap_reset(&f->heap);
    otp_vec_fini(&f->mine.numbers);
    otp_vec_fini(&f->other.numbers);
}

/* The first entry equal to entry i, which may be i itself; false: no memory. */
static bool find_first(struct finder *f, uint32_t i, uint32_t *out_first)
{
    struct finder *self = f;

    make_key(f, &f->mine, i);
    uint64_t hash = hash_of(&f->mine);
    uint32_t found = otp_map_find(&f->map, hash, &f->mine, is_entry, &self);
    *out_first = found == OTP_MAP_NONE ? i : found;
    if (found == OTP_MAP_NONE && !otp_map_add(&f->map, hash, i)) {
        return false;
    }
    return !f->mine.failed && !f->other.failed;
}

static bool find_equal_entries(struct otp_check *c, enum otp_table table)
{
    /* The base rules know of equal strings and mappings only. */
    bool is_rule = c->strict || table == OTP_TABLE_STRING || table == OTP_TABLE_MAPPING;
    uint32_t count = c->m->table[table].count;
    uint32_t *first = malloc(((size_t)count + 1) * sizeof(first[0]));
    struct finder f;
    bool ok = first != NULL;

    finder_init(&f, c);
    f.table = table;
    for (uint32_t i = 0; i < count && ok; i++) {
        ok = find_first(&f, i, &first[i]);
        if (ok && first[i] != i && is_rule && otp_check_has_tables(c)) {
            otp_place_enter(&c->place, otp_check_tables[table], i);
            otp_check_report(c, NULL, "it is equal to entry %u", (unsigned)first[i]);
            otp_place_leave(&c->place);
        }
    }
    finder_fini(&f);
    c->first[table] = first;
    return ok;
}

bool otp_check_equal(struct otp_check *c)
{
    static const enum otp_table order[] = {
        OTP_TABLE_STRING,   OTP_TABLE_ATTRIBUTE, OTP_TABLE_MAPPING, OTP_TABLE_FUNCTION,
        OTP_TABLE_LOCATION, OTP_TABLE_STACK,     OTP_TABLE_LINK};
    bool ok = true;

    memset(&c->place, 0, sizeof(c->place));
    otp_place_enter(&c->place, "dictionary", OTP_PLACE_ONE);
    /* The first three are all that the base rules need. */
    for (size_t t = 0; t < (c->strict ? sizeof(order) / sizeof(order[0]) : 3) && ok; t++) {
        ok = find_equal_entries(c, order[t]);
    }
    otp_place_leave(&c->place);
    return ok;
}

bool otp_check_identities(struct otp_check *c, const struct otp_profile *p)
{
    struct finder f;
    bool ok = true;

    finder_init(&f, c);
    f.profile = p;
    for (uint32_t i = 0; i < p->samples.count && ok; i++) {
        uint32_t first;
        ok = find_first(&f, i, &first);
        if (ok && first != i) {
            otp_place_enter(&c->place, "samples", i);
            otp_check_report(c, NULL, "it has stack, attributes and link of sample %u",
                             (unsigned)first);
            otp_place_leave(&c->place);
        }
    }
    finder_fini(&f);
    return ok;
}
