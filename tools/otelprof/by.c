/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/by.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 64 /* an id in hex, a number */

bool otp_by_init(struct otp_by *by, const char *spec)
{
    static const char label[] = "label=";
    static const char *const words[] = {
        [OTP_BY_TRACE] = "trace", [OTP_BY_SPAN] = "span", [OTP_BY_THREAD] = "thread"};

    memset(by, 0, sizeof(*by));
    otp_heap_init(&by->heap, SIZE_MAX);
    otp_map_init(&by->map, &by->heap);
    if (strncmp(spec, label, sizeof(label) - 1) == 0 && spec[sizeof(label) - 1] != '\0') {
        by->kind = OTP_BY_LABEL;
        by->key = spec + sizeof(label) - 1;
        return true;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(spec, words[i]) == 0) {
            by->kind = (enum otp_by_kind)i;
            return true;
        }
    }
    return false;
}

void otp_by_fini(struct otp_by *by)
{
    otp_heap_reset(&by->heap);
    free(by->names);
    memset(by, 0, sizeof(*by));
}

static struct otp_text hex_text(const struct otp_profiles *m, struct otp_piece id, char *buf)
{
    static const char digits[] = "0123456789abcdef";
    struct otp_text bytes = otp_profiles_text(m, id);
    size_t len = bytes.len > TEXT_MAX / 2 ? TEXT_MAX / 2 : bytes.len;

    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)bytes.data[i];
        buf[2 * i] = digits[byte >> 4];
        buf[2 * i + 1] = digits[byte & 15];
    }
    return otp_text_make(buf, 2 * len);
}

static struct otp_text value_text(const struct otp_profiles *m, const struct otp_value *v,
                                  char *buf)
{
    int len = 0;

    if (v == NULL) {
        return otp_text_make(NULL, 0);
    }
    if (v->kind == OTP_VALUE_INT) {
        len = snprintf(buf, TEXT_MAX, "%" PRId64, v->of.number);
    } else if (v->kind == OTP_VALUE_BOOL) {
        len = snprintf(buf, TEXT_MAX, "%s", v->of.number != 0 ? "true" : "false");
    } else if (v->kind == OTP_VALUE_DOUBLE) {
        len = snprintf(buf, TEXT_MAX, "%g", v->of.real);
    } else {
        return otp_profiles_value_text(m, v);
    }
    return otp_text_make(buf, (size_t)len);
}

/* What a sample says of that kind; data is NULL when it says nothing. buf: TEXT_MAX bytes. */
static struct otp_text text_of(enum otp_by_kind kind, const char *key, const struct otp_profiles *m,
                               const struct otp_sample *s, char *buf)
{
    const struct otp_value *v = NULL;

    switch (kind) {
    case OTP_BY_TRACE:
    case OTP_BY_SPAN:
        if (s->link != 0) {
            const struct otp_link *l = otp_profiles_link(m, s->link);
            return hex_text(m, kind == OTP_BY_TRACE ? l->trace_id : l->span_id, buf);
        }
        /* pprof has labels in the place of links. */
        v = otp_profiles_find_attr(m, s->attrs, kind == OTP_BY_TRACE ? "trace_id" : "span_id");
        break;
    case OTP_BY_THREAD:
        v = otp_profiles_find_attr(m, s->attrs, "thread.name");
        v = v != NULL ? v : otp_profiles_find_attr(m, s->attrs, "thread.id");
        break;
    case OTP_BY_LABEL:
    default:
        v = otp_profiles_find_attr(m, s->attrs, key);
        break;
    }
    return value_text(m, v, buf);
}

/* ---- groups ---- */

static bool same_name(const void *ctx, uint32_t id, const void *key)
{
    const struct otp_by *by = ctx;
    const struct otp_text *name = key;
    return by->names[id].len == name->len && memcmp(by->names[id].data, name->data, name->len) == 0;
}

