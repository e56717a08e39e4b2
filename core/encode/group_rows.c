/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Millions of samples at once. A look-up of each in an index would be a miss of the cache each; so
 * first a sieve of bits says which samples cannot have an equal one, which are nearly all.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/annot.h"
#include "core/base/sys.h"
#include "core/encode/group.h"

_Static_assert(sizeof(struct otp_visit_row) == sizeof(struct otp_group_sample), "rows are slots");
_Static_assert(offsetof(struct otp_visit_row, stack) == offsetof(struct otp_group_sample, stack) &&
                   offsetof(struct otp_visit_row, list) ==
                       offsetof(struct otp_group_sample, list) &&
                   offsetof(struct otp_visit_row, link) == offsetof(struct otp_group_sample, link),
               "rows are slots");

/*
 * A bit for each of 8 to 16 times as many places as there are rows: was a row of that place met?
 * And again? Only one whose place was met again can have an equal one. Places of one list are those
 * of its stacks, side by side, as samples mostly come.
 */
struct sieve {
    uint64_t *met;
    uint64_t *again; /* NULL: none was met again */
    size_t words;
    size_t list_step;
    size_t link_step;
};

#define NO_ROW SIZE_MAX

/* What is being taken over. */
struct taking {
    struct otp_group *g;
    const struct otp_dict *d;
    struct otp_visit_row *rows;
    size_t count;
    size_t long_count;
    size_t bare;        /* the first without stack, attributes and link; or NO_ROW */
    struct otp_map map; /* of rows that may have an equal one */
};

static size_t sieve_place(const struct sieve *f, const struct otp_visit_row *r)
{
    return (r->stack + r->list * f->list_step + r->link * f->link_step) & (f->words * 64 - 1);
}

static bool sieve_has(const struct sieve *f, const struct otp_visit_row *r)
{
    size_t place = sieve_place(f, r);
    return (f->again[place / 64] >> place % 64 & 1U) != 0;
}

static bool is_known(const struct taking *t, const struct otp_visit_row *r)
{
    return r->stack < t->d->stacks.count && r->list < t->d->lists.count &&
           r->link < t->d->links.count &&
           (r->value < OTP_VISIT_ROW_LONG || (r->value & ~OTP_VISIT_ROW_LONG) < t->long_count);
}

static int64_t value_of(const struct otp_group *g, const struct otp_visit_row *r)
{
    const int64_t *longs = (const void *)g->sums.data;
    return r->value < OTP_VISIT_ROW_LONG ? (int64_t)r->value
                                         : longs[r->value & ~OTP_VISIT_ROW_LONG];
}

static enum otp_status meet_again(const struct taking *t, struct sieve *f, size_t place)
{
    if (f->again == NULL) {
        f->again = otp_heap_calloc(t->g->heap, f->words, sizeof(f->again[0]));
    }
    if (f->again == NULL) {
        return OTP_NO_MEMORY;
    }
    f->again[place / 64] |= (uint64_t)1 << place % 64;
    return OTP_OK;
}

/* Drops rows without a value, looks whether the numbers of the others are good, and sieves them. */
static enum otp_status sieve_rows(struct taking *t, struct sieve *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct otp_visit_row r = t->rows[i];
        if (OTP_UNLIKELY(!is_known(t, &r))) {
            return OTP_INVALID;
        }
        if (OTP_UNLIKELY(value_of(t->g, &r) == 0)) {
            continue;
        }
        if (OTP_UNLIKELY((r.stack | r.list | r.link) == 0) && t->bare == NO_ROW) {
            t->bare = kept;
        }
        if (OTP_UNLIKELY(kept != i)) {
            t->rows[kept] = r;
        }
        kept++;
        size_t place = sieve_place(f, &r);
        uint64_t bit = (uint64_t)1 << place % 64;
        uint64_t before = f->met[place / 64];
        f->met[place / 64] = before | bit;
        if (OTP_UNLIKELY((before & bit) != 0)) {
            OTP_TRY(meet_again(t, f, place));
        }
    }
    t->count = kept;
    return OTP_OK;
}

static enum otp_status sieve_all(struct taking *t, struct sieve *f)
{
    f->words = 1;
    while (f->words * 8 < t->count) {
        f->words *= 2;
    }
    f->list_step = t->d->stacks.count | 1U;
    f->link_step = f->list_step * (t->d->lists.count | 1U);
    f->met = otp_heap_calloc(t->g->heap, f->words, sizeof(f->met[0]));
    return f->met == NULL ? OTP_NO_MEMORY : sieve_rows(t, f);
}

