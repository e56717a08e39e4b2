/* SPDX-License-Identifier: Apache-2.0 */
#include "core/intern/timetable.h"

#include <string.h>

#define KEEP_FRAMES 65536U /* half a megabyte kept from one flush to the next */

void otp_timetable_init(struct otp_timetable *t, struct otp_heap *heap)
{
    memset(t, 0, sizeof(*t));
    t->heap = heap;
    otp_map_init(&t->map, heap);
}

void otp_timetable_clear(struct otp_timetable *t)
{
    if (t->frame_room > KEEP_FRAMES) {
        otp_map_fini(&t->map);
        otp_heap_free(t->heap, t->entries);
        otp_heap_free(t->heap, t->frames);
        otp_timetable_init(t, t->heap);
        return;
    }
    otp_map_clear(&t->map);
    t->sample_count = 0;
    t->cpu_ns = 0;
    t->dropped_attrs = 0;
    t->entry_count = 0;
    t->frame_count = 0;
}

const uint64_t *otp_timetable_frames(const struct otp_timetable *t, const struct otp_time_entry *e)
{
    return t->frames + e->frames_at;
}

static bool is_equal(const void *ctx, uint32_t id, const void *key)
{
    const struct otp_timetable *t = ctx;
    const struct otp_time_sample *s = key;
    const struct otp_time_entry *e = &t->entries[id];
    return e->depth == s->depth && e->context == s->context && e->tag == s->tag &&
           e->time_ns == 0 &&
           memcmp(t->frames + e->frames_at, s->frames, s->depth * sizeof(s->frames[0])) == 0;
}

static bool make_room(struct otp_timetable *t, size_t depth)
{
    if (t->frame_count + depth > t->frame_room) {
        size_t room = (t->frame_count + depth) * 2 + 1024;
        uint64_t *frames = otp_heap_realloc(t->heap, t->frames, room * sizeof(frames[0]));
        if (frames == NULL) {
            return false;
        }
        t->frames = frames;
        t->frame_room = room;
    }
    if (t->entry_count == t->entry_room) {
        size_t room = t->entry_room * 2 + 64;
        struct otp_time_entry *entries =
            otp_heap_realloc(t->heap, t->entries, room * sizeof(entries[0]));
        if (entries == NULL) {
            return false;
        }
        t->entries = entries;
        t->entry_room = room;
    }
    return true;
}

bool otp_timetable_add(struct otp_timetable *t, const struct otp_time_sample *s)
{
    uint64_t hash = otp_hash_bytes(s->frames, s->depth * sizeof(s->frames[0]),
                                   (uint64_t)s->tag << 32 | s->context);
    uint32_t id = s->time_ns != 0 ? OTP_MAP_NONE : otp_map_find(&t->map, hash, s, is_equal, t);
    t->sample_count++;
    t->cpu_ns += s->cpu_ns;
    if (id != OTP_MAP_NONE) {
        t->entries[id].count += s->count;
        t->entries[id].cpu_ns += s->cpu_ns;
        return true;
    }
    if (t->entry_count >= OTP_MAP_NONE - 1 || !make_room(t, s->depth)) {
        return false;
    }
    id = (uint32_t)t->entry_count;
    if (s->time_ns == 0 && !otp_map_add(&t->map, hash, id)) {
        return false;
    }
    t->entries[id] = (struct otp_time_entry){
        .frames_at = t->frame_count,
        .depth = s->depth,
        .context = s->context,
        .tag = s->tag,
        .count = s->count,
        .cpu_ns = s->cpu_ns,
        .time_ns = s->time_ns,
    };
    memcpy(t->frames + t->frame_count, s->frames, s->depth * sizeof(s->frames[0]));
    t->frame_count += s->depth;
    t->entry_count++;
    return true;
}
