/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/pipeline.h"

#include <fcntl.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/buf.h"
#include "core/base/counters.h"
#include "core/base/fmt.h"
#include "core/base/sys.h"
#include "core/base/version.h"
#include "core/capture/alloc.h"
#include "core/capture/arrears.h"
#include "core/capture/capture.h"
#include "core/capture/ids.h"
#include "core/capture/names.h"
#include "core/capture/perf.h"
#include "core/capture/scan.h"
#include "core/capture/signals.h"
#include "core/capture/slot.h"
#include "core/capture/snapshot.h"
#include "core/capture/thread.h"
#include "core/engine/builders.h"
#include "core/engine/code.h"
#include "core/engine/creds.h"
#include "core/engine/outputs.h"
#include "core/engine/rates.h"
#include "core/engine/state.h"
#include "core/engine/teller.h"
#include "core/engine/tell.h"
#include "core/engine/trouble.h"
#include "core/intern/modules.h"
#include "core/intern/tags.h"
#include "core/intern/timetable.h"
#include "core/ledger/ledger.h"
#include "core/resource/process_context.h"
#include "core/resource/resource.h"
#include "core/resource/thread_keys.h"

#define MESSAGE_MAX ((size_t)64 << 20)
/* What a sample with a span and labels costs on its way through a flush, in all, with reserves. */
#define TAG_SHARE_BYTES 512
#define PERIODS_MAX 8 /* in one flush */
/* With less and less in them, before the tables are given up for the message. */
#define VISITS_MAX 4
/* Below such a share tables of symbols may take three eighths of it and leave the rest for the
 * message: with more they find room as they come. */
#define NAMES_APART_BYTES ((size_t)2 << 20)
#define MAX_RESOURCE_ATTRS OTP_RESOURCE_ATTRS_MAX

static struct otp_heap heap;       /* everything that outlives a flush */
static struct otp_heap name_heap;  /* tables of symbols, where memory is short */
static struct otp_heap flush_heap; /* builders and their ids; emptied when it has grown large */
/* CPU samples by the period that they were taken with, so that each profile states a true one. */
static struct otp_paced times[PERIODS_MAX];
static size_t time_count; /* of them in use since the last flush */
/* Allocations one by one, by interval; empty unless they carry times. */
static struct otp_timetable allocs[OTP_INTERVALS_MAX];
static struct otp_timetable_budget table_budget; /* of both */
static struct otp_tags tags;                     /* of both */
static struct otp_modules modules;
static struct otp_teller teller;
static struct otp_resource resource;
static uint64_t range_start_ns; /* the next flush covers time from here */
static uint64_t flush_number;
static size_t first_bytes; /* of the builders' heap after their first flush; 0: there was none */
static struct otp_trouble lost; /* flushes that came to nothing */
static uint64_t cpu_samples;    /* since the process began */

/* A setting that is not used as it was given: said once, however often the resource is made. */
static void report(void *arg, const char *line, size_t len)
{
    static bool is_said;
    (void)arg;
    if (!is_said) {
        otp_engine_log(OTP_LOG_ERROR, line, len);
    }
    is_said = true;
}

static bool open_builders(unsigned formats)
{
    static struct otp_attr attrs[MAX_RESOURCE_ATTRS];
    for (size_t i = 0; i < resource.count; i++) {
        const struct otp_resource_attr *r = &resource.attrs[i];
        attrs[i] = (struct otp_attr){.key = r->key,
                                     .kind = r->is_int ? OTP_ATTR_INT : OTP_ATTR_STRING,
                                     .string = r->text,
                                     .number = r->number};
    }
    const struct otp_builders_options options = {
        .formats = formats,
        .resource_attrs = attrs,
        .resource_attr_count = resource.count,
        .has_timestamps = otp_engine.conf.timestamps,
    };
    if (!otp_builders_open(&flush_heap, &options)) {
        return false;
    }
    otp_teller_init(&teller, &flush_heap, otp_builders_visitor(), &modules, &tags);
    first_bytes = 0;
    return true;
}

/* Ids and names told so far are given up: the tables begin anew with the next flush. */
static void close_builders(void)
{
    otp_builders_close();
    otp_heap_reset(&flush_heap);
}