/* The number of a group of that name, UINT32_MAX: no memory. */
static uint32_t group_of(struct otp_by *by, struct otp_text name)
{
    uint64_t hash = otp_hash_bytes(name.data, name.len, 0);
    uint32_t id = otp_map_find(&by->map, hash, &name, same_name, by);

    if (id != OTP_MAP_NONE) {
        return id;
    }
    if (by->count == by->capacity) {
        uint32_t capacity = by->capacity * 2 + 64;
        struct otp_text *names = realloc(by->names, capacity * sizeof(names[0]));
        if (names == NULL) {
            return UINT32_MAX;
        }
        by->names = names;
        by->capacity = capacity;
    }
    const char *copy = otp_heap_copy_string(&by->heap, name.data, name.len);
    if (copy == NULL || !otp_map_add(&by->map, hash, by->count)) {
        return UINT32_MAX;
    }
    by->names[by->count] = otp_text_make(copy, name.len);
    return by->count++;
}

/* Values that could be taken for something else as they are: nothing, "[no label]", and what looks
 * like one of these in quotes. */
static bool needs_quotes(struct otp_text text)
{
    return text.len == 0 || text.data[0] == '"' ||
           (text.len > 4 && memcmp(text.data, "[no ", 4) == 0);
}

/* The group of a value, which is its name, in quotes if it needs them. */
static uint32_t group_of_value(struct otp_by *by, struct otp_text text)
{
    if (!needs_quotes(text)) {
        return group_of(by, text);
    }
    char *quoted = malloc(text.len + 2);
    if (quoted == NULL) {
        return UINT32_MAX;
    }
    quoted[0] = '"';
    if (text.len > 0) {
        memcpy(quoted + 1, text.data, text.len);
    }
    quoted[text.len + 1] = '"';
    uint32_t group = group_of(by, otp_text_make(quoted, text.len + 2));
    free(quoted);
    return group;
}

static uint32_t group_of_sample(struct otp_by *by, const struct otp_profiles *m,
                                const struct otp_sample *s)
{
    char buf[TEXT_MAX];
    struct otp_text text = text_of(by->kind, by->key, m, s, buf);
    return text.data == NULL ? 0 : group_of_value(by, text);
}

/* A stack in a group, and the number that it has now. */
struct split {
    int32_t stack;
    uint32_t group;
    int32_t number;
};

struct splits {
    struct otp_heap heap;
    struct otp_map map;
    struct split *items;
    uint32_t count;
    uint32_t capacity;
};

static bool is_split(const void *ctx, uint32_t id, const void *key)
{
    const struct splits *p = ctx;
    const struct split *s = key;
    return p->items[id].stack == s->stack && p->items[id].group == s->group;
}

/* The stack's number in that group; the first group that has the stack keeps it. -1: no memory. */
static int32_t split_of(struct splits *p, struct otp_profiles *m, uint32_t *groups, int32_t stack,
                        uint32_t group)
{
    struct split s = {.stack = stack, .group = group, .number = stack};
    uint64_t hash = otp_hash_mix(otp_hash_mix(0, (uint64_t)stack), group);
    uint32_t id = otp_map_find(&p->map, hash, &s, is_split, p);

    if (id != OTP_MAP_NONE) {
        return p->items[id].number;
    }
    if (p->count == p->capacity) {
        uint32_t capacity = p->capacity * 2 + 256;
        struct split *items = realloc(p->items, capacity * sizeof(items[0]));
        if (items == NULL) {
            return -1;
        }
        p->items = items;
        p->capacity = capacity;
    }
    if (groups[stack] == UINT32_MAX) {
        groups[stack] = group;
    } else if (groups[stack] != group) {
        struct otp_slice slice = *otp_profiles_stack(m, stack);
        s.number = (int32_t)m->table[OTP_TABLE_STACK].count;
        if (!otp_vec_append(&m->table[OTP_TABLE_STACK], &slice, 1)) {
            return -1;
        }
    }
    p->items[p->count] = s;
    return otp_map_add(&p->map, hash, p->count++) ? s.number : -1;
}

/* The groups of all stacks there are now, as far as samples have them. */
static uint32_t *groups_after(const struct otp_profiles *m, const struct splits *p)
{
    uint32_t count = m->table[OTP_TABLE_STACK].count;
    uint32_t *groups = calloc((size_t)count + 1, sizeof(groups[0]));

    for (uint32_t i = 0; groups != NULL && i < p->count; i++) {
        groups[p->items[i].number] = p->items[i].group;
    }
    return groups;
}

