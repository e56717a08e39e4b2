/* SPDX-License-Identifier: Apache-2.0 */
#include "core/decode/vec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_ITEMS 16U
#define PAGE ((size_t)4096)
#define WORTH_GIVING ((size_t)1 << 18)
#define HUGE_WORTH ((size_t)4 << 20)

void otp_vec_init(struct otp_vec *v, struct otp_budget *budget, size_t item_size)
{
    memset(v, 0, sizeof(*v));
    v->budget = budget;
    v->item_size = (uint32_t)item_size;
}

void otp_vec_fini(struct otp_vec *v)
{
    free(v->items);
    if (v->budget != NULL) {
        v->budget->left_bytes += (uint64_t)v->capacity * v->item_size;
    }
    otp_vec_init(v, v->budget, v->item_size);
}

void otp_prefer_huge(void *block, size_t bytes)
{
    uintptr_t begin = (uintptr_t)block & ~(uintptr_t)(PAGE - 1);

    if (block != NULL && bytes >= HUGE_WORTH) {
        /* A system without huge pages refuses: then they are small. */
        (void)madvise((void *)begin, (uintptr_t)block + bytes - begin, MADV_HUGEPAGE);
    }
}

static bool resize(struct otp_vec *v, uint64_t capacity)
{
    uint64_t old_bytes = (uint64_t)v->capacity * v->item_size;
    uint64_t bytes = capacity * v->item_size;

    if (bytes > old_bytes && bytes - old_bytes > v->budget->left_bytes) {
        return false;
    }
    void *items = realloc(v->items, bytes);
    if (items == NULL) {
        return false;
    }
    if (bytes > old_bytes) {
        otp_prefer_huge(items, bytes);
    }
    v->budget->left_bytes = v->budget->left_bytes + old_bytes - bytes;
    v->items = items;
    v->capacity = (uint32_t)capacity;
    return true;
}

void otp_vec_trim(struct otp_vec *v)
{
    if (v->count == 0) {
        otp_vec_fini(v);
    } else if (v->count < v->capacity) {
        (void)resize(v, v->count); /* keeping the larger block is no error */
    }
}

bool otp_vec_reserve(struct otp_vec *v, uint64_t extra)
{
    if (extra > OTP_VEC_MAX - v->count) {
        return false;
    }
    uint64_t need = v->count + extra;
    if (need <= v->capacity) {
        return true;
    }
    uint64_t capacity = (uint64_t)v->capacity + v->capacity / 2;
    capacity = capacity < need ? need : capacity;
    capacity = capacity < FIRST_ITEMS ? FIRST_ITEMS : capacity;
    capacity = capacity > OTP_VEC_MAX ? OTP_VEC_MAX : capacity;
    return resize(v, capacity) || resize(v, need);
}

void otp_give_back(const void *from, const void *to)
{
    uintptr_t begin = ((uintptr_t)from + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = (uintptr_t)to & ~(uintptr_t)(PAGE - 1);

    if (end > begin && end - begin >= WORTH_GIVING) {
        (void)madvise((void *)begin, end - begin, MADV_DONTNEED); /* if not, it stays in use */
    }
}

void *otp_vec_push(struct otp_vec *v)
{
    if (OTP_UNLIKELY(v->count == v->capacity) && !otp_vec_reserve(v, 1)) {
        return NULL;
    }
    char *item = (char *)v->items + (size_t)v->count * v->item_size;
    memset(item, 0, v->item_size);
    v->count++;
    return item;
}

bool otp_vec_append(struct otp_vec *v, const void *from, uint32_t count)
{
    if (!otp_vec_reserve(v, count)) {
        return false;
    }
    if (count > 0) {
        memcpy((char *)v->items + (size_t)v->count * v->item_size, from,
               (size_t)count * v->item_size);
        v->count += count;
    }
    return true;
}