/*
 * What was told is kept for the flushes to come, as long as it is mostly what they need: each has
 * code addresses and stacks that none before it had, and their names would add up.
 */
static void limit_builders(void)
{
    size_t bytes = flush_heap.mapped_bytes;
    if (!otp_builders_are_open()) {
        return;
    }
    first_bytes = first_bytes == 0 ? bytes : first_bytes;
    if (bytes > flush_heap.limit_bytes / 2 || bytes > first_bytes * 2) {
        close_builders();
    }
}

static void detect_resource(void)
{
    const struct otp_conf *conf = &otp_engine.conf;
    struct otp_resource_input input = {
        .service_name = conf->service_name,
        .attributes = conf->resource_attributes,
        .version = otp_text_of(OTP_VERSION),
        .program = otp_text_make(otp_engine.program, otp_engine.program_len),
    };
    otp_resource_detect(&resource, &input, report, NULL);
}

/* An SDK of the program may publish its context at any time; from then on its attributes count. */
static void follow_context(void)
{
    if (!resource.has_context && otp_process_context_exists()) {
        detect_resource();
        close_builders();
        otp_modules_fini(&modules);
    }
}

static void publish_context(void)
{
    if (!otp_engine.conf.publish_context || resource.has_context) {
        return;
    }
    resource.has_context = otp_process_context_publish(&resource);
    if (!resource.has_context) {
        static const char text[] = "the process context cannot be published";
        otp_engine_log(OTP_LOG_WARN, text, sizeof(text) - 1);
    }
}

bool otp_pipeline_open(void)
{
    const struct otp_conf *conf = &otp_engine.conf;
    size_t share = (size_t)conf->memory_limit_bytes / 4;
    /* In a fork child the parent's pages are not there: forgotten, not given back. */
    size_t for_names = share < NAMES_APART_BYTES ? share * 3 / 8 : 0;
    otp_heap_init(&heap, share - for_names);
    otp_heap_init(&name_heap, for_names);
    otp_heap_init(&flush_heap, share);
    table_budget = (struct otp_timetable_budget){.max_bytes = heap.limit_bytes / 2};
    for (size_t i = 0; i < PERIODS_MAX; i++) {
        otp_timetable_init(&times[i].table, &heap, &table_budget, &tags, OTP_OF_CPU);
    }
    for (size_t i = 0; i < OTP_INTERVALS_MAX; i++) {
        otp_timetable_init(&allocs[i], &heap, &table_budget, &tags, OTP_OF_HEAP);
    }
    time_count = 0;
    otp_tags_init(&tags, &heap, otp_thread_keys_name, NULL);
    tags.max_values = conf->max_labels;
    tags.max_uses = (uint32_t)(share / TAG_SHARE_BYTES);
    tags.max_entries = tags.max_uses;
    otp_modules_init(&modules, for_names > 0 ? &name_heap : &heap);
    otp_builders_forget();
    range_start_ns = otp_engine.start_ns;
    flush_number = 0;
    lost = (struct otp_trouble){0};
    cpu_samples = 0;
    otp_code_forget();
    detect_resource();
    publish_context();
    otp_outputs_open(&heap);
    /* Each builder keeps its own idea of a sample. */
    unsigned builders = (unsigned)__builtin_popcount(otp_outputs_formats());
    tags.max_uses /= builders > 1 ? builders : 1;
    return true;
}

/* The table of what was sampled with that period. */
static struct otp_timetable *times_of(uint64_t period_ns)
{
    size_t i = 0;
    while (i < time_count && times[i].period_ns != period_ns) {
        i++;
    }
    if (i == PERIODS_MAX) {
        return &times[0].table; /* a flush comes before so many: see otp_pipeline_can_change */
    }
    if (i == time_count) {
        times[i].period_ns = period_ns;
        times[i].is_perf = false;
        time_count++;
    }
    if (otp_settings.is_perf_used && period_ns == otp_load_relaxed(&otp_settings.cpu_period_ns)) {
        times[i].is_perf = true;
    }
    return &times[i].table;
}

bool otp_pipeline_can_change(void)
{
    return time_count + 2 < PERIODS_MAX; /* late samples may still bring one more */
}

