/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/labels.h"

#include <stddef.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/hotmem.h"
#include "core/base/map.h"
#include "core/capture/capture.h"

#define AREAS_PER_CHUNK 64U
#define MAX_CHUNKS 1024U

_Static_assert(OTP_TAG_LABELS_MAX < OTP_TAG_NO_LABEL, "places of labels");
_Static_assert(sizeof(struct otp_tag_label) % 2 == 0, "labels");

/* One area for each thread record, mapped when a thread of the chunk pushes its first label. */
static struct otp_labels *chunks[MAX_CHUNKS];

bool otp_span_get(void *trace_id, void *span_id)
{
    static const uint64_t none[3];
    bool has_span = otp_tls.has_span != 0;
    const uint64_t *ids = has_span ? otp_tls.span : none;
    if (trace_id != NULL) {
        memcpy(trace_id, ids, 16);
    }
    if (span_id != NULL) {
        memcpy(span_id, ids + 2, 8);
    }
    return has_span;
}

static struct otp_labels *area_of(uint32_t number)
{
    struct otp_labels *c = otp_hotmem_share((otp_hotmem_slot *)&chunks[number / AREAS_PER_CHUNK],
                                            AREAS_PER_CHUNK * sizeof(*c));
    return c == NULL ? NULL : &c[number % AREAS_PER_CHUNK];
}

/* The calling thread's labels, empty when they are new; NULL: it can have none. */
static struct otp_labels *labels_of_thread(void)
{
    struct otp_labels *l = otp_tls.labels;
    if (OTP_LIKELY(l != NULL)) {
        return l;
    }
    struct otp_thread *t = otp_settings.need_worker != NULL ? otp_thread_current() : NULL;
    if (t == NULL || t->number / AREAS_PER_CHUNK >= MAX_CHUNKS) {
        return NULL;
    }
    l = area_of(t->number);
    if (l != NULL) {
        l->used = 0;
        l->last = OTP_TAG_NO_LABEL;
        l->lost = 0;
        l->refused_count = 0;
        l->unknown_from = 0;
        otp_signal_fence();
        otp_tls.labels = l;
    }
    return l;
}

static uint32_t hash_of(const void *key, size_t len)
{
    return (uint32_t)otp_hash_bytes(key, len, 0);
}

static bool is_refused(const struct otp_labels *l, uint32_t key)
{
    uint32_t n = 0;
    while (n < l->refused_count && l->refused[n].key != key) {
        n++;
    }
    return n < l->refused_count;
}

/* Whether the value that is kept of a key is this one; head, key, value: of a label. */
static bool is_kept(const struct otp_labels *l, const struct otp_tag_label *head, const char *key,
                    const void *value)
{
    struct otp_tag_label kept;
    for (uint16_t at = l->last; at != OTP_TAG_NO_LABEL; at = kept.before) {
        memcpy(&kept, l->data + at, sizeof(kept));
        const uint8_t *text = l->data + at + sizeof(kept);
        if (kept.key_len == head->key_len && memcmp(text, key, kept.key_len) == 0) {
            return kept.is_int == head->is_int && kept.value_len == head->value_len &&
                   memcmp(text + kept.key_len, value, kept.value_len) == 0;
        }
    }
    return false;
}

/* A label has no room: its key has no value until it is popped, unless it has that one anyway. */
static void refuse(struct otp_labels *l, const struct otp_tag_label *head, const char *key,
                   const void *value)
{
    size_t key_len = head->key_len;
    l->lost++;
    if (key_len == 0 || is_refused(l, hash_of(key, key_len)) || is_kept(l, head, key, value)) {
        return;
    }
    if (l->refused_count == OTP_TAG_REFUSED_MAX) {
        l->unknown_from = l->unknown_from != 0 ? l->unknown_from : l->lost;
        return;
    }
    l->refused[l->refused_count] =
        (struct otp_refused){.key = hash_of(key, key_len), .from = l->lost};
    otp_signal_fence();
    l->refused_count++;
}

/* The last label without room is popped: what its key was before, it is again. */
static void unrefuse(struct otp_labels *l)
{
    if (l->unknown_from == l->lost) {
        l->unknown_from = 0;
    } else if (l->refused_count > 0 && l->refused[l->refused_count - 1].from == l->lost) {
        l->refused_count--;
    }
    l->lost--;
}

/* The bytes of text that are kept: at most max, and no part of a character. */
static size_t kept_bytes(const char *text, size_t max)
{
    size_t len = strnlen(text, max + 1);
    if (len <= max) {
        return len;
    }
    size_t cut = max;
    while (cut > 0 && max - cut < 3 && ((uint8_t)text[cut] & 0xc0) == 0x80) {
        cut--;
    }
    return ((uint8_t)text[cut] & 0xc0) == 0x80 ? max : cut; /* no UTF-8: anywhere */
}

