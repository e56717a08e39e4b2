/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/value.h"

#include <string.h>

#include "core/base/sort.h"
#include "core/encode/clean.h"
#include "core/encode/pack.h"

/* Fields of AnyValue, of ArrayValue and KeyValueList (both alike), and of KeyValue. */
enum {
    ANY_STRING = 1,
    ANY_BOOL = 2,
    ANY_INT = 3,
    ANY_DOUBLE = 4,
    ANY_LIST = 5,
    ANY_MAP = 6,
    ANY_BYTES = 7,
    LIST_VALUES = 1,
    KEY_VALUE_KEY = 1,
    KEY_VALUE_VALUE = 2
};

struct map_item {
    struct otp_text key;
    size_t place;
};

static enum otp_status encode(const struct otp_value_limits *limits, const struct otp_attr *a,
                              unsigned depth, struct otp_buf *out);

static void put_text(const struct otp_value_limits *limits, uint32_t field, struct otp_text s,
                     struct otp_buf *out)
{
    size_t mark = otp_pack_open(out, field);
    (void)otp_clean_text(out, s, limits->max_string); /* the buffer remembers a failure */
    otp_pack_close(out, mark);
}

/* The depth is bounded by OTP_ATTR_MAX_DEPTH, so is this recursion. */
static enum otp_status put_list(const struct otp_value_limits *limits, const struct otp_attr *a,
                                unsigned depth, struct otp_buf *out)
{
    size_t mark = otp_pack_open(out, ANY_LIST);
    for (size_t i = 0; i < a->item_count; i++) {
        size_t value = otp_pack_open(out, LIST_VALUES);
        OTP_TRY(encode(limits, &a->items[i], depth + 1, out));
        otp_pack_close(out, value);
    }
    otp_pack_close(out, mark);
    return OTP_OK;
}

static int compare_items(const void *a, const void *b, void *arg)
{
    const struct map_item *x = a;
    const struct map_item *y = b;
    int c = otp_text_compare(x->key, y->key);
    (void)arg;
    return c != 0 ? c : x->place < y->place ? -1 : 1;
}

/* Clean keys one behind the other in keys; the views in items are set when keys moves no more. */
static enum otp_status clean_keys(const struct otp_value_limits *limits, const struct otp_attr *a,
                                  struct otp_buf *keys, struct map_item *items)
{
    for (size_t i = 0; i < a->item_count; i++) {
        size_t from = keys->len;
        if (!otp_clean_text(keys, a->items[i].key, limits->max_string)) {
            return OTP_NO_MEMORY;
        }
        items[i].key.len = keys->len - from;
        items[i].place = i;
    }
    const char *at = otp_buf_str(keys);
    for (size_t i = 0; i < a->item_count; i++) {
        items[i].key.data = at;
        at += items[i].key.len;
    }
    return otp_buf_ok(keys) ? OTP_OK : OTP_NO_MEMORY;
}

static enum otp_status put_items(const struct otp_value_limits *limits, const struct otp_attr *a,
                                 unsigned depth, const struct map_item *items, struct otp_buf *out)
{
    for (size_t i = 0; i < a->item_count; i++) {
        if (i + 1 < a->item_count && otp_text_compare(items[i].key, items[i + 1].key) == 0) {
            continue; /* a later one of this key follows */
        }
        size_t pair = otp_pack_open(out, LIST_VALUES);
        if (items[i].key.len > 0) {
            otp_pack_bytes(out, KEY_VALUE_KEY, items[i].key.data, items[i].key.len);
        }
        size_t value = otp_pack_open(out, KEY_VALUE_VALUE);
        OTP_TRY(encode(limits, &a->items[items[i].place], depth + 1, out));
        otp_pack_close(out, value);
        otp_pack_close(out, pair);
    }
    return OTP_OK;
}