/* What is in no executable mapping is no frame: the stack ends before it, and is incomplete. */
static uint32_t true_depth(const struct otp_record *rec, enum otp_loss_of of)
{
    uint32_t depth = otp_code_depth(&heap, rec->frames, rec->depth);
    if (OTP_UNLIKELY(depth < rec->depth && rec->is_cut == 0)) {
        otp_count(OTP_COUNT_UNWIND_CUT, of, 1);
    }
    return depth;
}

static void drain_ring(struct otp_ring *r)
{
    const struct otp_record *rec;
    while ((rec = otp_ring_peek(r)) != NULL) {
        struct otp_time_sample s = {
            .frames = rec->frames,
            .context = rec->context,
            .count = rec->count,
            .cpu_ns = rec->cpu_ns,
            .time_ns = rec->time_ns,
            .is_link_lost = rec->is_link_lost != 0,
        };
        bool is_alloc = rec->type == OTP_RECORD_ALLOC;
        struct otp_timetable *table =
            is_alloc ? &allocs[rec->count % OTP_INTERVALS_MAX] : times_of(rec->cpu_ns / rec->count);
        if (is_alloc) {
            s.count = rec->cpu_ns;
            s.cpu_ns = rec->bytes;
        }
        s.depth = true_depth(rec, table->of);
        cpu_samples += is_alloc ? 0 : 1;
        s.tag = otp_tell_tag(&tags, rec->frames + rec->depth, (size_t)rec->tag_words * 8, table->of,
                             s.is_link_lost, &table->dropped_attrs);
        if (!otp_timetable_add(table, &s)) {
            otp_count(OTP_COUNT_WORKER_MEMORY, table->of, is_alloc ? 1 : rec->count);
        }
        otp_ring_pop(r);
    }
}

static void take_last(struct otp_account *a, void *arg)
{
    (void)arg;
    otp_tell_last(a, &tags, &allocs[a->interval]);
}

/*
 * Accounts of spans that are over are taken back: once a second what nobody has used for a second,
 * and all when they take up half of what they may. Between the two halves of it every thread has to
 * be seen outside capture, which may take until the next look.
 */
static void collect(bool is_second)
{
    static bool is_waiting;
    if (is_waiting && otp_quiet_is_over()) {
        otp_ledger_reclaim(take_last, NULL);
        is_waiting = false;
    }
    bool is_pressed =
        otp_ledger_tagged_bytes() > otp_engine.conf.memory_limit_bytes / OTP_ENGINE_TAG_PART / 2;
    if (!is_waiting && (is_second || is_pressed)) {
        is_waiting = otp_ledger_unlink_idle(is_pressed) > 0;
        otp_quiet_begin();
    }
}

static bool has_records(const struct otp_thread *t)
{
    const struct otp_ring *r = otp_load_acquire(&t->ring); /* pairs: RING-BIRTH */
    return r != NULL && otp_ring_used(r) > 0;
}

void otp_pipeline_drain(void)
{
    collect(false);
    otp_code_begin();
    for (uint32_t n = 0;; n++) {
        struct otp_thread *t = otp_thread_get(n);
        if (t == NULL) {
            return;
        }
        uint32_t state = otp_load_acquire(&t->state);
        if (state == OTP_THREAD_FREE) {
            continue;
        }
        otp_perf_close_of_waiter(t);
        if (has_records(t)) {
            otp_names_refresh(t);
            drain_ring(t->ring);
        } else if (otp_names_is_gone(t) && !has_records(t)) { /* nor any that came last of all */
            otp_perf_close(t);
            otp_cost_retire(t);
            otp_thread_recycle(t);
        }
    }
}

static void add_arrears(const struct otp_arrears *a, void *arg)
{
    (void)arg;
    struct otp_time_sample s = {
        .frames = &a->frame,
        .depth = 1,
        .context = a->context,
        .count = a->count,
        .cpu_ns = a->count * a->period_ns,
        .time_ns = otp_settings.has_timestamps ? otp_sys_realtime_ns() : 0,
    };
    if (!otp_timetable_add(times_of(a->period_ns), &s)) {
        otp_count(OTP_COUNT_WORKER_MEMORY, OTP_OF_CPU, a->count);
    }
}

