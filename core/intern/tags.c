/* SPDX-License-Identifier: Apache-2.0 */
#include "core/intern/tags.h"

#include <string.h>

#include "core/base/counters.h"

#define TEXTS_MAX ((size_t)64 << 20) /* the heap's limit is the one that counts */
#define KEEP_BYTES ((size_t)256 << 10)
#define NO_ATTR UINT32_MAX

/* A key and a value as they stand in a tag. */
struct pair {
    struct otp_text key;
    struct otp_text text;
    int64_t number;
    bool is_int;
};

/* The attributes of one tag, one for each key. */
struct pairs {
    struct pair of[OTP_TAGS_ATTRS_MAX];
    uint32_t count;
    uint32_t lost;
};

void otp_tags_init(struct otp_tags *t, struct otp_heap *heap, otp_tags_name name, void *name_arg)
{
    memset(t, 0, sizeof(*t));
    t->heap = heap;
    t->name = name;
    t->name_arg = name_arg;
    otp_map_init(&t->attr_map, heap);
    otp_map_init(&t->entry_map, heap);
    otp_buf_init(&t->attrs, heap, TEXTS_MAX);
    otp_buf_init(&t->entries, heap, TEXTS_MAX);
    otp_buf_init(&t->lists, heap, TEXTS_MAX);
    otp_buf_init(&t->texts, heap, TEXTS_MAX);
}

static void empty(struct otp_buf *b)
{
    if (b->capacity > KEEP_BYTES) {
        otp_buf_fini(b);
    } else {
        otp_buf_clear(b);
    }
}

void otp_tags_clear(struct otp_tags *t)
{
    t->key_count = 0;
    t->uses = 0;
    t->live_uses = 0;
    if (t->entries.capacity > KEEP_BYTES) {
        otp_map_fini(&t->attr_map);
        otp_map_fini(&t->entry_map);
    }
    otp_map_clear(&t->attr_map);
    otp_map_clear(&t->entry_map);
    empty(&t->attrs);
    empty(&t->entries);
    empty(&t->lists);
    empty(&t->texts);
}

/* ---- reading a tag ---- */

static bool is_equal_text(struct otp_text a, struct otp_text b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

static void add_pair(struct pairs *p, const struct pair *fresh)
{
    for (uint32_t i = 0; i < p->count; i++) {
        if (is_equal_text(p->of[i].key, fresh->key)) {
            p->of[i] = *fresh;
            return;
        }
    }
    if (p->count == OTP_TAGS_ATTRS_MAX) {
        p->lost++;
    } else {
        p->of[p->count++] = *fresh;
    }
}

/* Entries of a thread context: index of the key, length, value. Source: OTEP 4947. */
static void read_attrs(struct otp_tags *t, const uint8_t *data, size_t len, struct pairs *out)
{
    size_t at = 0;
    while (len - at >= 2 && data[at + 1] <= len - at - 2) {
        struct pair p = {.text = otp_text_make((const char *)data + at + 2, data[at + 1])};
        if (t->name != NULL && t->name(t->name_arg, data[at], &p.key) && p.key.len > 0) {
            add_pair(out, &p);
        }
        at += 2 + (size_t)data[at + 1];
    }
}

static void read_labels(const uint8_t *data, size_t len, struct pairs *out)
{
    struct otp_tag_label head;
    size_t at = 0;
    while (len - at >= sizeof(head)) {
        memcpy(&head, data + at, sizeof(head));
        at += sizeof(head);
        size_t body = (size_t)head.key_len + head.value_len;
        if (body > len - at) {
            return;
        }
        const char *text = (const char *)data + at;
        struct pair p = {.key = otp_text_make(text, head.key_len),
                         .text = otp_text_make(text + head.key_len, head.value_len),
                         .is_int = head.is_int != 0 && head.value_len == sizeof(p.number)};
        if (p.is_int) {
            memcpy(&p.number, p.text.data, sizeof(p.number));
            p.text.len = 0;
        }
        if (p.key.len > 0) {
            add_pair(out, &p);
        }
        at += body + (body & 1);
        at = at > len ? len : at;
    }
}

static bool has_hash(const uint8_t *hashes, uint32_t count, uint32_t hash)
{
    uint32_t n = 0;
    for (uint32_t one = 0; n < count; n++) {
        memcpy(&one, hashes + n * sizeof(one), sizeof(one));
        if (one == hash) {
            break;
        }
    }
    return n < count;
}

/* Of keys whose last label found no room nothing is known; what the thread context says of them was
 * overruled by that label. */
static void leave_out(struct pairs *p, const uint8_t *hashes, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t hash = (uint32_t)otp_hash_bytes(p->of[i].key.data, p->of[i].key.len, 0);
        if (!has_hash(hashes, count, hash)) {
            p->of[kept++] = p->of[i];
        }
    }
    p->count = kept;
}

