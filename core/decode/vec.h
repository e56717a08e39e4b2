/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing array of items of one size, charged to a memory budget. It takes its memory from libc:
 * what decodes profiles runs in the tool and in tests, never in a profiled program.
 */
#ifndef OTP_DECODE_VEC_H
#define OTP_DECODE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/annot.h"

/* Most items of one array: numbers of items stay in 31 bits. */
#define OTP_VEC_MAX ((uint32_t)INT32_MAX)

/* Bytes that may still be taken. Shared by the arrays of one message. */
struct otp_budget {
    uint64_t left_bytes;
};

struct otp_vec {
    struct otp_budget *budget;
    void *items;
    uint32_t count;
    uint32_t capacity;
    uint32_t item_size; /* bytes */
};

/* An empty array of items of item_size bytes. Context: any. */
void otp_vec_init(struct otp_vec *v, struct otp_budget *budget, size_t item_size);
/* Frees the items; v can be used again. */
void otp_vec_fini(struct otp_vec *v);
/* Item i, or the place behind the last one; NULL in an array that never had any. */
static inline const void *otp_vec_at(const struct otp_vec *v, size_t i)
{
    return v->items == NULL ? NULL : (const char *)v->items + i * v->item_size;
}
/* Gives unused capacity back. */
void otp_vec_trim(struct otp_vec *v);
/* Makes room for extra more items; false when the budget or OTP_VEC_MAX is reached. */
bool otp_vec_reserve(struct otp_vec *v, uint64_t extra);
/*
 * Gives the memory of [from, to), which is part of a block from malloc, back to the system, as far
 * as it is whole pages: the bytes are 0 then. Nothing happens when it is not worth it.
 */
void otp_give_back(const void *from, const void *to);
/* Asks for huge pages in a block from malloc of that many bytes, where it is worth it. */
void otp_prefer_huge(void *block, size_t bytes);
/* Adds one zeroed item and returns it (valid until the array grows); NULL when there is no room. */
void *otp_vec_push(struct otp_vec *v);
/* Adds count items copied from `from`; false when there is no room. */
bool otp_vec_append(struct otp_vec *v, const void *from, uint32_t count);

#endif
