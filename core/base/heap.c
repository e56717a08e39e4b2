/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small blocks: four size classes for each power of two from 32 bytes to 4 KiB, carved from chunks
 * of up to 256 KiB and kept on free lists. Larger blocks get a mapping each, so that they return to
 * the system when freed. Every block has a 16-byte header with its capacity.
 */
#include "core/base/heap.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"
#include "core/base/sys.h"

#define CHUNK_BYTES ((size_t)256 << 10) /* less below a limit of CHUNK_PART of them */
#define CHUNK_BYTES_MIN ((size_t)8 << 10)
#define CHUNK_PART 16U
#define SMALL_MAX ((size_t)4096)
#define PAGE ((size_t)4096)
#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_WORTH (2 * HUGE_PAGE)

struct otp_heap_chunk {
    struct otp_heap_chunk *next;
    struct otp_heap_chunk *prev;
    size_t bytes;
    size_t unused;
};

struct header {
    size_t capacity;  /* payload bytes */
    size_t class_idx; /* OTP_HEAP_CLASSES: a mapping of its own */
};

struct otp_heap_free {
    struct otp_heap_free *next;
};

_Static_assert(sizeof(struct header) == 16, "payload alignment");
_Static_assert(sizeof(struct otp_heap_chunk) == 32, "payload alignment");

/* Classes: 32 bytes, then 4 steps for each doubling: 32,48,64 | 80,96,112,128 | 160,... | 4096. */
static size_t class_of(size_t size, size_t *out_capacity)
{
    if (size <= 64) {
        size_t idx = size <= 32 ? 0 : size <= 48 ? 1 : 2;
        *out_capacity = 32 + 16 * idx;
        return idx;
    }
    unsigned top = 63U - (unsigned)__builtin_clzl(size - 1); /* 2^top < size <= 2^(top+1) */
    size_t step = (size_t)1 << (top - 2);
    size_t steps = (size - ((size_t)1 << top) + step - 1) / step; /* 1..4 */
    *out_capacity = ((size_t)1 << top) + steps * step;
    return 3 + (size_t)(top - 6) * 4 + (steps - 1);
}

static bool was_refused; /* atomic: the tool has a heap in each of several threads */

bool otp_heap_was_refused(void)
{
    return otp_load_relaxed(&was_refused);
}

/* No memory: the system's doing, or that of the heap's own limit. */
static void note_failure(struct otp_heap *h, bool is_refused)
{
    h->failures++;
    otp_store_relaxed(&was_refused, is_refused);
}

void otp_heap_init(struct otp_heap *h, size_t limit_bytes)
{
    memset(h, 0, sizeof(*h));
    h->limit_bytes = limit_bytes;
}

void otp_heap_prefer_huge(struct otp_heap *h)
{
    h->wants_huge = true;
}

/* Bytes of a mapping for a block with its heads. */
static size_t mapping_bytes(const struct otp_heap *h, size_t bytes)
{
    size_t unit = h->wants_huge && bytes >= HUGE_WORTH ? HUGE_PAGE : PAGE;
    return (bytes + unit - 1) & ~(unit - 1);
}

static void advise_huge(const struct otp_heap *h, struct otp_heap_chunk *c)
{
    if (h->wants_huge && c->bytes >= HUGE_WORTH) {
        /* A system without huge pages refuses: then they are small. */
        (void)OTP_SYS3(SYS_madvise, c, c->bytes, MADV_HUGEPAGE);
    }
}

static void unmap_list(struct otp_heap_chunk *c)
{
    while (c != NULL) {
        struct otp_heap_chunk *next = c->next;
        otp_sys_unmap(c, c->bytes);
        c = next;
    }
}

void otp_heap_reset(struct otp_heap *h)
{
    size_t limit = h->limit_bytes;
    size_t peak = h->peak_bytes;
    bool wants_huge = h->wants_huge;
    unmap_list(h->chunks);
    unmap_list(h->large);
    otp_heap_init(h, limit);
    h->peak_bytes = peak;
    h->wants_huge = wants_huge;
}

static struct otp_heap_chunk *map_chunk(struct otp_heap *h, size_t bytes)
{
    if (bytes > h->limit_bytes || h->mapped_bytes > h->limit_bytes - bytes) {
        note_failure(h, false);
        return NULL;
    }
    struct otp_heap_chunk *c = otp_sys_map(bytes);
    if (c == NULL) {
        note_failure(h, true);
        return NULL;
    }
    /* A fork child has no use for it, and fork is cheaper without. */
    (void)OTP_SYS3(SYS_madvise, c, bytes, MADV_DONTFORK);
    c->bytes = bytes;
    advise_huge(h, c);
    h->mapped_bytes += bytes;
    if (h->mapped_bytes > h->peak_bytes) {
        h->peak_bytes = h->mapped_bytes;
    }
    return c;
}

static void *alloc_large(struct otp_heap *h, size_t size)
{
    size_t overhead = sizeof(struct otp_heap_chunk) + sizeof(struct header);
    if (size > SIZE_MAX - overhead - HUGE_PAGE) {
        h->failures++;
        return NULL;
    }
    size_t bytes = mapping_bytes(h, size + overhead);
    struct otp_heap_chunk *c = map_chunk(h, bytes);
    if (c == NULL) {
        return NULL;
    }
    c->next = h->large;
    if (c->next != NULL) {
        c->next->prev = c;
    }
    h->large = c;
    struct header *hd = (struct header *)(c + 1);
    hd->capacity = bytes - overhead;
    hd->class_idx = OTP_HEAP_CLASSES;
    return hd + 1;
}