/* ---- numbering ---- */

static bool add_text(struct otp_tags *t, struct otp_text text, uint32_t *out_at)
{
    *out_at = (uint32_t)t->texts.len;
    if (text.len > 0 && !otp_buf_add(&t->texts, text.data, text.len)) {
        t->texts.failed = false;
        return false;
    }
    return true;
}

static struct otp_text text_at(const struct otp_tags *t, uint32_t at, uint32_t len)
{
    return otp_text_make(t->texts.data == NULL ? "" : (const char *)t->texts.data + at, len);
}

static uint32_t key_number(struct otp_tags *t, struct otp_text key)
{
    uint32_t n = 0;
    for (; n < t->key_count; n++) {
        if (is_equal_text(text_at(t, t->keys[n].text_at, t->keys[n].text_len), key)) {
            return n;
        }
    }
    struct otp_tags_key fresh = {.text_len = (uint32_t)key.len};
    if (n == OTP_TAGS_KEYS_MAX || !add_text(t, key, &fresh.text_at)) {
        return NO_ATTR;
    }
    t->keys[t->key_count++] = fresh;
    return n;
}

static const struct otp_tags_attr *attr_at(const struct otp_tags *t, uint32_t n)
{
    return (const struct otp_tags_attr *)(const void *)t->attrs.data + n;
}

/* A pair whose key is known by number. */
struct wanted {
    const struct pair *pair;
    uint32_t key;
};

static bool is_attr(const void *ctx, uint32_t id, const void *key)
{
    const struct otp_tags *t = ctx;
    const struct wanted *w = key;
    const struct otp_tags_attr *a = attr_at(t, id);
    return a->key == w->key && a->is_int == w->pair->is_int && a->number == w->pair->number &&
           is_equal_text(text_at(t, a->text_at, a->text_len), w->pair->text);
}

/* The number of an attribute, NO_ATTR when its key has too many values or there is no memory. */
static uint32_t attr_number(struct otp_tags *t, const struct pair *p)
{
    struct wanted w = {.pair = p, .key = key_number(t, p->key)};
    if (w.key == NO_ATTR) {
        return NO_ATTR;
    }
    uint64_t hash =
        otp_hash_bytes(p->text.data, p->text.len, otp_hash_mix(w.key, (uint64_t)p->number));
    uint32_t n = otp_map_find(&t->attr_map, hash, &w, is_attr, t);
    if (n != OTP_MAP_NONE) {
        return n;
    }
    struct otp_tags_key *key = &t->keys[w.key];
    struct otp_tags_attr fresh = {
        .key = w.key, .is_int = p->is_int, .text_len = (uint32_t)p->text.len, .number = p->number};
    n = (uint32_t)(t->attrs.len / sizeof(fresh));
    if (key->values >= t->max_values || !add_text(t, p->text, &fresh.text_at)) {
        return NO_ATTR;
    }
    if (!otp_buf_add(&t->attrs, &fresh, sizeof(fresh))) {
        t->attrs.failed = false;
        return NO_ATTR;
    }
    if (!otp_map_add(&t->attr_map, hash, n)) {
        t->attrs.len -= sizeof(fresh);
        return NO_ATTR;
    }
    key->values++;
    return n;
}

/* An entry that may be there already. */
struct candidate {
    struct otp_tags_entry entry;
    uint32_t attrs[OTP_TAGS_ATTRS_MAX];
    bool is_live;
};

static const struct otp_tags_entry *entry_at(const struct otp_tags *t, uint32_t idx)
{
    return (const struct otp_tags_entry *)(const void *)t->entries.data + idx;
}

static const uint32_t *list_of(const struct otp_tags *t, const struct otp_tags_entry *e)
{
    return (const uint32_t *)(const void *)t->lists.data + e->attrs_at;
}

static bool is_entry(const void *ctx, uint32_t id, const void *key)
{
    const struct otp_tags *t = ctx;
    const struct candidate *c = key;
    const struct otp_tags_entry *e = entry_at(t, id);
    return e->attr_count == c->entry.attr_count &&
           memcmp(e->trace_id, c->entry.trace_id, sizeof(e->trace_id)) == 0 &&
           memcmp(e->span_id, c->entry.span_id, sizeof(e->span_id)) == 0 &&
           (e->attr_count == 0 ||
            memcmp(list_of(t, e), c->attrs, e->attr_count * sizeof(c->attrs[0])) == 0);
}

/* The order in which attributes were set makes no difference. */
static void sort(uint32_t *numbers, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t n = numbers[i];
        uint32_t to = i;
        for (; to > 0 && numbers[to - 1] > n; to--) {
            numbers[to] = numbers[to - 1];
        }
        numbers[to] = n;
    }
}