static void push(const char *key, const void *value, size_t value_len, bool is_int)
{
    struct otp_labels *l = labels_of_thread();
    if (l == NULL) {
        return;
    }
    struct otp_tag_label head = {
        .before = l->last,
        .is_int = is_int,
        .key_len = (uint8_t)(key == NULL ? 0 : kept_bytes(key, OTP_TAG_KEY_MAX)),
        .value_len = (uint8_t)value_len,
    };
    size_t len = (sizeof(head) + head.key_len + value_len + 1) & ~(size_t)1;
    otp_tls.has_labels = OTP_HAS_NEW;
    otp_signal_fence();
    if (l->lost > 0 || len > sizeof(l->data) - l->used) {
        refuse(l, &head, key, value);
    } else {
        uint8_t *to = l->data + l->used;
        to[len - 1] = 0;
        memcpy(to, &head, sizeof(head));
        memcpy(to + sizeof(head), key, head.key_len);
        memcpy(to + sizeof(head) + head.key_len, value, value_len);
        otp_signal_fence();
        l->last = l->used;
        l->used = (uint16_t)(l->used + len);
    }
    otp_signal_fence();
    otp_tls.has_labels = OTP_HAS_NEW;
}

void otp_labels_push(const char *key, const char *value)
{
    push(key, value == NULL ? "" : value, value == NULL ? 0 : kept_bytes(value, OTP_TAG_VALUE_MAX),
         false);
}

void otp_labels_push_int(const char *key, int64_t value)
{
    push(key, &value, sizeof(value), true);
}

void otp_labels_pop(void)
{
    struct otp_labels *l = otp_tls.labels;
    if (l == NULL) {
        return;
    }
    otp_tls.has_labels = OTP_HAS_NEW;
    otp_signal_fence();
    if (l->lost > 0) {
        unrefuse(l);
    } else if (l->last != OTP_TAG_NO_LABEL) {
        struct otp_tag_label head;
        memcpy(&head, l->data + l->last, sizeof(head));
        l->used = l->last;
        l->last = head.before;
    }
    otp_signal_fence();
    otp_tls.has_labels = l->used > 0 || l->lost > 0 ? OTP_HAS_NEW : OTP_HAS_NONE;
}

static void count_lost(struct otp_tag *t, uint32_t n)
{
    t->lost = (uint16_t)(t->lost + (n > UINT8_MAX ? UINT8_MAX : n));
}

/* Adds the labels that still hold; so many others are returned. */
static uint32_t add_what_holds(struct otp_tag *t, const struct otp_labels *l)
{
    struct otp_tag_label head;
    uint32_t left_out = 0;
    for (uint32_t at = 0, len; at < l->used; at += len) {
        memcpy(&head, l->data + at, sizeof(head));
        len = ((uint32_t)sizeof(head) + head.key_len + head.value_len + 1) & ~1U;
        if (l->unknown_from != 0 ||
            is_refused(l, hash_of(l->data + at + sizeof(head), head.key_len))) {
            left_out++;
        } else {
            memcpy(t->data + t->attr_bytes + t->label_bytes, l->data + at, len);
            t->label_bytes = (uint16_t)(t->label_bytes + len);
        }
    }
    return left_out;
}

static uint32_t count_attrs(const struct otp_tag *t)
{
    uint32_t count = 0;
    for (uint32_t at = 0; at + 2U <= t->attr_bytes; at += 2U + t->data[at + 1]) {
        count++;
    }
    return count;
}

/*
 * Some labels had no room. Those below them with the same key are left out, and counted by those
 * above them; which attributes of the thread context have such a key the worker will know. When too
 * many keys are concerned, nothing is known of any.
 */
static void add_some(struct otp_tag *t, const struct otp_labels *l)
{
    if (l->unknown_from != 0) {
        count_lost(t, count_attrs(t));
        t->attr_bytes = 0;
    }
    uint32_t left_out = add_what_holds(t, l);
    count_lost(t, l->unknown_from != 0 ? left_out : 0);
    count_lost(t, l->lost);
    if (t->attr_bytes == 0) {
        return;
    }
    for (uint32_t n = 0; n < l->refused_count; n++) {
        memcpy(t->data + otp_tag_used(t), &l->refused[n].key, sizeof(l->refused[n].key));
        t->refused++;
    }
}

static void add_labels(struct otp_tag *t)
{
    const struct otp_labels *l = otp_tls.labels;
    if (otp_tls.has_labels == 0 || l == NULL) {
        return;
    }
    if (OTP_UNLIKELY(l->lost > 0)) {
        add_some(t, l);
        return;
    }
    memcpy(t->data + t->attr_bytes, l->data, l->used);
    t->label_bytes = l->used;
}

bool otp_tag_fill(struct otp_tag *t)
{
    memset(t, 0, OTP_TAG_HEAD);
    if (otp_tls.has_span != 0) {
        memcpy(t->trace_id, otp_tls.span, sizeof(t->trace_id));
        memcpy(t->span_id, otp_tls.span + 2, sizeof(t->span_id));
    }
    if (otp_load_relaxed(&otp_slot_kind) != OTP_SLOT_NONE) {
        otp_slot_read(t);
    }
    add_labels(t);
    size_t used = otp_tag_used(t);
    size_t padding = otp_tag_bytes(t) - OTP_TAG_HEAD - used;
    memset(t->data + used, 0, padding);
    uint64_t ids[3];
    memcpy(ids, t, sizeof(ids));
    return (ids[0] | ids[1] | ids[2] | used | t->lost) != 0;
}
