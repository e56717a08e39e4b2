/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorted by their frames from the root, a stack that is the end of another comes directly before
 * one that it is the end of; sorted from the leaf, the same holds for beginnings.
 */
#include "core/encode/slices.h"

#include <string.h>

#include "core/base/sort.h"

static uint32_t depth_of(const struct otp_pool *stacks, uint32_t id)
{
    return (uint32_t)(otp_pool_tail(stacks, id).len / sizeof(uint32_t));
}

/* Frame i of a stack, counted from the root or from the leaf. */
static uint32_t frame_at(const struct otp_pool *stacks, uint32_t id, uint32_t i, int from_root)
{
    const uint32_t *frames = otp_pool_tail(stacks, id).data;
    return frames[from_root ? depth_of(stacks, id) - 1 - i : i];
}

static int compare(const struct otp_pool *stacks, uint32_t a, uint32_t b, int from_root)
{
    uint32_t x = depth_of(stacks, a);
    uint32_t y = depth_of(stacks, b);
    for (uint32_t i = 0; i < x && i < y; i++) {
        uint32_t f = frame_at(stacks, a, i, from_root);
        uint32_t g = frame_at(stacks, b, i, from_root);
        if (f != g) {
            return f < g ? -1 : 1;
        }
    }
    return x < y ? -1 : x > y;
}

static int from_root(const void *a, const void *b, void *arg)
{
    return compare(arg, *(const uint32_t *)a, *(const uint32_t *)b, 1);
}

static int from_leaf(const void *a, const void *b, void *arg)
{
    return compare(arg, *(const uint32_t *)a, *(const uint32_t *)b, 0);
}

/* Is a the beginning of b, in that direction? */
static int is_part(const struct otp_pool *stacks, uint32_t a, uint32_t b, int root)
{
    uint32_t depth = depth_of(stacks, a);
    for (uint32_t i = 0; i < depth; i++) {
        if (i >= depth_of(stacks, b) ||
            frame_at(stacks, a, i, root) != frame_at(stacks, b, i, root)) {
            return 0;
        }
    }
    return 1;
}

/* Gives each of the count stacks in sorted order that is part of the next one to it. */
static void share(struct otp_slices *s, const uint32_t *sorted, size_t count, int root)
{
    for (size_t i = count; i-- > 1;) {
        uint32_t small = sorted[i - 1];
        uint32_t large = sorted[i];
        if (is_part(s->stacks, small, large, root)) {
            s->host[small] = s->host[large];
            s->skip[small] = s->skip[large];
            if (root) {
                s->skip[small] += depth_of(s->stacks, large) - depth_of(s->stacks, small);
            }
        }
    }
}

static void place(struct otp_slices *s)
{
    uint64_t next = 0;
    for (size_t i = 0; i < s->count; i++) {
        uint32_t id = s->order[i];
        if (s->host[id] == id) {
            s->start[id] = next;
            next += depth_of(s->stacks, id);
        }
    }
}

/* Those that still have room of their own, moved to the front; returns how many. */
static size_t keep_hosts(const struct otp_slices *s, uint32_t *ids, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (s->host[ids[i]] == ids[i]) {
            ids[kept++] = ids[i];
        }
    }
    return kept;
}

enum otp_status otp_slices_init(struct otp_slices *s, const struct otp_pool *stacks,
                                const uint32_t *numbers)
{
    struct otp_heap *heap = stacks->heap;
    void *arg = (void *)(uintptr_t)stacks; /* arg of the sort is not const */
    memset(s, 0, sizeof(*s));
    s->heap = heap;
    s->stacks = stacks;
    s->order = otp_heap_calloc(heap, stacks->count, sizeof(s->order[0]));
    s->host = otp_heap_calloc(heap, stacks->count, sizeof(s->host[0]));
    s->skip = otp_heap_calloc(heap, stacks->count, sizeof(s->skip[0]));
    s->start = otp_heap_calloc(heap, stacks->count, sizeof(s->start[0]));
    uint32_t *sorted = otp_heap_calloc(heap, stacks->count, sizeof(sorted[0]));
    if (s->order == NULL || s->host == NULL || s->skip == NULL || s->start == NULL ||
        sorted == NULL) {
        otp_heap_free(heap, sorted);
        return OTP_NO_MEMORY;
    }
    for (uint32_t id = 1; id < stacks->count; id++) {
        s->host[id] = id;
        if (numbers[id] != 0) {
            sorted[s->count] = id;
            s->order[s->count++] = id;
        }
    }
    otp_sort(sorted, s->count, sizeof(sorted[0]), from_root, arg);
    share(s, sorted, s->count, 1);
    size_t hosts = keep_hosts(s, sorted, s->count);
    otp_sort(sorted, hosts, sizeof(sorted[0]), from_leaf, arg);
    share(s, sorted, hosts, 0);
    otp_heap_free(heap, sorted);
    place(s);
    return OTP_OK;
}

void otp_slices_fini(struct otp_slices *s)
{
    otp_heap_free(s->heap, s->order);
    otp_heap_free(s->heap, s->host);
    otp_heap_free(s->heap, s->skip);
    otp_heap_free(s->heap, s->start);
}

/* A host may itself have found a host in the second round. */
uint64_t otp_slices_start(const struct otp_slices *s, uint32_t stack)
{
    uint32_t host = s->host[stack];
    uint64_t skip = s->skip[stack];
    if (host != stack && s->host[host] != host) {
        skip += s->skip[host];
        host = s->host[host];
    }
    return s->start[host] + skip;
}
