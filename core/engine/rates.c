/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/rates.h"

#include <string.h>
#include <time.h>

#include "core/base/atomic.h"
#include "core/base/fmt.h"
#include "core/base/sys.h"
#include "core/capture/alloc.h"
#include "core/capture/capture.h"
#include "core/capture/perf.h"
#include "core/capture/timer.h"
#include "core/engine/budget.h"
#include "core/engine/pipeline.h"
#include "core/engine/state.h"

#define PERIOD_MAX_NS UINT64_C(1000000000)
#define INTERVAL_MAX ((uint64_t)64 << 30)
#define FLUSH_NS UINT64_C(5000000000)

static struct otp_budget budget;

uint64_t otp_rates_period_ns(uint32_t hz, uint32_t level)
{
    uint64_t period = (PERIOD_MAX_NS / hz) << level;
    return period < PERIOD_MAX_NS ? period : PERIOD_MAX_NS;
}

/* Not known yet is room enough: the worker finds out before it opens one. */
static bool has_room_for_perf(const struct otp_conf *conf, uint64_t period_ns)
{
    uint64_t event_ns = otp_load_relaxed(&otp_cost_event_ns);
    return event_ns == 0 ||
           (event_ns + OTP_COST_SIGNAL_NS) * 1000000U / period_ns <= conf->cpu_budget_ppm;
}

bool otp_rates_want_perf(const struct otp_conf *conf, uint64_t period_ns)
{
    if (conf->cpu_engine == OTP_CPU_ENGINE_AUTO) {
        return period_ns < otp_perf_kernel_tick_ns() && has_room_for_perf(conf, period_ns);
    }
    return conf->cpu_engine == OTP_CPU_ENGINE_PERF;
}

bool otp_rates_weigh_perf(void)
{
    static bool is_done;
    if (!is_done) {
        is_done = true;
        uint64_t event_ns = otp_perf_measure_ns();
        otp_store_relaxed(&otp_cost_event_ns, event_ns);
        otp_settings.wants_perf =
            otp_rates_want_perf(&otp_engine.conf, otp_load_relaxed(&otp_settings.cpu_period_ns));
        if (event_ns != 0) {
            otp_engine_log_number(OTP_LOG_INFO, "a tick of a perf event costs ", event_ns,
                                  otp_settings.wants_perf
                                      ? " ns of the kernel's time"
                                      : " ns, more than the CPU budget: timers tick alone");
        }
    }
    return otp_settings.wants_perf;
}

void otp_rates_spent(struct otp_spent *out)
{
    struct timespec ts = {0};
    (void)OTP_SYS2(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &ts);
    otp_cost_total(&out->threads);
    out->worker_ns = otp_worker_cpu_ns();
    out->total_ns = out->threads.tick_ns + out->threads.alloc_ns + out->worker_ns;
    out->process_ns = (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

/* Of the cost of sampled allocations: what was asked for, and all, at the last reading. */
static uint64_t asked_ns;
static uint64_t seen_ns;

/* Who asks for each allocation, or at the control socket, has said what that may cost: it shall not
 * lower the rate of CPU samples. */
static uint64_t asked_for_ns(const struct otp_spent *spent)
{
    uint64_t more = spent->threads.alloc_ns > seen_ns ? spent->threads.alloc_ns - seen_ns : 0;
    asked_ns += otp_load_relaxed(&otp_settings.heap_interval) <= 1 ? more : 0;
    seen_ns = spent->threads.alloc_ns;
    uint64_t sum_ns = asked_ns + otp_worker_asked_ns();
    return sum_ns < spent->total_ns ? sum_ns : spent->total_ns;
}

static void read_clocks(struct otp_budget_reading *out)
{
    struct otp_spent spent;
    otp_rates_spent(&spent);
    out->wall_ns = otp_sys_monotonic_ns();
    out->process_ns = spent.process_ns;
    out->cost_ns = spent.total_ns - asked_for_ns(&spent);
}

void otp_rates_resume(void)
{
    struct otp_budget_reading now;
    read_clocks(&now);
    otp_budget_init(&budget, otp_engine.conf.cpu_budget_ppm, otp_engine.rate_level, &now);
}

void otp_rates_open(void)
{
    otp_cost_calibrate();
    if (budget.ppm == 0 || otp_engine.is_budget_new) {
        otp_engine.is_budget_new = false;
        asked_ns = 0;
        seen_ns = 0;
        otp_rates_resume();
    }
}

/* A profile states one period, so samples of the old one must not be among those to come. */
static void set_period(uint64_t period_ns)
{
    if (!otp_pipeline_can_change()) {
        otp_pipeline_drain();
        otp_pipeline_flush(otp_sys_monotonic_ns() + FLUSH_NS, false);
    }
    otp_store_relaxed(&otp_settings.cpu_period_ns, period_ns);
    otp_timer_follow_all();
    otp_perf_follow_all();
}

static void follow_engine(void)
{
    const struct otp_conf *conf = &otp_engine.conf;
    uint64_t period_ns = otp_load_relaxed(&otp_settings.cpu_period_ns);
    bool wants = conf->cpu && otp_rates_want_perf(conf, period_ns);
    otp_settings.wants_perf = wants; /* opened with the next look at the threads */
    if (!wants && otp_settings.is_perf_used) {
        otp_perf_close_all();
        otp_settings.is_perf_used = false;
    }
}

/* An interval of 1 is a promise: the heap profile is exact. The budget does not touch it. */
static uint64_t interval_of(uint32_t level)
{
    uint64_t wanted = otp_engine.conf.heap_interval_bytes;
    if (wanted <= 1) {
        return wanted;
    }
    uint64_t interval = wanted << level;
    return interval < INTERVAL_MAX ? interval : INTERVAL_MAX;
}

bool otp_rates_apply(void)
{
    const struct otp_conf *conf = &otp_engine.conf;
    budget.ppm = conf->cpu_budget_ppm;
    uint64_t period = otp_rates_period_ns(conf->cpu_hz, budget.level);
    uint64_t interval = interval_of(budget.level);
    if (period != otp_load_relaxed(&otp_settings.cpu_period_ns)) {
        set_period(period);
    }
    follow_engine();
    return interval == otp_load_relaxed(&otp_settings.heap_interval) ||
           otp_alloc_set_interval(interval);
}

static void log_level(uint32_t before)
{
    struct otp_line line = {0};
    otp_line_str(&line,
                 budget.level > before ? "over the CPU budget: " : "within the CPU budget: ");
    otp_line_str(&line, "one CPU sample each ");
    otp_line_u64(&line, otp_load_relaxed(&otp_settings.cpu_period_ns) / 1000);
    otp_line_str(&line, " us, one heap sample each ");
    otp_line_u64(&line, otp_load_relaxed(&otp_settings.heap_interval));
    otp_line_str(&line, " bytes");
    otp_engine_log(OTP_LOG_INFO, line.text, line.len);
}

void otp_rates_step(void)
{
    struct otp_budget_reading now;
    uint32_t before = budget.level;
    read_clocks(&now);
    otp_engine.rate_level = otp_budget_step(&budget, &now);
    if (otp_engine.rate_level != before) {
        (void)otp_rates_apply();
        log_level(before);
    } else {
        otp_timer_follow_all(); /* those that were being started at the last change */
    }
}

uint32_t otp_rates_level(void)
{
    return budget.level;
}

uint64_t otp_rates_spent_ppm(void)
{
    return otp_budget_spent_ppm(&budget);
}
