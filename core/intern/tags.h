/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tags of samples (core/base/tag.h) since the last flush, understood and numbered: equal spans
 * with equal attributes have one number. This is where attributes are named, where the last of
 * equal keys wins, and where a key with too many values loses the further ones.
 */
#ifndef OTP_INTERN_TAGS_H
#define OTP_INTERN_TAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/counters.h"
#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/base/tag.h"
#include "core/base/text.h"

#define OTP_TAGS_NONE 0U /* the number of what has neither span nor attributes */
#define OTP_TAGS_KEYS_MAX 512U
#define OTP_TAGS_ATTRS_MAX 96U /* of one tag, after equal keys were taken together */

/* One attribute: a key with one of its values. */
struct otp_tags_attr {
    uint32_t key; /* number */
    bool is_int;
    uint32_t text_at; /* of the value, in texts */
    uint32_t text_len;
    int64_t number;
};

struct otp_tags_entry {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint32_t attrs_at; /* in lists */
    uint32_t attr_count;
};

struct otp_tags_key {
    uint32_t text_at;
    uint32_t text_len;
    uint32_t values; /* different ones so far */
};

/* Names of the attributes of thread contexts; false: there is none of that index. */
typedef bool (*otp_tags_name)(void *arg, uint8_t idx, struct otp_text *out);

struct otp_tags {
    struct otp_heap *heap;
    uint32_t max_values; /* of a key */
    uint32_t max_entries;
    uint32_t max_uses;  /* samples that may have a tag */
    uint32_t uses;      /* by what is not live */
    uint32_t live_uses; /* by what is */
    otp_tags_name name;
    void *name_arg;
    struct otp_tags_key keys[OTP_TAGS_KEYS_MAX];
    uint32_t key_count;
    struct otp_map attr_map;
    struct otp_map entry_map;
    struct otp_buf attrs;   /* struct otp_tags_attr */
    struct otp_buf entries; /* struct otp_tags_entry; number n is at n - 1 */
    struct otp_buf lists;   /* uint32_t: attributes of the entries */
    struct otp_buf texts;
};

/* What became of one tag. */
struct otp_tags_result {
    uint32_t number;
    uint32_t dropped_attrs; /* not kept, for whatever reason */
    bool is_dropped;        /* no room for the tag itself: neither span nor attributes are kept */
};

/* No tags. name may be NULL: attributes of thread contexts are left out then. Context: worker, as
 * all of these. */
void otp_tags_init(struct otp_tags *t, struct otp_heap *heap, otp_tags_name name, void *name_arg);
/*
 * The number of a tag of len bytes, which nobody need have checked. is_live: of memory that is
 * live. For that half of all entries, and of all uses, are kept: it is told as one at the end of
 * the flush, when what has passed may have used up any number.
 */
struct otp_tags_result otp_tags_add(struct otp_tags *t, const void *tag, size_t len, bool is_live);
/* One more sample is to have a tag: false when there are too many, which is the caller's to count.
 * t may be NULL. */
bool otp_tags_use(struct otp_tags *t, bool is_live);
/* Forgets all tags. */
void otp_tags_clear(struct otp_tags *t);
/* Entry number, which is not OTP_TAGS_NONE; valid until the next otp_tags_add. */
const struct otp_tags_entry *otp_tags_get(const struct otp_tags *t, uint32_t number);
/* Its attribute i: key and, if it is not a number, text. Texts are valid as long. */
const struct otp_tags_attr *otp_tags_attr(const struct otp_tags *t, const struct otp_tags_entry *e,
                                          uint32_t i, struct otp_text *out_key,
                                          struct otp_text *out_text);

#endif