static enum otp_status put_map(const struct otp_value_limits *limits, const struct otp_attr *a,
                               unsigned depth, struct otp_buf *out)
{
    struct otp_buf keys;
    otp_buf_init(&keys, limits->heap, SIZE_MAX / 2);
    struct map_item *items = otp_heap_calloc(limits->heap, a->item_count, sizeof(items[0]));
    enum otp_status status = OTP_NO_MEMORY;
    if (items != NULL) {
        status = clean_keys(limits, a, &keys, items);
    }
    if (status == OTP_OK) {
        otp_sort(items, a->item_count, sizeof(items[0]), compare_items, NULL);
        size_t mark = otp_pack_open(out, ANY_MAP);
        status = put_items(limits, a, depth, items, out);
        otp_pack_close(out, mark);
    }
    otp_heap_free(limits->heap, items);
    otp_buf_fini(&keys);
    return status;
}

static enum otp_status encode(const struct otp_value_limits *limits, const struct otp_attr *a,
                              unsigned depth, struct otp_buf *out)
{
    enum otp_status status = OTP_OK;
    uint64_t bits;
    if (depth > OTP_ATTR_MAX_DEPTH) {
        return OTP_TOO_LARGE;
    }
    switch (a->kind) {
    case OTP_ATTR_STRING:
        put_text(limits, ANY_STRING, a->string, out);
        break;
    case OTP_ATTR_INT:
        otp_pack_uint(out, ANY_INT, (uint64_t)a->number);
        break;
    case OTP_ATTR_BOOL:
        otp_pack_uint(out, ANY_BOOL, a->number != 0);
        break;
    case OTP_ATTR_DOUBLE:
        memcpy(&bits, &a->real, sizeof(bits));
        otp_pack_fixed64(out, ANY_DOUBLE, bits);
        break;
    case OTP_ATTR_BYTES:
        otp_pack_bytes(out, ANY_BYTES, a->string.data, a->string.len);
        break;
    case OTP_ATTR_LIST:
        status = put_list(limits, a, depth, out);
        break;
    case OTP_ATTR_MAP:
        status = put_map(limits, a, depth, out);
        break;
    case OTP_ATTR_EMPTY:
        break;
    default:
        status = OTP_INVALID;
        break;
    }
    return status != OTP_OK ? status : otp_buf_ok(out) ? OTP_OK : OTP_NO_MEMORY;
}

enum otp_status otp_value_encode(const struct otp_value_limits *limits, const struct otp_attr *a,
                                 struct otp_buf *out)
{
    return encode(limits, a, 0, out);
}

/* Reads a varint of our own bytes; false at their end. */
static bool read_varint(const unsigned char *p, size_t len, size_t *pos, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; *pos < len && shift < 64; shift += 7) {
        unsigned char c = p[(*pos)++];
        *out |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            return true;
        }
    }
    return false;
}

/* Reads one length-delimited field, whose tag is one byte. */
static bool read_field(const unsigned char *p, size_t len, size_t *pos, struct otp_text *out)
{
    uint64_t size;
    size_t at = *pos + 1;
    if (!read_varint(p, len, &at, &size) || size > len - at) {
        return false;
    }
    *out = otp_text_make((const char *)p + at, size);
    *pos = at + size;
    return true;
}

bool otp_value_next_item(const void *value, size_t len, size_t *pos, struct otp_attr *out)
{
    enum { TAG_STRING = ANY_STRING << 3 | 2, TAG_INT = ANY_INT << 3, TAG_LIST = ANY_LIST << 3 | 2 };
    struct otp_text list;
    struct otp_text item;
    size_t at = 0;
    const unsigned char *p = value;
    memset(out, 0, sizeof(*out));
    out->kind = OTP_ATTR_EMPTY;
    if (len == 0 || p[0] != TAG_LIST || !read_field(p, len, &at, &list) || *pos >= list.len ||
        !read_field((const unsigned char *)list.data, list.len, pos, &item)) {
        return false;
    }
    const unsigned char *any = (const unsigned char *)item.data;
    uint64_t number;
    at = 0;
    if (item.len > 0 && any[0] == TAG_STRING && read_field(any, item.len, &at, &out->string)) {
        out->kind = OTP_ATTR_STRING;
    } else if (item.len > 0 && any[0] == TAG_INT) {
        at = 1;
        if (read_varint(any, item.len, &at, &number)) {
            out->kind = OTP_ATTR_INT;
            out->number = (int64_t)number;
        }
    }
    return true;
}
