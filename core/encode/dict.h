/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a visit names, interned: the part that all builders share. Knows the visit's words
 * (docs/FORMATS.md), no format. All texts are clean UTF-8 when they are in; all attribute lists
 * have each key once.
 */
#ifndef OTP_ENCODE_DICT_H
#define OTP_ENCODE_DICT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/base/text.h"
#include "core/encode/pool.h"
#include "core/encode/visitor.h"

/* Heads of the pools. Numbers are entries of the pools; no padding anywhere. */
struct otp_dict_attr {
    uint32_t key;  /* strings */
    uint32_t unit; /* strings */
    uint32_t kind; /* enum otp_attr_kind */
    uint32_t text; /* strings; OTP_ATTR_STRING */
    uint64_t bits; /* OTP_ATTR_INT, OTP_ATTR_BOOL: the number; OTP_ATTR_DOUBLE: its bits */
};                 /* tail: canonical AnyValue of OTP_ATTR_BYTES, OTP_ATTR_LIST, OTP_ATTR_MAP */

struct otp_dict_function {
    uint32_t name;
    uint32_t system_name;
    uint32_t filename;
    uint32_t zero;
    int64_t start_line;
};

struct otp_dict_mapping {
    uint64_t start;
    uint64_t limit;
    uint64_t file_offset;
    uint32_t filename;
    uint32_t attrs; /* lists */
};

struct otp_dict_location {
    uint64_t address;
    uint32_t mapping;
    uint32_t attrs; /* lists */
};                  /* tail: struct otp_dict_line[] */

struct otp_dict_line {
    int64_t line;
    int64_t column;
    uint32_t function;
    uint32_t zero;
};

struct otp_dict_link {
    uint8_t trace_id[16];
    uint8_t span_id[8];
};

struct otp_dict {
    struct otp_heap *heap;
    size_t max_string;
    struct otp_arena arena;
    struct otp_pool strings; /* tail: the text */
    struct otp_pool attrs;
    struct otp_pool lists; /* tail: uint32_t[] of attrs, ascending by key */
    struct otp_pool functions;
    struct otp_pool mappings;
    struct otp_pool locations;
    struct otp_pool stacks; /* tail: uint32_t[] of locations */
    struct otp_pool links;
    struct otp_buf text;    /* working space */
    struct otp_buf numbers; /* working space */
    struct otp_buf keyed;   /* working space */
};

/* An empty dictionary; max_string in bytes. After an error otp_dict_fini may be called. Context:
 * worker. */
enum otp_status otp_dict_init(struct otp_dict *d, struct otp_heap *heap, size_t max_string);
/* Frees everything. */
void otp_dict_fini(struct otp_dict *d);

/*
 * Each interns one thing and gives its number. OTP_NO_MEMORY, OTP_FULL; OTP_INVALID for a number
 * that was never given; OTP_TOO_LARGE for values nested deeper than OTP_ATTR_MAX_DEPTH.
 */
enum otp_status otp_dict_string(struct otp_dict *d, struct otp_text s, uint32_t *out_id);
enum otp_status otp_dict_attr(struct otp_dict *d, const struct otp_attr *a, uint32_t *out_id);
/* The last of equal keys counts, numbers 0 do not; the order does not matter. */
enum otp_status otp_dict_list(struct otp_dict *d, const uint32_t *attrs, size_t count,
                              uint32_t *out_id);
/* Interns attributes and then their list. */
enum otp_status otp_dict_attr_list(struct otp_dict *d, const struct otp_attr *attrs, size_t count,
                                   uint32_t *out_id);
enum otp_status otp_dict_mapping(struct otp_dict *d, const struct otp_visit_mapping *m,
                                 uint32_t *out_id);
enum otp_status otp_dict_frame(struct otp_dict *d, const struct otp_visit_frame *f,
                               uint32_t *out_id);
enum otp_status otp_dict_stack(struct otp_dict *d, const uint32_t *frames, size_t count,
                               uint32_t *out_id);
enum otp_status otp_dict_link(struct otp_dict *d, const uint8_t trace_id[16],
                              const uint8_t span_id[8], uint32_t *out_id);

/* The text of string id. */
static inline struct otp_text otp_dict_text(const struct otp_dict *d, uint32_t id)
{
    struct otp_pool_tail t = otp_pool_tail(&d->strings, id);
    return otp_text_make(t.data, t.len);
}

#endif
