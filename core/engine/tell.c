/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/tell.h"

#include <string.h>

#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/sys.h"
#include "core/capture/alloc.h"
#include "core/capture/capture.h"
#include "core/ledger/ledger.h"

#define MAX_ATTRS (OTP_COUNT_END + 4)
#define NAME_BYTES 64

/* What things cost in a visit, roughly: only how they compare counts. */
#define STACK_COST 64U
#define FRAME_COST 8U
#define SAMPLE_COST 64U
#define TAG_COST 192U
#define ROOM_MIN ((size_t)512)

static struct otp_tell_room room_of(size_t bytes)
{
    struct otp_tell_room room = {.allowed = bytes, .left = bytes};
    return room;
}

static bool take_room(struct otp_tell_room *room, size_t cost)
{
    if (cost > room->left) {
        return false;
    }
    room->left -= room->left == SIZE_MAX ? 0 : cost;
    room->cost += cost;
    return true;
}

static void count_loss(struct otp_tell *t, enum otp_counter counter, enum otp_loss_of of,
                       uint64_t n)
{
    otp_count(counter, of, n);
    t->counted[of][counter] += n;
}

bool otp_tell_less(struct otp_tell *t)
{
    struct otp_tell_room *time = &t->time_room;
    struct otp_tell_room *heap = &t->heap_room;
    struct otp_tell_room *dearer = time->cost > heap->cost ? time : heap;
    for (unsigned of = 0; of < OTP_OF_END; of++) {
        for (unsigned c = 0; c < OTP_COUNT_END; c++) {
            (void)otp_sub_relaxed(&otp_counters[of][c], t->counted[of][c]);
            t->counted[of][c] = 0;
        }
    }
    dearer->allowed = dearer->cost / 2;
    *time = room_of(time->allowed);
    if (heap->allowed != SIZE_MAX) { /* else all of it is admitted, and its cost known */
        *heap = room_of(heap->allowed);
    }
    return dearer->allowed >= ROOM_MIN;
}

static struct otp_value_type value_type(const char *type, const char *unit)
{
    struct otp_value_type t = {.type = otp_text_of(type), .unit = otp_text_of(unit)};
    return t;
}

/* Losses of one profile as attributes, with the names put together in store. */
static size_t losses(enum otp_loss_of of, struct otp_attr *out, char store[][NAME_BYTES])
{
    static const char prefix[] = "otelprof.dropped.";
    size_t count = 0;
    for (unsigned c = 0; c < OTP_COUNT_END; c++) {
        uint64_t n = otp_counter_sum((enum otp_counter)c, of);
        if (n == 0) {
            continue;
        }
        const char *name = otp_counter_name((enum otp_counter)c);
        size_t len = strnlen(name, NAME_BYTES - sizeof(prefix));
        memcpy(store[count], prefix, sizeof(prefix) - 1);
        memcpy(store[count] + sizeof(prefix) - 1, name, len);
        out[count] = (struct otp_attr){.key = otp_text_make(store[count], sizeof(prefix) - 1 + len),
                                       .kind = OTP_ATTR_INT,
                                       .number = (int64_t)n};
        count++;
    }
    return count;
}