static size_t chunk_bytes(const struct otp_heap *h)
{
    size_t bytes = CHUNK_BYTES;
    while (bytes > CHUNK_BYTES_MIN && bytes > h->limit_bytes / CHUNK_PART) {
        bytes /= 2;
    }
    return bytes;
}

static bool refill(struct otp_heap *h)
{
    struct otp_heap_chunk *c = map_chunk(h, chunk_bytes(h));
    if (c == NULL) {
        return false;
    }
    c->next = h->chunks;
    h->chunks = c;
    h->bump = (char *)(c + 1);
    h->bump_end = (char *)c + c->bytes;
    return true;
}

void *otp_heap_alloc(struct otp_heap *h, size_t size)
{
    if (size > SMALL_MAX) {
        return alloc_large(h, size);
    }
    size_t capacity;
    size_t idx = class_of(size, &capacity);
    struct otp_heap_free *f = h->free_lists[idx];
    if (f != NULL) {
        h->free_lists[idx] = f->next;
        return f;
    }
    size_t need = capacity + sizeof(struct header);
    if ((size_t)(h->bump_end - h->bump) < need && !refill(h)) {
        return NULL;
    }
    struct header *hd = (struct header *)(void *)h->bump;
    h->bump += need;
    hd->capacity = capacity;
    hd->class_idx = idx;
    return hd + 1;
}

void *otp_heap_calloc(struct otp_heap *h, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        h->failures++;
        return NULL;
    }
    void *p = otp_heap_alloc(h, bytes);
    if (p != NULL) {
        memset(p, 0, bytes);
    }
    return p;
}

void otp_heap_free(struct otp_heap *h, void *p)
{
    if (p == NULL) {
        return;
    }
    struct header *hd = (struct header *)p - 1;
    if (hd->class_idx < OTP_HEAP_CLASSES) {
        struct otp_heap_free *f = p;
        f->next = h->free_lists[hd->class_idx];
        h->free_lists[hd->class_idx] = f;
        return;
    }
    struct otp_heap_chunk *c = (struct otp_heap_chunk *)(void *)hd - 1;
    if (c->prev != NULL) {
        c->prev->next = c->next;
    } else {
        h->large = c->next;
    }
    if (c->next != NULL) {
        c->next->prev = c->prev;
    }
    h->mapped_bytes -= c->bytes;
    otp_sys_unmap(c, c->bytes);
}

/* Points the neighbours of a chunk, and its heap, at where it is now. */
static void relink(struct otp_heap *h, struct otp_heap_chunk *c)
{
    if (c->prev != NULL) {
        c->prev->next = c;
    } else {
        h->large = c;
    }
    if (c->next != NULL) {
        c->next->prev = c;
    }
}

/* A larger mapping for a block that has one of its own: its pages move, nothing is copied. */
static void *grow_large(struct otp_heap *h, struct header *hd, size_t size)
{
    struct otp_heap_chunk *c = (struct otp_heap_chunk *)(void *)hd - 1;
    size_t overhead = sizeof(struct otp_heap_chunk) + sizeof(struct header);
    if (size > SIZE_MAX - overhead - HUGE_PAGE) {
        return NULL;
    }
    size_t old_bytes = c->bytes;
    size_t bytes = mapping_bytes(h, size + overhead);
    if (bytes > h->limit_bytes || h->mapped_bytes - old_bytes > h->limit_bytes - bytes) {
        return NULL;
    }
    c = otp_sys_remap(c, old_bytes, bytes);
    if (c == NULL) {
        return NULL;
    }
    c->bytes = bytes;
    if (old_bytes < HUGE_WORTH) {
        advise_huge(h, c);
    }
    relink(h, c);
    h->mapped_bytes += bytes - old_bytes;
    h->peak_bytes = h->mapped_bytes > h->peak_bytes ? h->mapped_bytes : h->peak_bytes;
    hd = (struct header *)(c + 1);
    hd->capacity = bytes - overhead;
    return hd + 1;
}

void *otp_heap_realloc(struct otp_heap *h, void *p, size_t size)
{
    if (p == NULL) {
        return otp_heap_alloc(h, size);
    }
    struct header *hd = (struct header *)p - 1;
    if (size <= hd->capacity) {
        return p;
    }
    void *moved = hd->class_idx == OTP_HEAP_CLASSES ? grow_large(h, hd, size) : NULL;
    if (moved != NULL) {
        return moved;
    }
    void *q = otp_heap_alloc(h, size);
    if (q == NULL) {
        return NULL;
    }
    memcpy(q, p, hd->capacity);
    otp_heap_free(h, p);
    return q;
}

char *otp_heap_copy_string(struct otp_heap *h, const char *s, size_t len)
{
    if (len == SIZE_MAX) {
        return NULL;
    }
    char *copy = otp_heap_alloc(h, len + 1);
    if (copy != NULL) {
        memcpy(copy, s, len);
        copy[len] = '\0';
    }
    return copy;
}