static uint32_t *split_message(struct otp_by *by, struct otp_profiles *m)
{
    struct splits p = {.count = 0};
    uint32_t stacks = m->table[OTP_TABLE_STACK].count;
    uint32_t *first = malloc(((size_t)stacks + 1) * sizeof(first[0]));
    uint32_t *groups = NULL;
    bool ok = first != NULL;

    otp_heap_init(&p.heap, SIZE_MAX);
    otp_map_init(&p.map, &p.heap);
    if (ok) {
        memset(first, 0xff, ((size_t)stacks + 1) * sizeof(first[0]));
    }
    for (uint32_t i = 0; i < m->samples.count && ok; i++) {
        struct otp_sample *s = &((struct otp_sample *)m->samples.items)[i];
        uint32_t group = group_of_sample(by, m, s);
        s->stack = group == UINT32_MAX ? -1 : split_of(&p, m, first, s->stack, group);
        ok = s->stack >= 0;
    }
    groups = ok ? groups_after(m, &p) : NULL;
    free(first);
    free(p.items);
    otp_heap_reset(&p.heap);
    return groups;
}

bool otp_by_split(struct otp_by *by, struct otp_profile_set *set, struct otp_by_set *out)
{
    static const char *const nothing[] = {[OTP_BY_TRACE] = "[no trace]",
                                          [OTP_BY_SPAN] = "[no span]",
                                          [OTP_BY_THREAD] = "[no thread]",
                                          [OTP_BY_LABEL] = "[no label]"};
    out->set = set;
    out->of_stack = calloc(set->message_count + 1, sizeof(out->of_stack[0]));
    if (out->of_stack == NULL || group_of(by, otp_text_of(nothing[by->kind])) == UINT32_MAX) {
        return false;
    }
    for (size_t i = 0; i < set->message_count; i++) {
        out->of_stack[i] = split_message(by, set->messages[i]);
        if (out->of_stack[i] == NULL) {
            return false;
        }
    }
    return true;
}

void otp_by_set_fini(struct otp_by_set *s)
{
    for (size_t i = 0; s->of_stack != NULL && i < s->set->message_count; i++) {
        free(s->of_stack[i]);
    }
    free(s->of_stack);
    memset(s, 0, sizeof(*s));
}

/* ---- choosing ---- */

/* Keeps the samples of a profile that say so; the rest of its place is empty. */
static void keep(struct otp_profiles *m, struct otp_profile *p, const struct otp_by *by,
                 struct otp_text wanted)
{
    struct otp_sample *samples = (struct otp_sample *)m->samples.items + p->samples.first;
    uint32_t kept = 0;
    char buf[TEXT_MAX];

    for (uint32_t i = 0; i < p->samples.count; i++) {
        struct otp_text text = text_of(by->kind, by->key, m, &samples[i], buf);
        if (text.data != NULL && text.len == wanted.len &&
            memcmp(text.data, wanted.data, text.len) == 0) {
            samples[kept++] = samples[i];
        }
    }
    for (uint32_t i = kept; i < p->samples.count; i++) {
        samples[i].stack = 0;
    }
    p->samples.count = kept;
}

int otp_where_apply(const struct otp_command *command, struct otp_profile_set *set,
                    const char *where)
{
    const char *sign = strchr(where, '=');
    struct otp_by by;

    if (sign == NULL || sign == where) {
        return otp_usage_error(command, "--where %s: KEY=VALUE is expected", where);
    }
    char *key = strndup(where, (size_t)(sign - where));
    if (key == NULL) {
        (void)fprintf(stderr, "otelprof: no memory\n");
        return OTP_EXIT_INPUT;
    }
    if (!otp_by_init(&by, key)) {
        by.kind = OTP_BY_LABEL;
        by.key = key;
    }
    for (size_t i = 0; i < set->message_count; i++) {
        struct otp_profiles *m = set->messages[i];
        for (uint32_t k = 0; k < m->profiles.count; k++) {
            struct otp_profile *p = &((struct otp_profile *)m->profiles.items)[k];
            keep(m, p, &by, otp_text_of(sign + 1));
        }
    }
    otp_by_fini(&by);
    free(key);
    return OTP_EXIT_OK;
}