static bool same_row(const void *taking, uint32_t row, const void *key)
{
    const struct taking *t = taking;
    return memcmp(&t->rows[row], key, offsetof(struct otp_visit_row, value)) == 0;
}

/* Adds b to the value of a row; past the ends of the range it stays at the end. */
static enum otp_status add_value(struct otp_group *g, struct otp_visit_row *to, int64_t b)
{
    size_t count = g->sums.len / sizeof(int64_t);
    int64_t sum;
    if (__builtin_add_overflow(value_of(g, to), b, &sum)) {
        sum = b < 0 ? INT64_MIN : INT64_MAX;
    }
    if (to->value >= OTP_VISIT_ROW_LONG) {
        ((int64_t *)(void *)g->sums.data)[to->value & ~OTP_VISIT_ROW_LONG] = sum;
    } else if (sum >= 0 && sum < (int64_t)OTP_VISIT_ROW_LONG) {
        to->value = (uint32_t)sum;
    } else if (count >= OTP_VISIT_ROW_LONG) {
        return OTP_FULL;
    } else if (!otp_buf_add(&g->sums, &sum, sizeof(sum))) {
        return OTP_NO_MEMORY;
    } else {
        to->value = (uint32_t)count | OTP_VISIT_ROW_LONG;
    }
    return OTP_OK;
}

/* Adds rows to equal ones before them, and moves the others up. */
static enum otp_status merge(struct taking *t, const struct sieve *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct otp_visit_row r = t->rows[i];
        if (OTP_UNLIKELY(sieve_has(f, &r))) {
            uint64_t hash = otp_hash_bytes(&r, offsetof(struct otp_visit_row, value), 0);
            uint32_t same = otp_map_find(&t->map, hash, &r, same_row, t);
            if (same != OTP_MAP_NONE) {
                OTP_TRY(add_value(t->g, &t->rows[same], value_of(t->g, &r)));
                continue;
            }
            if (!otp_map_add(&t->map, hash, (uint32_t)kept)) {
                return OTP_NO_MEMORY;
            }
        }
        t->rows[kept++] = r;
    }
    t->count = kept;
    return OTP_OK;
}

/* The sample that is nothing but a value comes first, as entry 0 of a pool does. */
static void put_bare_first(struct taking *t)
{
    if (t->bare != NO_ROW) {
        struct otp_visit_row bare = t->rows[t->bare];
        memmove(t->rows + 1, t->rows, t->bare * sizeof(bare));
        t->rows[0] = bare;
    }
}

static enum otp_status sieve_and_merge(struct taking *t)
{
    struct sieve f = {.met = NULL};
    enum otp_status status = sieve_all(t, &f);
    put_bare_first(t);
    if (status == OTP_OK && f.again != NULL) {
        otp_map_init(&t->map, t->g->heap);
        status = merge(t, &f);
        otp_map_fini(&t->map);
    }
    otp_heap_free(t->g->heap, f.met);
    otp_heap_free(t->g->heap, f.again);
    return status;
}

enum otp_status otp_group_rows(struct otp_group *g, const struct otp_dict *d,
                               const struct otp_visit_rows *rows)
{
    struct taking t = {.g = g,
                       .d = d,
                       .rows = rows->items,
                       .count = rows->count,
                       .long_count = rows->long_count,
                       .bare = NO_ROW};
    if (g->rows != NULL || g->type_count != 1 || g->waiting_count != 0) {
        return OTP_INVALID;
    }
    if (rows->count == 0) {
        return OTP_OK;
    }
    if (rows->count >= OTP_POOL_MAX || rows->long_count >= OTP_VISIT_ROW_LONG) {
        return OTP_FULL;
    }
    otp_buf_clear(&g->sums);
    if (!otp_buf_add(&g->sums, rows->longs, rows->long_count * sizeof(rows->longs[0]))) {
        return OTP_NO_MEMORY;
    }
    OTP_TRY(sieve_and_merge(&t));
    otp_heap_free(g->heap, g->slots.heads);
    otp_map_fini(&g->slots.map);
    g->rows = t.rows;
    g->slots.heads = (unsigned char *)t.rows;
    g->slots.count = (uint32_t)t.count;
    return OTP_OK;
}

void otp_group_forget_rows(const struct otp_group *g)
{
    const uintptr_t page = 4096;
    if (g->rows == NULL) {
        return;
    }
    uintptr_t begin = ((uintptr_t)g->rows + page - 1) & ~(page - 1);
    uintptr_t end = (uintptr_t)(g->rows + g->slots.count) & ~(page - 1);
    if (end > begin) {
        /* If not, the pages stay in use. */
        (void)OTP_SYS3(SYS_madvise, begin, end - begin, MADV_DONTNEED);
    }
}