static uint32_t clamp_u32(uint64_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Where the ticks came from, and how far apart they were if that is not what was asked. */
static size_t engine_attrs(const struct otp_paced *paced, struct otp_attr *out)
{
    size_t count = 0;
    out[count++] = (struct otp_attr){
        .key = otp_text_of("otelprof.cpu.engine"),
        .kind = OTP_ATTR_STRING,
        .string = otp_text_of(paced->is_perf ? "perf" : "timer"),
    };
    uint64_t achieved =
        paced->table.sample_count == 0 ? 0 : paced->table.cpu_ns / paced->table.sample_count;
    if (achieved > paced->period_ns + paced->period_ns / 20) {
        out[count++] = (struct otp_attr){
            .key = otp_text_of("otelprof.cpu.achieved_period"),
            .kind = OTP_ATTR_INT,
            .number = (int64_t)achieved,
            .unit = otp_text_of("ns"),
        };
    }
    return count;
}

/*
 * A time within the flush's range. What was observed between the last look at the rings and the end
 * of the flush before is told in this one, moved by that moment.
 */
static uint64_t time_within(const struct otp_tell *t, uint64_t time_ns)
{
    uint64_t last_ns = t->time_ns + t->duration_ns - 1;
    if (time_ns == 0 || (time_ns >= t->time_ns && time_ns <= last_ns)) {
        return time_ns;
    }
    return time_ns < t->time_ns ? t->time_ns : last_ns;
}

/* A walk over the entries of a table, whose stacks lie in the order in which they first came. */
struct walk {
    size_t known; /* stacks below this place were met */
    size_t cut;   /* and there was no room for those from here on */
};

enum admission { LEFT_OUT, WITHOUT_TAG, WITH_TAG };

static enum admission admit_entry(struct walk *w, struct otp_tell_room *room,
                                  const struct otp_time_entry *e)
{
    bool is_new = e->frames_at >= w->known;
    size_t cost = SAMPLE_COST + (is_new ? STACK_COST + (size_t)e->depth * FRAME_COST : 0);
    if (e->frames_at >= w->cut || !take_room(room, cost)) {
        w->cut = is_new && e->frames_at < w->cut ? e->frames_at : w->cut;
        return LEFT_OUT;
    }
    w->known = is_new ? e->frames_at + 1 : w->known;
    return e->tag != OTP_TAGS_NONE && take_room(room, TAG_COST) ? WITH_TAG : WITHOUT_TAG;
}

/* Counts what the walk to come will leave out, so that the profile can say so in its head. */
static void count_left_out(struct otp_tell *t, struct otp_tell_room room,
                           const struct otp_timetable *table)
{
    struct walk w = {.cut = SIZE_MAX};
    for (size_t i = 0; i < table->entry_count; i++) {
        const struct otp_time_entry *e = &table->entries[i];
        enum admission admission = admit_entry(&w, &room, e);
        if (admission == LEFT_OUT) {
            count_loss(t, OTP_COUNT_WORKER_MEMORY, table->of,
                       table->of == OTP_OF_CPU ? e->count : 1);
        } else if (admission == WITHOUT_TAG && e->tag != OTP_TAGS_NONE && !e->is_link_lost) {
            count_loss(t, OTP_COUNT_LINKS, table->of, 1);
        }
    }
}

/* Tells those entries of a table that there is room for. */
static enum otp_status tell_entries(struct otp_tell *t, struct otp_tell_room *room,
                                    const struct otp_timetable *table)
{
    struct walk w = {.cut = SIZE_MAX};
    for (size_t i = 0; i < table->entry_count; i++) {
        const struct otp_time_entry *e = &table->entries[i];
        enum admission admission = admit_entry(&w, room, e);
        if (admission == LEFT_OUT) {
            continue;
        }
        uint32_t ids[OTP_TELLER_ATTRS_MAX];
        uint32_t tag = admission == WITH_TAG ? e->tag : OTP_TAGS_NONE;
        int64_t values[4] = {(int64_t)e->count, (int64_t)e->cpu_ns, 0, 0};
        struct otp_visit_sample sample = {.values = values,
                                          .timestamp_ns = time_within(t, e->time_ns)};
        OTP_TRY(
            otp_teller_stack(t->teller, otp_timetable_frames(table, e), e->depth, &sample.stack));
        OTP_TRY(otp_teller_knowledge(t->teller, e->context, tag, ids, &sample));
        OTP_TRY(t->visitor->sample(t->visitor, &sample));
    }
    return OTP_OK;
}

enum otp_status otp_tell_time(struct otp_tell *t, const struct otp_paced *paced)
{
    const struct otp_timetable *times = &paced->table;
    struct otp_attr attrs[MAX_ATTRS];
    char names[OTP_COUNT_END][NAME_BYTES];
    count_left_out(t, t->time_room, times);
    size_t attr_count = losses(OTP_OF_CPU, attrs, names);
    attr_count += engine_attrs(paced, attrs + attr_count);
    const struct otp_value_type types[] = {value_type("samples", "count"),
                                           value_type("cpu", "nanoseconds")};
    struct otp_visit_profile profile = {
        .types = types,
        .type_count = OTP_ARRAY_LEN(types),
        .period_type = value_type("cpu", "nanoseconds"),
        .period = (int64_t)paced->period_ns,
        .time_unix_ns = t->time_ns,
        .duration_ns = t->duration_ns,
        .attrs = attrs,
        .attr_count = attr_count,
        .dropped_attributes = clamp_u32(times->dropped_attrs),
    };
    OTP_TRY(t->visitor->begin_profile(t->visitor, &profile));
    OTP_TRY(tell_entries(t, &t->time_room, times));
    return t->visitor->end_profile(t->visitor);
}

/* What is not kept of a tag is counted, attributes also in *dropped_attrs. */
static void count_dropped(const struct otp_tags_result *r, enum otp_loss_of of,
                          uint64_t *dropped_attrs)
{
    if (r->dropped_attrs > 0) {
        *dropped_attrs += r->dropped_attrs;
        otp_count(OTP_COUNT_LABELS, of, r->dropped_attrs);
    }
    if (r->is_dropped) {
        otp_count(OTP_COUNT_LINKS, of, 1);
    }
}

uint32_t otp_tell_tag(struct otp_tags *tags, const void *tag, size_t len, enum otp_loss_of of,
                      bool is_link_lost, uint64_t *dropped_attrs)
{
    struct otp_tags_result r = {0};
    if (len > 0) {
        r = otp_tags_add(tags, tag, len, false);
        r.is_dropped = r.is_dropped && !is_link_lost;
        count_dropped(&r, of, dropped_attrs);
    }
    return r.number;
}

/* One account's four sums as of one moment. */
struct sums {
    uint64_t freed_bytes;
    uint64_t freed_objects;
    uint64_t bytes;
    uint64_t objects;
};

/*
 * Freed first: see I2 of the ledger. Frees that are booked between the first and the last look
 * would make blocks look live that are not (milliseconds of them, when this thread has to wait in
 * between), so it looks again; after some tries the difference is a few blocks that just move.
 */
static void read_sums(const struct otp_account *a, struct sums *s)
{
    for (int tries = 0; tries < 16; tries++) {
        s->freed_bytes = otp_load_acquire(&a->freed_bytes); /* pairs: LEDGER-SUMS */
        s->freed_objects = otp_load_acquire(&a->freed_objects);
        s->bytes = otp_load_acquire(&a->alloc_bytes); /* pairs: LEDGER-SUMS */
        s->objects = otp_load_acquire(&a->alloc_objects);
        if (otp_load_relaxed(&a->freed_bytes) == s->freed_bytes &&
            otp_load_relaxed(&a->freed_objects) == s->freed_objects) {
            return;
        }
    }
}

/* a - b; 0 when one that belongs to both has been added to b only so far. */
static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* One sample of an account, if it says anything. */
static void tell_values(struct otp_tell *t, const struct otp_account *a, const int64_t values[4],
                        uint64_t timestamp_ns)
{
    if ((values[0] | values[1] | values[2] | values[3]) == 0 || t->status != OTP_OK) {
        return;
    }
    uint32_t ids[OTP_TELLER_ATTRS_MAX];
    struct otp_visit_sample sample = {.values = values, .timestamp_ns = timestamp_ns};
    t->status = otp_teller_stack(t->teller, a->stack->frames, a->stack->depth, &sample.stack);
    if (t->status == OTP_OK) {
        uint32_t tag = a->is_admitted != 0 ? a->tag_number : OTP_TAGS_NONE;
        t->status = otp_teller_knowledge(t->teller, a->context, tag, ids, &sample);
    }
    if (t->status == OTP_OK) {
        t->status = t->visitor->sample(t->visitor, &sample);
    }
}

/* What was allocated since the last flush and not told by itself. */
static void made_since(const struct otp_account *a, const struct sums *now, int64_t made[4])
{
    made[0] = (int64_t)less(now->objects, otp_load_relaxed(&a->told_objects));
    made[1] = (int64_t)less(now->bytes, otp_load_relaxed(&a->told_bytes));
}

/* What attributes are dropped must be known before the first sample is told. */
static void number_tag(struct otp_account *a, struct otp_tell *t)
{
    a->tag_number = OTP_LEDGER_NOT_NUMBERED;
    a->due_objects = 0;
    a->due_bytes = 0;
    struct sums now = {0};
    int64_t made[4] = {0};
    read_sums(a, &now);
    made_since(a, &now, made);
    bool is_live = now.objects != now.freed_objects || now.bytes != now.freed_bytes;
    if (!is_live && (made[0] | made[1]) == 0) {
        return; /* it has nothing to say */
    }
    a->tag_number = OTP_TAGS_NONE;
    if (a->tag_bytes == 0) {
        return;
    }
    struct otp_tags_result r = otp_tags_add(t->tags, a->frames, a->tag_bytes, is_live);
    if (r.number != OTP_TAGS_NONE && !otp_tags_use(t->tags, is_live)) {
        r.dropped_attrs += otp_tags_get(t->tags, r.number)->attr_count;
        r.is_dropped = true;
        r.number = OTP_TAGS_NONE;
    }
    count_dropped(&r, OTP_OF_HEAP, &t->tag_dropped_attrs);
    a->tag_number = r.number;
}

static void forget_admission(struct otp_account *a, void *arg)
{
    (void)arg;
    a->is_admitted = 0;
}

static void admit_stack(struct otp_account *a, void *arg)
{
    struct otp_tell *t = arg;
    if (a->tag_number == OTP_LEDGER_NOT_NUMBERED || a->stack->is_admitted != 0) {
        return;
    }
    if (take_room(&t->heap_room, STACK_COST + (size_t)a->stack->depth * FRAME_COST + SAMPLE_COST)) {
        a->stack->is_admitted = 1;
    } else {
        count_loss(t, OTP_COUNT_WORKER_MEMORY, OTP_OF_HEAP, 1);
    }
}

/* Without room for its tag an account goes to the sums of its stack. */
static void admit_tag(struct otp_account *a, void *arg)
{
    struct otp_tell *t = arg;
    if (a->tag_number == OTP_LEDGER_NOT_NUMBERED || a->tag_number == OTP_TAGS_NONE ||
        a->stack->is_admitted == 0) {
        return;
    }
    if (take_room(&t->heap_room, SAMPLE_COST + TAG_COST)) {
        a->is_admitted = 1;
    } else {
        count_loss(t, OTP_COUNT_LINKS, OTP_OF_HEAP, 1);
    }
}

/* Once more, for another visit. Stacks come first: with them sums are right. */
static void admit_again(struct otp_tell *t)
{
    otp_ledger_each(forget_admission, t);
    otp_ledger_each_tagged(forget_admission, t);
    otp_ledger_each(admit_stack, t);
    otp_ledger_each_tagged(admit_stack, t);
    otp_ledger_each_tagged(admit_tag, t);
}

static void begin_account(struct otp_account *a, void *arg)
{
    number_tag(a, arg);
    forget_admission(a, arg);
    admit_stack(a, arg);
    admit_tag(a, arg);
}

/* Accounts of stacks before those with tags, as admission wants it. */
void otp_tell_begin(struct otp_tell *t)
{
    t->time_room = room_of(SIZE_MAX);
    t->heap_room = room_of(SIZE_MAX);
    otp_ledger_each(begin_account, t);
    otp_ledger_each_tagged(begin_account, t);
}

static void note_told(struct otp_account *a, void *arg)
{
    (void)arg;
    otp_ledger_told(a, a->due_objects, a->due_bytes);
}

void otp_tell_done(struct otp_tell *t)
{
    otp_ledger_each(note_told, t);
    otp_ledger_each_tagged(note_told, t);
}

static void note_due(struct otp_account *a, const int64_t made[4])
{
    a->due_objects = (uint64_t)made[0];
    a->due_bytes = (uint64_t)made[1];
}

/*
 * What was allocated, and what is live, whatever interval it was sampled at. With timestamps the
 * former is what found no room on its way; it happened some time before the end of the flush, and
 * that is said.
 */
static void tell_account(struct otp_account *a, void *arg)
{
    struct otp_tell *t = arg;
    if (a->tag_number == OTP_LEDGER_NOT_NUMBERED) {
        return; /* it has begun to say something since: in the next flush */
    }
    struct sums now = {0};
    read_sums(a, &now);
    int64_t made[4] = {0};
    int64_t live[4] = {0, 0, (int64_t)less(now.objects, now.freed_objects),
                       (int64_t)less(now.bytes, now.freed_bytes)};
    if (a->interval == t->interval) {
        made_since(a, &now, made);
        note_due(a, made);
    }
    if (a->stack->is_admitted == 0) {
        return;
    }
    if (otp_settings.has_timestamps) {
        tell_values(t, a, made, t->time_ns + t->duration_ns - 1);
    } else {
        live[0] = made[0];
        live[1] = made[1];
    }
    tell_values(t, a, live, 0);
}

/* What was allocated and sampled at an earlier interval. */
static void tell_earlier_account(struct otp_account *a, void *arg)
{
    struct otp_tell *t = arg;
    if (a->interval == t->interval && a->tag_number != OTP_LEDGER_NOT_NUMBERED) {
        struct sums now = {0};
        int64_t made[4] = {0};
        read_sums(a, &now);
        made_since(a, &now, made);
        note_due(a, made);
        if (a->stack->is_admitted != 0) {
            tell_values(t, a, made,
                        otp_settings.has_timestamps ? t->time_ns + t->duration_ns - 1 : 0);
        }
    }
}

void otp_tell_last(const struct otp_account *a, struct otp_tags *tags, struct otp_timetable *allocs)
{
    struct otp_time_sample s = {
        .frames = a->stack->frames,
        .depth = a->stack->depth,
        .context = a->context,
        .count = less(otp_load_relaxed(&a->alloc_objects), otp_load_relaxed(&a->told_objects)),
        .cpu_ns = less(otp_load_relaxed(&a->alloc_bytes), otp_load_relaxed(&a->told_bytes)),
        .time_ns = otp_settings.has_timestamps ? otp_sys_realtime_ns() : 0,
    };
    if ((s.count | s.cpu_ns) == 0) {
        return;
    }
    s.tag = otp_tell_tag(tags, a->frames, a->tag_bytes, OTP_OF_HEAP, false, &allocs->dropped_attrs);
    if (!otp_timetable_add(allocs, &s)) {
        otp_count(OTP_COUNT_WORKER_MEMORY, OTP_OF_HEAP, 1);
    }
}

/* The profile of one interval: allocations, and in that of now (is_now) what is live. */
static enum otp_status tell_interval(struct otp_tell *t, const struct otp_timetable *allocs,
                                     bool is_now)
{
    struct otp_attr attrs[MAX_ATTRS];
    char names[OTP_COUNT_END][NAME_BYTES];
    count_left_out(t, t->heap_room, allocs);
    const struct otp_value_type types[] = {
        value_type("alloc_objects", "count"), value_type("alloc_space", "bytes"),
        value_type("inuse_objects", "count"), value_type("inuse_space", "bytes")};
    struct otp_visit_profile profile = {
        .types = types,
        .type_count = is_now ? OTP_ARRAY_LEN(types) : 2,
        .period_type = value_type("space", "bytes"),
        .period = (int64_t)otp_alloc_intervals[t->interval],
        .time_unix_ns = t->time_ns,
        .duration_ns = t->duration_ns,
        .attrs = attrs,
        .attr_count = losses(OTP_OF_HEAP, attrs, names),
        .dropped_attributes = clamp_u32(t->dropped_attrs),
    };
    OTP_TRY(t->visitor->begin_profile(t->visitor, &profile));
    OTP_TRY(tell_entries(t, &t->heap_room, allocs));
    t->status = OTP_OK;
    otp_ledger_each(is_now ? tell_account : tell_earlier_account, t);
    otp_ledger_each_tagged(is_now ? tell_account : tell_earlier_account, t);
    OTP_TRY(t->status);
    return t->visitor->end_profile(t->visitor);
}

enum otp_status otp_tell_heap(struct otp_tell *t, const struct otp_timetable *allocs)
{
    t->interval = otp_load_relaxed(&otp_alloc_interval);
    t->dropped_attrs = allocs->dropped_attrs + t->tag_dropped_attrs;
    if (t->heap_room.allowed != SIZE_MAX) {
        /* Half of the room is for the entries of allocs, if there are any. */
        size_t kept = allocs->entry_count == 0 ? 0 : t->heap_room.left / 2;
        t->heap_room.left -= kept;
        admit_again(t);
        t->heap_room.left += kept;
    }
    return tell_interval(t, allocs, true);
}

enum otp_status otp_tell_heap_at(struct otp_tell *t, const struct otp_timetable *allocs,
                                 uint32_t interval)
{
    t->interval = interval;
    t->dropped_attrs = allocs->dropped_attrs;
    return tell_interval(t, allocs, false);
}