static void log_lost(enum otp_status status)
{
    uint64_t before;
    uint64_t kind = otp_trouble_kind("flush", (uint64_t)status);
    otp_count(OTP_COUNT_WORKER_MEMORY, OTP_OF_BOTH, 1);
    if (!otp_trouble_comes(&lost, kind, otp_sys_monotonic_ns(), &before)) {
        return;
    }
    struct otp_line line = {0};
    otp_line_str(&line, "a flush was lost: ");
    otp_line_str(&line, otp_status_text(status));
    if (before > 0) {
        otp_line_str(&line, "; lost before: ");
        otp_line_u64(&line, before);
    }
    otp_engine_log(OTP_LOG_ERROR, line.text, line.len);
}

static void log_found(void)
{
    uint64_t count;
    if (otp_trouble_ends(&lost, &count)) {
        struct otp_line line = {0};
        otp_line_str(&line, "flushes come out again; lost: ");
        otp_line_u64(&line, count);
        otp_engine_log(OTP_LOG_WARN, line.text, line.len);
    }
}

/* First the profiles of the rates of now, whose ids are known, then those of earlier ones. */
static enum otp_status flush_visit(struct otp_tell *tell)
{
    uint64_t period = otp_load_relaxed(&otp_settings.cpu_period_ns);
    const struct otp_paced none = {.period_ns = period};
    uint32_t interval = otp_load_relaxed(&otp_alloc_interval);
    const struct otp_paced *now = &none;
    for (size_t i = 0; i < time_count; i++) {
        now = times[i].period_ns == period ? &times[i] : now;
    }
    OTP_TRY(otp_tell_time(tell, now));
    OTP_TRY(otp_tell_heap(tell, &allocs[interval]));
    for (size_t i = 0; i < time_count; i++) {
        if (times[i].period_ns != period) {
            OTP_TRY(otp_tell_time(tell, &times[i]));
        }
    }
    for (uint32_t i = 0; i < otp_alloc_interval_count(); i++) {
        if (i != interval) {
            OTP_TRY(otp_tell_heap_at(tell, &allocs[i], i));
        }
    }
    return OTP_OK;
}

/* For receivers with a limit: each profile as a message of its own. */
static enum otp_status flush_parts(size_t whole_len)
{
    enum otp_status status = OTP_OK;
    for (size_t number = 1; status == OTP_OK; number++) {
        struct otp_buf part;
        otp_buf_init(&part, &heap, MESSAGE_MAX);
        status = otp_builders_finish_part(number, &part);
        if (status == OTP_OK) {
            const struct otp_message m = {
                .data = part.data, .len = part.len, .flush = flush_number};
            otp_outputs_put_part(&m, whole_len);
        }
        otp_buf_fini(&part);
    }
    return status == OTP_NOT_FOUND ? OTP_OK : status;
}

static void clear_tables(void)
{
    for (size_t i = 0; i < time_count; i++) {
        otp_timetable_clear(&times[i].table);
    }
    for (size_t i = 0; i < OTP_INTERVALS_MAX; i++) {
        otp_timetable_clear(&allocs[i]);
    }
    time_count = 0;
}

/* What was to be told is with the builders, or will not be told. */
static void give_back_tables(void)
{
    for (size_t i = 0; i < PERIODS_MAX; i++) {
        otp_timetable_fini(&times[i].table);
    }
    for (size_t i = 0; i < OTP_INTERVALS_MAX; i++) {
        otp_timetable_fini(&allocs[i]);
    }
}

/* How far a flush has come. */
struct progress {
    enum otp_status status; /* of the last visit and its messages */
    unsigned visits;        /* before the last one */
    bool is_visited;        /* it was not the visit that failed */
    bool is_short;          /* a message was made that there is no memory to pack for an output */
    bool has_written;       /* a message was made */
};

