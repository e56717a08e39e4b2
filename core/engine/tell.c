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

enum otp_status otp_tell_time(struct otp_tell *t, const struct otp_paced *paced)
{
    const struct otp_timetable *times = &paced->table;
    struct otp_attr attrs[MAX_ATTRS];
    char names[OTP_COUNT_END][NAME_BYTES];
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
    for (size_t i = 0; i < times->entry_count; i++) {
        const struct otp_time_entry *e = &times->entries[i];
        uint32_t ids[OTP_TELLER_ATTRS_MAX];
        int64_t values[2] = {(int64_t)e->count, (int64_t)e->cpu_ns};
        struct otp_visit_sample sample = {.values = values,
                                          .timestamp_ns = time_within(t, e->time_ns)};
        OTP_TRY(
            otp_teller_stack(t->teller, otp_timetable_frames(times, e), e->depth, &sample.stack));
        OTP_TRY(otp_teller_knowledge(t->teller, e->context, e->tag, ids, &sample));
        OTP_TRY(t->visitor->sample(t->visitor, &sample));
    }
    return t->visitor->end_profile(t->visitor);
}

uint32_t otp_tell_tag(struct otp_tags *tags, const void *tag, size_t len, enum otp_loss_of of,
                      uint64_t *dropped_attrs)
{
    if (len == 0) {
        return OTP_TAGS_NONE;
    }
    struct otp_tags_result r = otp_tags_add(tags, tag, len);
    if (r.dropped_attrs > 0) {
        *dropped_attrs += r.dropped_attrs;
        otp_count(OTP_COUNT_LABELS, of, r.dropped_attrs);
    }
    if (r.is_dropped) {
        otp_count(OTP_COUNT_LINKS, of, 1);
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
        t->status = otp_teller_knowledge(t->teller, a->context, a->tag_number, ids, &sample);
    }
    if (t->status == OTP_OK) {
        t->status = t->visitor->sample(t->visitor, &sample);
    }
}

/* What was allocated since the last flush and not told by itself. */
static void made_since(const struct otp_account *a, const struct sums *now, int64_t made[4])
{
    uint64_t objects = less(now->objects, otp_load_relaxed(&a->timed_objects));
    uint64_t bytes = less(now->bytes, otp_load_relaxed(&a->timed_bytes));
    made[0] = (int64_t)less(objects, a->seen_objects);
    made[1] = (int64_t)less(bytes, a->seen_bytes);
}

static bool is_silent(const struct otp_account *a)
{
    struct sums now = {0};
    int64_t made[4] = {0};
    read_sums(a, &now);
    made_since(a, &now, made);
    return (made[0] | made[1]) == 0 && now.objects == now.freed_objects &&
           now.bytes == now.freed_bytes;
}

/* What attributes are dropped must be known before the first sample is told. */
static void number_tag(struct otp_account *a, void *arg)
{
    struct otp_tell *t = arg;
    a->tag_number = OTP_LEDGER_NOT_NUMBERED;
    if (!is_silent(a)) {
        a->tag_number =
            otp_tags_use(t->tags, OTP_OF_HEAP)
                ? otp_tell_tag(t->tags, a->frames, a->tag_bytes, OTP_OF_HEAP, &t->dropped_attrs)
                : OTP_TAGS_NONE;
    }
}

static void note_told(struct otp_tell *t, struct otp_account *a, const int64_t made[4])
{
    if (t->status == OTP_OK) {
        a->seen_objects += (uint64_t)made[0];
        a->seen_bytes += (uint64_t)made[1];
    }
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
    }
    if (otp_settings.has_timestamps) {
        tell_values(t, a, made, t->time_ns + t->duration_ns - 1);
    } else {
        live[0] = made[0];
        live[1] = made[1];
    }
    tell_values(t, a, live, 0);
    note_told(t, a, made);
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
        tell_values(t, a, made, otp_settings.has_timestamps ? t->time_ns + t->duration_ns - 1 : 0);
        note_told(t, a, made);
    }
}

void otp_tell_last(const struct otp_account *a, struct otp_tags *tags, struct otp_timetable *allocs)
{
    struct otp_time_sample s = {
        .frames = a->stack->frames,
        .depth = a->stack->depth,
        .context = a->context,
        .count = less(otp_load_relaxed(&a->alloc_objects),
                      otp_load_relaxed(&a->timed_objects) + a->seen_objects),
        .cpu_ns = less(otp_load_relaxed(&a->alloc_bytes),
                       otp_load_relaxed(&a->timed_bytes) + a->seen_bytes),
        .time_ns = otp_settings.has_timestamps ? otp_sys_realtime_ns() : 0,
    };
    if ((s.count | s.cpu_ns) == 0) {
        return;
    }
    s.tag = otp_tell_tag(tags, a->frames, a->tag_bytes, OTP_OF_HEAP, &allocs->dropped_attrs);
    if (!otp_timetable_add(allocs, &s)) {
        otp_count(OTP_COUNT_WORKER_MEMORY, OTP_OF_HEAP, 1);
    }
}

static enum otp_status tell_observations(struct otp_tell *t, const struct otp_timetable *allocs)
{
    for (size_t i = 0; i < allocs->entry_count; i++) {
        const struct otp_time_entry *e = &allocs->entries[i];
        int64_t values[4] = {(int64_t)e->count, (int64_t)e->cpu_ns, 0, 0};
        uint32_t ids[OTP_TELLER_ATTRS_MAX];
        struct otp_visit_sample sample = {.values = values,
                                          .timestamp_ns = time_within(t, e->time_ns)};
        OTP_TRY(
            otp_teller_stack(t->teller, otp_timetable_frames(allocs, e), e->depth, &sample.stack));
        OTP_TRY(otp_teller_knowledge(t->teller, e->context, e->tag, ids, &sample));
        OTP_TRY(t->visitor->sample(t->visitor, &sample));
    }
    return OTP_OK;
}

/* The profile of one interval: allocations, and in that of now (is_now) what is live. */
static enum otp_status tell_interval(struct otp_tell *t, const struct otp_timetable *allocs,
                                     bool is_now)
{
    struct otp_attr attrs[MAX_ATTRS];
    char names[OTP_COUNT_END][NAME_BYTES];
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
    OTP_TRY(tell_observations(t, allocs));
    t->status = OTP_OK;
    otp_ledger_each(is_now ? tell_account : tell_earlier_account, t);
    otp_ledger_each_tagged(is_now ? tell_account : tell_earlier_account, t);
    OTP_TRY(t->status);
    return t->visitor->end_profile(t->visitor);
}

enum otp_status otp_tell_heap(struct otp_tell *t, const struct otp_timetable *allocs)
{
    t->interval = otp_load_relaxed(&otp_alloc_interval);
    t->dropped_attrs = allocs->dropped_attrs;
    otp_ledger_each_tagged(number_tag, t);
    return tell_interval(t, allocs, true);
}

enum otp_status otp_tell_heap_at(struct otp_tell *t, const struct otp_timetable *allocs,
                                 uint32_t interval)
{
    t->interval = interval;
    t->dropped_attrs = allocs->dropped_attrs;
    return tell_interval(t, allocs, false);
}
