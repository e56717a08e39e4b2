/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links of samples, which pprof has as labels: the same two keys that the builder writes
 * (core/encode/pprof_write.c). Only what it would write is taken back, so that any other label
 * comes out as it went in.
 */
#include <string.h>

#include "core/decode/pprof_parts.h"

#define TRACE_BYTES 16U
#define SPAN_BYTES 8U

_Static_assert(sizeof(struct otp_pprof_link) == TRACE_BYTES + SPAN_BYTES, "no padding");

static bool string_is(const struct otp_pprof *p, uint32_t string, const char *text, size_t len)
{
    const struct otp_field *f = (const struct otp_field *)p->strings.items + string;
    return f->len == len && memcmp(f->data, text, len) == 0;
}

/* The only label of that key, or labels.count: there is none, or there are several. */
static uint32_t find_label(const struct otp_pprof *p, const char *key)
{
    const struct otp_pprof_value *labels = p->labels.items;
    size_t len = strlen(key);
    uint32_t found = p->labels.count;

    for (uint32_t i = 0; i < p->labels.count; i++) {
        if (!string_is(p, labels[i].key, key, len)) {
            continue;
        }
        if (found != p->labels.count) {
            return p->labels.count;
        }
        found = i;
    }
    return found;
}

/* The value of a digit as the builder writes it, -1: it is none. */
static int digit_of(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The id that a label's text is; false: it is none, or all zero. */
static bool read_id(const struct otp_pprof *p, const struct otp_pprof_value *v, uint8_t *out,
                    size_t len)
{
    const struct otp_field *f = (const struct otp_field *)p->strings.items + v->text;
    unsigned any = 0;

    if (v->kind != OTP_VALUE_STRING || f->len != 2 * len) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        int high = digit_of(f->data[2 * i]);
        int low = digit_of(f->data[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        out[i] = (uint8_t)(high << 4 | low);
        any |= out[i];
    }
    return any != 0;
}

static bool same_link(const void *ctx, uint32_t id, const void *key)
{
    const struct otp_pprof *p = ctx;
    return memcmp((const struct otp_pprof_link *)p->links.items + id, key,
                  sizeof(struct otp_pprof_link)) == 0;
}

static bool add_link(struct otp_pprof *p, const struct otp_pprof_link *link, uint32_t *out_link)
{
    uint64_t hash = otp_hash_bytes(link, sizeof(*link), 0);
    uint32_t found = otp_map_find(&p->link_map, hash, link, same_link, p);

    if (found == OTP_MAP_NONE) {
        found = p->links.count;
        if (!otp_vec_append(&p->links, link, 1) || !otp_map_add(&p->link_map, hash, found)) {
            return otp_pprof_no_room(p);
        }
    }
    *out_link = found + 1;
    return true;
}

static void remove_label(struct otp_pprof *p, uint32_t at)
{
    struct otp_pprof_value *labels = p->labels.items;
    p->labels.count--;
    memmove(&labels[at], &labels[at + 1], (p->labels.count - at) * sizeof(labels[0]));
}

bool otp_pprof_take_link(struct otp_pprof *p, uint32_t *out_link)
{
    const struct otp_pprof_value *labels = p->labels.items;
    struct otp_pprof_link link;

    *out_link = 0;
    if (p->labels.count < 2) {
        return true;
    }
    uint32_t trace = find_label(p, "trace_id");
    uint32_t span = find_label(p, "span_id");
    if (trace == p->labels.count || span == p->labels.count ||
        !read_id(p, &labels[trace], link.trace_id, TRACE_BYTES) ||
        !read_id(p, &labels[span], link.span_id, SPAN_BYTES)) {
        return true;
    }
    remove_label(p, trace > span ? trace : span);
    remove_label(p, trace > span ? span : trace);
    return add_link(p, &link, out_link);
}