/* Gives one format's message to its outputs. */
static enum otp_status flush_format(enum otp_format format, struct progress *p)
{
    struct otp_buf out;
    otp_buf_init(&out, &heap, MESSAGE_MAX);
    enum otp_status status = otp_builders_finish(format, &out);
    size_t len = out.len;
    bool is_made = status == OTP_OK;
    if (is_made) {
        const struct otp_message m = {.data = out.data, .len = len, .flush = flush_number};
        p->is_short = !otp_outputs_put(format, &m) || p->is_short;
        p->has_written = true;
    }
    otp_buf_fini(&out);
    if (is_made && otp_outputs_want_parts(format, len)) {
        status = flush_parts(len);
    }
    return status == OTP_NOT_FOUND ? OTP_OK : status;
}

/* One visit and the messages of it, for the outputs that have none yet. A format that failed does
 * not keep the others from theirs. */
static void flush_once(struct otp_tell *tell, struct progress *p)
{
    static const enum otp_format formats[] = {OTP_FORMAT_OTLP, OTP_FORMAT_PPROF,
                                              OTP_FORMAT_OTEP239};
    p->is_short = false;
    p->status = flush_visit(tell);
    p->is_visited = p->status == OTP_OK;
    if (!p->is_visited) {
        return;
    }
    if (p->visits == VISITS_MAX) {
        give_back_tables();
    }
    for (size_t i = 0; i < OTP_ARRAY_LEN(formats); i++) {
        enum otp_status status = flush_format(formats[i], p);
        p->status = status != OTP_OK ? status : p->status;
    }
}

/* Whether there can be another visit with less in it, and everything is ready for that. */
static bool can_be_less(struct otp_tell *tell, struct progress *p)
{
    bool has_tables = p->visits < VISITS_MAX || !p->is_visited;
    bool is_too_much = p->is_short || p->status == OTP_NO_MEMORY || p->status == OTP_TOO_LARGE;
    if (!is_too_much || !has_tables || otp_outputs_waiting() == 0 || !otp_tell_less(tell) ||
        !open_builders(otp_outputs_waiting())) {
        return false;
    }
    tell->visitor = otp_builders_visitor();
    p->visits += p->visits < VISITS_MAX ? 1 : 0;
    return true;
}

/*
 * True when a message was written. What does not fit into the memory is told with less in it, again
 * and again. The tables of samples are kept for that, but not for ever: they may be what takes the
 * memory away that a message needs.
 */
static bool flush_all(struct otp_tell *tell)
{
    struct progress p = {0};
    otp_outputs_begin_flush();
    otp_tell_begin(tell);
    flush_once(tell, &p);
    while (p.status != OTP_OK || p.is_short) {
        close_builders();
        otp_modules_fini(&modules);
        if (!can_be_less(tell, &p)) {
            break;
        }
        flush_once(tell, &p);
    }
    if (p.status != OTP_OK) {
        log_lost(p.status);
    } else if (p.is_short) {
        otp_outputs_give_up();
    } else if (p.has_written) {
        log_found();
    }
    if (p.has_written) {
        otp_tell_done(tell);
    }
    if (p.visits > 0) {
        close_builders(); /* they may have been for some of the formats only */
    }
    return p.has_written;
}

void otp_pipeline_begin_range(void)
{
    range_start_ns = otp_sys_realtime_ns();
}

void otp_pipeline_numbers(struct otp_pipeline_numbers *out)
{
    out->cpu_samples = cpu_samples;
    out->waiting = 0;
    for (size_t i = 0; i < time_count; i++) {
        out->waiting += times[i].table.entry_count;
    }
    out->flushes = flush_number;
    out->bytes = heap.mapped_bytes + name_heap.mapped_bytes + flush_heap.mapped_bytes;
}

void otp_pipeline_collect(void)
{
    otp_arrears_each(!otp_capture_is_on(), add_arrears, NULL);
}

static void log_flush(uint64_t began_ns)
{
    uint64_t samples = 0;
    struct otp_line line = {0};
    for (size_t i = 0; i < time_count; i++) {
        samples += times[i].table.sample_count;
    }
    otp_line_str(&line, "flush ");
    otp_line_u64(&line, flush_number);
    otp_line_str(&line, ": ");
    otp_line_u64(&line, samples);
    otp_line_str(&line, " CPU samples, ");
    otp_line_u64(&line, otp_ledger_count());
    otp_line_str(&line, " stacks of the heap, written in ");
    otp_line_u64(&line, (otp_sys_monotonic_ns() - began_ns) / 1000);
    otp_line_str(&line, " us");
    otp_engine_log(OTP_LOG_INFO, line.text, line.len);
}

