/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/status.h"

#include <string.h>

#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/hotmem.h"
#include "core/base/utf8.h"
#include "core/base/version.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/engine/outputs.h"
#include "core/engine/pipeline.h"
#include "core/engine/rates.h"
#include "core/engine/state.h"
#include "core/ledger/ledger.h"
#include "core/ledger/live.h"

/* A line that does not fit is left out whole. */
static void add_line(struct otp_reply *r, const struct otp_line *l)
{
    if (l->len + 1 <= sizeof(r->text) - r->len) {
        memcpy(r->text + r->len, l->text, l->len);
        r->len += l->len;
        r->text[r->len++] = '\n';
    }
}

static void add_text(struct otp_reply *r, const char *name, struct otp_text value)
{
    struct otp_line l = {0};
    otp_line_str(&l, name);
    otp_line_str(&l, " ");
    otp_utf8_show(&l, value, 255);
    add_line(r, &l);
}

static void add_word(struct otp_reply *r, const char *name, const char *value)
{
    add_text(r, name, otp_text_of(value));
}

static void add_number(struct otp_reply *r, const char *name, uint64_t value)
{
    struct otp_line l = {0};
    otp_line_str(&l, name);
    otp_line_str(&l, " ");
    otp_line_u64(&l, value);
    add_line(r, &l);
}

static void add_process(struct otp_reply *r)
{
    add_number(r, "process.pid", (uint64_t)otp_engine.pid);
    add_text(r, "process.program", otp_text_make(otp_engine.program, otp_engine.program_len));
    add_word(r, "process.otelprof", OTP_VERSION);
    add_word(r, "process.sampling", otp_capture_is_on() ? "on" : "off");
}

static uint64_t count_threads(bool with_timer)
{
    struct otp_thread *t;
    uint64_t count = 0;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        count += otp_load_relaxed(&t->state) == OTP_THREAD_LIVE && otp_load_relaxed(&t->tid) != 0 &&
                 (!with_timer || otp_load_relaxed(&t->has_timer) != 0);
    }
    return count;
}

static void add_sampling(struct otp_reply *r, const struct otp_pipeline_numbers *p,
                         const struct otp_spent *spent)
{
    const struct otp_conf *conf = &otp_engine.conf;
    add_word(r, "cpu.profile", otp_settings.is_cpu_on ? "on" : "off");
    add_number(r, "cpu.wanted_hz", conf->cpu_hz);
    add_number(r, "cpu.period_ns", otp_load_relaxed(&otp_settings.cpu_period_ns));
    add_word(r, "cpu.engine", otp_settings.is_perf_used ? "perf" : "timer");
    add_number(r, "cpu.signal", (uint64_t)otp_settings.signo);
    add_number(r, "cpu.threads", count_threads(true));
    add_number(r, "cpu.samples", p->cpu_samples);
    add_word(r, "heap.profile", otp_settings.is_heap_on ? "on" : "off");
    add_number(r, "heap.wanted_interval_bytes", conf->heap_interval_bytes);
    add_number(r, "heap.interval_bytes", otp_load_relaxed(&otp_settings.heap_interval));
    add_number(r, "heap.samples", spent->threads.allocs);
    add_number(r, "heap.live", otp_live_count());
    add_number(r, "heap.stacks", otp_ledger_count());
}

static void add_dropped(struct otp_reply *r)
{
    for (unsigned c = 0; c < OTP_COUNT_END; c++) {
        struct otp_line l = {0};
        otp_line_str(&l, "dropped.");
        otp_line_str(&l, otp_counter_name((enum otp_counter)c));
        otp_line_str(&l, " ");
        otp_line_u64(&l, otp_counter_sum((enum otp_counter)c, OTP_OF_BOTH));
        add_line(r, &l);
    }
}

static void add_queued(struct otp_reply *r, const struct otp_pipeline_numbers *p)
{
    uint64_t bytes;
    uint64_t messages = otp_outputs_queued(&bytes);
    add_number(r, "queued.stacks", p->waiting);
    add_number(r, "queued.messages", messages);
    add_number(r, "queued.bytes", bytes);
    add_number(r, "flush.interval_ms", otp_engine.conf.interval_ns / 1000000U);
    add_number(r, "flush.count", p->flushes);
}

static void add_cost(struct otp_reply *r, const struct otp_pipeline_numbers *p,
                     const struct otp_spent *spent)
{
    add_number(r, "cost.cpu_ns", spent->total_ns);
    add_number(r, "cost.worker_ns", spent->worker_ns);
    add_number(r, "cost.ticks_ns", spent->threads.tick_ns);
    add_number(r, "cost.allocations_ns", spent->threads.alloc_ns);
    add_number(r, "cost.process_cpu_ns", spent->process_ns);
    add_number(r, "cost.recent_ppm", otp_rates_spent_ppm());
    add_number(r, "cost.budget_ppm", otp_engine.conf.cpu_budget_ppm);
    add_number(r, "cost.halvings", otp_rates_level());
    add_number(r, "memory.bytes", otp_hotmem_used() + p->bytes);
    add_number(r, "memory.limit_bytes", otp_engine.conf.memory_limit_bytes);
}

void otp_status_write(struct otp_reply *r)
{
    struct otp_pipeline_numbers p;
    struct otp_spent spent;
    otp_pipeline_numbers(&p);
    otp_rates_spent(&spent);
    add_process(r);
    add_sampling(r, &p, &spent);
    add_dropped(r);
    add_queued(r, &p);
    add_cost(r, &p, &spent);
}
