/* SPDX-License-Identifier: Apache-2.0 */
#include "core/intern/timetable.h"

#include <string.h>

#include "core/base/counters.h"

#define KEEP_FRAMES 65536U /* half a megabyte kept from one flush to the next */
#define KEEP_ENTRIES 8192U

void otp_timetable_init(struct otp_timetable *t, struct otp_heap *heap,
                        struct otp_timetable_budget *budget, struct otp_tags *tags,
                        enum otp_loss_of of)
{
    memset(t, 0, sizeof(*t));
    t->heap = heap;
    t->budget = budget;
    t->tags = tags;
    t->of = of;
    otp_map_init(&t->map, heap);
    otp_map_init(&t->stack_map, heap);
}

void otp_timetable_fini(struct otp_timetable *t)
{
    otp_map_fini(&t->map);
    otp_map_fini(&t->stack_map);
    otp_heap_free(t->heap, t->entries);
    otp_heap_free(t->heap, t->frames);
    t->budget->used_bytes -=
        t->entry_room * sizeof(t->entries[0]) + t->frame_room * sizeof(t->frames[0]);
    otp_timetable_init(t, t->heap, t->budget, t->tags, t->of);
}

void otp_timetable_clear(struct otp_timetable *t)
{
    if (t->frame_room > KEEP_FRAMES || t->entry_room > KEEP_ENTRIES) {
        otp_timetable_fini(t);
        return;
    }
    otp_map_clear(&t->map);
    otp_map_clear(&t->stack_map);
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

/* A sample that is looked for, and its stack if that is known. */
struct wanted {
    const struct otp_time_sample *sample;
    size_t frames_at;
};

static bool is_stack(const void *ctx, uint32_t id, const void *key)
{
    const struct otp_timetable *t = ctx;
    const struct otp_time_sample *s = key;
    const struct otp_time_entry *e = &t->entries[id];
    return e->depth == s->depth &&
           memcmp(t->frames + e->frames_at, s->frames, s->depth * sizeof(s->frames[0])) == 0;
}

static bool is_equal(const void *ctx, uint32_t id, const void *key)
{
    const struct otp_timetable *t = ctx;
    const struct wanted *w = key;
    const struct otp_time_entry *e = &t->entries[id];
    return e->frames_at == w->frames_at && e->context == w->sample->context &&
           e->tag == w->sample->tag && e->time_ns == 0;
}

/*
 * Room for need items, where there is *room: twice as many, or an eighth more where the budget does
 * not allow that. NULL: not even that.
 */
static void *grow(struct otp_timetable *t, void *items, size_t item_bytes, size_t need,
                  size_t *room)
{
    struct otp_timetable_budget *b = t->budget;
    size_t left = (b->max_bytes - b->used_bytes) / item_bytes;
    size_t more = need * 2 + 64 - *room;
    if (more > left) {
        more = need + need / 8 - *room;
    }
    if (more > left) {
        return NULL;
    }
    void *p = otp_heap_realloc(t->heap, items, (*room + more) * item_bytes);
    if (p != NULL) {
        b->used_bytes += more * item_bytes;
        *room += more;
    }
    return p;
}

static bool make_frame_room(struct otp_timetable *t, size_t depth)
{
    size_t need = t->frame_count + depth;
    if (need > t->frame_room) {
        uint64_t *frames = grow(t, t->frames, sizeof(frames[0]), need, &t->frame_room);
        if (frames == NULL) {
            return false;
        }
        t->frames = frames;
    }
    return true;
}

static bool make_entry_room(struct otp_timetable *t)
{
    size_t need = t->entry_count + 1;
    if (need > t->entry_room) {
        struct otp_time_entry *entries =
            grow(t, t->entries, sizeof(entries[0]), need, &t->entry_room);
        if (entries == NULL) {
            return false;
        }
        t->entries = entries;
    }
    return t->entry_count < OTP_MAP_NONE - 1;
}

static uint64_t hash_entry(const struct wanted *w)
{
    return otp_hash_mix(otp_hash_mix(0, w->frames_at),
                        (uint64_t)w->sample->tag << 32 | w->sample->context);
}

static uint32_t find(const struct otp_timetable *t, const struct wanted *w)
{
    return w->sample->time_ns != 0 ? OTP_MAP_NONE
                                   : otp_map_find(&t->map, hash_entry(w), w, is_equal, t);
}

/* A new entry; the stack of the first with it is noted under stack_hash. */
static bool add_entry(struct otp_timetable *t, const struct wanted *w, bool is_new_stack,
                      uint64_t stack_hash)
{
    const struct otp_time_sample *s = w->sample;
    uint32_t id = (uint32_t)t->entry_count;
    if (!make_entry_room(t) || (is_new_stack && !make_frame_room(t, s->depth)) ||
        (is_new_stack && !otp_map_add(&t->stack_map, stack_hash, id))) {
        return false;
    }
    t->entries[id] = (struct otp_time_entry){
        .frames_at = w->frames_at,
        .depth = s->depth,
        .context = s->context,
        .tag = s->tag,
        .is_link_lost = s->is_link_lost,
        .count = s->count,
        .cpu_ns = s->cpu_ns,
        .time_ns = s->time_ns,
    };
    if (is_new_stack) {
        memcpy(t->frames + t->frame_count, s->frames, s->depth * sizeof(s->frames[0]));
        t->frame_count += s->depth;
    }
    t->entry_count++;
    /* Without its place in the map it is a sum that nothing is added to any more. */
    return s->time_ns != 0 || otp_map_add(&t->map, hash_entry(w), id);
}

/* The sample goes without its tag, whose attributes it should have had. */
static void leave_tag(struct otp_timetable *t, struct otp_time_sample *s)
{
    uint32_t count = t->tags == NULL ? 0 : otp_tags_get(t->tags, s->tag)->attr_count;
    if (!s->is_link_lost) {
        otp_count(OTP_COUNT_LINKS, t->of, 1);
    }
    t->dropped_attrs += count;
    if (count > 0) {
        otp_count(OTP_COUNT_LABELS, t->of, count);
    }
    s->tag = OTP_TAGS_NONE;
}

bool otp_timetable_add(struct otp_timetable *t, const struct otp_time_sample *given)
{
    struct otp_time_sample s = *given;
    uint64_t stack_hash = otp_hash_bytes(s.frames, s.depth * sizeof(s.frames[0]), 0);
    uint32_t first = otp_map_find(&t->stack_map, stack_hash, &s, is_stack, t);
    bool is_new_stack = first == OTP_MAP_NONE;
    struct wanted w = {.sample = &s,
                       .frames_at = is_new_stack ? t->frame_count : t->entries[first].frames_at};
    uint32_t id = is_new_stack ? OTP_MAP_NONE : find(t, &w);
    bool is_new_tag = id == OTP_MAP_NONE && s.tag != OTP_TAGS_NONE;
    if (is_new_tag && !otp_tags_use(t->tags, false)) {
        leave_tag(t, &s);
        id = is_new_stack ? OTP_MAP_NONE : find(t, &w);
    } else if (is_new_tag && !is_new_stack && !make_entry_room(t)) {
        leave_tag(t, &s);
        id = find(t, &w);
    }
    t->sample_count++;
    t->cpu_ns += s.cpu_ns;
    if (id != OTP_MAP_NONE) {
        t->entries[id].count += s.count;
        t->entries[id].cpu_ns += s.cpu_ns;
        return true;
    }
    return add_entry(t, &w, is_new_stack, stack_hash);
}