void otp_pipeline_flush(uint64_t deadline_ns, bool is_last)
{
    otp_creds_follow();
    follow_context();
    if (otp_load_relaxed(&otp_slot_kind) != OTP_SLOT_NONE) {
        otp_thread_keys_refresh();
        otp_slot_ignore(otp_thread_keys_are_foreign());
    }
    if (!otp_builders_are_open() && !open_builders(otp_outputs_formats())) {
        if (is_last) {
            log_lost(OTP_NO_MEMORY);
        } else {
            /* What was to be told is kept for the next one. */
            otp_count(OTP_COUNT_WORKER_MEMORY, OTP_OF_BOTH, 1);
        }
        return;
    }
    /* Right before the end of the range: what is observed between the two belongs to this range,
     * but is told with the next. */
    otp_pipeline_drain();
    uint64_t now = otp_sys_realtime_ns();
    now = now > range_start_ns ? now : range_start_ns + 1; /* the clock was set back */
    struct otp_tell tell = {
        .visitor = otp_builders_visitor(),
        .teller = &teller,
        .time_ns = range_start_ns,
        .duration_ns = now - range_start_ns,
        .tags = &tags,
    };
    otp_pipeline_collect();
    uint64_t began_ns = otp_sys_monotonic_ns();
    if (flush_all(&tell)) {
        log_flush(began_ns);
        flush_number++;
        range_start_ns = now;
        otp_ids_draw();
    }
    clear_tables();
    otp_tags_clear(&tags);
    otp_builders_clear();
    limit_builders();
    (void)otp_outputs_pump(deadline_ns, is_last);
}

/* Where the thread context is, and whether it is of a kind that we know. */
static void follow_thread_context(bool *look_again)
{
    uint32_t before = otp_load_relaxed(&otp_slot_kind);
    *look_again = otp_slot_refresh() || *look_again;
    if (otp_load_relaxed(&otp_slot_kind) != OTP_SLOT_NONE) {
        if (before == OTP_SLOT_NONE) {
            otp_thread_keys_refresh();
        }
        otp_slot_ignore(otp_thread_keys_are_foreign());
    }
}

/* Where ticks come from, said again when it changes. */
static void log_ticks(void)
{
    static int signo;
    static bool is_perf;
    static bool is_lost;
    if (otp_settings.signo != 0 && !otp_settings.is_cpu_on && !is_lost) {
        static const char text[] = "no CPU profile: the program uses every signal that ticks could";
        is_lost = true;
        otp_engine_log(OTP_LOG_WARN, text, sizeof(text) - 1);
    }
    if (!otp_settings.is_cpu_on || !otp_capture_is_on() ||
        (signo == otp_settings.signo && is_perf == otp_settings.is_perf_used)) {
        return;
    }
    signo = otp_settings.signo;
    is_perf = otp_settings.is_perf_used;
    otp_engine_log_number(OTP_LOG_DEBUG, "ticks come by signal ", (uint64_t)signo,
                          is_perf ? ", from perf events and timers" : ", from timers");
}

bool otp_pipeline_scan(void)
{
    struct otp_scan scan = {.own_tid = otp_sys_gettid(), .is_from_birth = !otp_engine.has_slept};
    bool look_again = otp_scan_threads(&heap, &scan);
    collect(true);
    if (otp_settings.wants_perf && otp_capture_is_on() &&
        otp_load_acquire(&otp_settings.perf_holds) == 0 && otp_rates_weigh_perf()) {
        otp_settings.is_perf_used = otp_perf_open_all();
        otp_settings.wants_perf = otp_settings.is_perf_used;
    }
    otp_signals_check();
    log_ticks();
    otp_snapshot_refresh(&heap);
    otp_thread_keys_expire();
    follow_thread_context(&look_again);
    return look_again;
}

uint64_t otp_pipeline_look(void)
{
    return otp_snapshot_follow(&heap);
}

uint64_t otp_pipeline_pump(void)
{
    return otp_outputs_pump(otp_sys_monotonic_ns(), false);
}
