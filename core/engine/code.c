/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/code.h"

#include <stdbool.h>
#include <stddef.h>

#include "core/base/frame.h"
#include "core/symbol/maps.h"

#define MAX_RANGES 1024U
#define MAX_READS 4U /* of maps, in one look at the rings */

struct range {
    uint64_t start;
    uint64_t end;
};

static struct range ranges[MAX_RANGES];
static size_t range_count;
static size_t last;     /* where the last address was found */
static bool is_unknown; /* there are more, or they cannot be read: nothing is said to be wrong */
static unsigned reads;

void otp_code_forget(void)
{
    range_count = 0;
    last = 0;
    is_unknown = false;
    reads = 0;
}

void otp_code_begin(void)
{
    reads = 0;
}

static bool add(void *arg, const struct otp_maps_entry *e)
{
    (void)arg;
    if ((e->perms & OTP_MAPS_EXEC) == 0) {
        return true;
    }
    for (size_t i = 0; i < range_count; i++) {
        struct range *r = &ranges[i];
        if (e->start <= r->end && e->end >= r->start) { /* they touch: one from now on */
            r->start = e->start < r->start ? e->start : r->start;
            r->end = e->end > r->end ? e->end : r->end;
            return true;
        }
    }
    if (range_count == MAX_RANGES) {
        is_unknown = true;
        return false;
    }
    ranges[range_count++] = (struct range){.start = e->start, .end = e->end};
    return true;
}

static bool is_in(size_t i, uint64_t addr)
{
    return i < range_count && addr >= ranges[i].start && addr < ranges[i].end;
}

static bool is_found(uint64_t addr)
{
    for (size_t i = 0; i < range_count; i++) {
        if (is_in(i, addr)) {
            last = i;
            return true;
        }
    }
    return false;
}

static bool is_code(struct otp_heap *heap, uint64_t addr)
{
    if (is_in(last, addr) || is_unknown || is_found(addr)) {
        return true;
    }
    if (reads++ < MAX_READS && otp_maps_read(heap, NULL, add, NULL) != OTP_OK) {
        is_unknown = true;
    }
    return is_unknown || is_found(addr);
}

uint32_t otp_code_depth(struct otp_heap *heap, const uint64_t *frames, uint32_t depth)
{
    for (uint32_t i = 1; i < depth; i++) {
        bool is_marker = frames[i] == OTP_FRAME_TRUNCATED;
        if (otp_frame_object(frames[i]) == 0 && !is_marker && !is_code(heap, frames[i])) {
            return i;
        }
    }
    return depth;
}