static bool add_entry(struct otp_tags *t, struct candidate *c, uint64_t hash, uint32_t *out)
{
    uint32_t idx = (uint32_t)(t->entries.len / sizeof(c->entry));
    size_t list_bytes = c->entry.attr_count * sizeof(c->attrs[0]);
    c->entry.attrs_at = (uint32_t)(t->lists.len / sizeof(c->attrs[0]));
    bool ok = idx < t->max_entries - (c->is_live ? 0 : t->max_entries / 2);
    ok = ok && (list_bytes == 0 || otp_buf_add(&t->lists, c->attrs, list_bytes));
    ok = ok && otp_buf_add(&t->entries, &c->entry, sizeof(c->entry));
    if (ok && !otp_map_add(&t->entry_map, hash, idx)) {
        t->entries.len -= sizeof(c->entry);
        ok = false;
    }
    t->lists.failed = false;
    t->entries.failed = false;
    *out = ok ? idx + 1 : OTP_TAGS_NONE;
    return ok;
}

static uint32_t entry_number(struct otp_tags *t, struct candidate *c, bool *is_dropped)
{
    static const uint8_t no_span[sizeof(c->entry.span_id)];
    uint32_t number;
    bool has_span = memcmp(c->entry.span_id, no_span, sizeof(no_span)) != 0;
    if (!has_span && c->entry.attr_count == 0) {
        return OTP_TAGS_NONE;
    }
    uint64_t hash = otp_hash_bytes(c->entry.trace_id, sizeof(c->entry.trace_id), 0);
    hash = otp_hash_bytes(c->entry.span_id, sizeof(c->entry.span_id), hash);
    hash = otp_hash_bytes(c->attrs, c->entry.attr_count * sizeof(c->attrs[0]), hash);
    uint32_t idx = otp_map_find(&t->entry_map, hash, c, is_entry, t);
    if (idx != OTP_MAP_NONE) {
        return idx + 1;
    }
    *is_dropped = !add_entry(t, c, hash, &number);
    return number;
}

struct otp_tags_result otp_tags_add(struct otp_tags *t, const void *tag, size_t len, bool is_live)
{
    static struct pairs pairs; /* too large for the worker's stack; there is one worker */
    static struct otp_tag copy;
    struct candidate c;
    struct otp_tags_result r = {0};
    if (len < OTP_TAG_HEAD || len > sizeof(copy)) {
        return r;
    }
    memcpy(&copy, tag, len);
    if (otp_tag_used(&copy) > len - OTP_TAG_HEAD) {
        return r;
    }
    pairs.count = 0;
    pairs.lost = 0;
    read_attrs(t, copy.data, copy.attr_bytes, &pairs);
    leave_out(&pairs, copy.data + copy.attr_bytes + copy.label_bytes, copy.refused);
    read_labels(copy.data + copy.attr_bytes, copy.label_bytes, &pairs);
    memset(&c.entry, 0, sizeof(c.entry));
    c.is_live = is_live;
    memcpy(c.entry.trace_id, copy.trace_id, sizeof(c.entry.trace_id));
    memcpy(c.entry.span_id, copy.span_id, sizeof(c.entry.span_id));
    r.dropped_attrs = pairs.lost + copy.lost;
    for (uint32_t i = 0; i < pairs.count; i++) {
        uint32_t n = attr_number(t, &pairs.of[i]);
        if (n == NO_ATTR) {
            r.dropped_attrs++;
        } else {
            c.attrs[c.entry.attr_count++] = n;
        }
    }
    sort(c.attrs, c.entry.attr_count);
    r.number = entry_number(t, &c, &r.is_dropped);
    if (r.is_dropped) {
        r.dropped_attrs += c.entry.attr_count;
    }
    return r;
}

bool otp_tags_use(struct otp_tags *t, bool is_live)
{
    if (t != NULL && (is_live ? t->live_uses + t->uses < t->max_uses
                              : t->uses < t->max_uses - t->max_uses / 2)) {
        t->uses += is_live ? 0 : 1;
        t->live_uses += is_live ? 1 : 0;
        return true;
    }
    return false;
}

const struct otp_tags_entry *otp_tags_get(const struct otp_tags *t, uint32_t number)
{
    return entry_at(t, number - 1);
}

const struct otp_tags_attr *otp_tags_attr(const struct otp_tags *t, const struct otp_tags_entry *e,
                                          uint32_t i, struct otp_text *out_key,
                                          struct otp_text *out_text)
{
    const struct otp_tags_attr *a = attr_at(t, list_of(t, e)[i]);
    const struct otp_tags_key *k = &t->keys[a->key];
    *out_key = text_at(t, k->text_at, k->text_len);
    *out_text = text_at(t, a->text_at, a->text_len);
    return a;
}
