/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/power.h"

#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "core/base/atomic.h"
#include "core/base/sys.h"
#include "core/capture/alloc.h"
#include "core/capture/capture.h"
#include "core/capture/perf.h"
#include "core/capture/signals.h"
#include "core/capture/timer.h"
#include "core/engine/pipeline.h"
#include "core/engine/rates.h"
#include "core/engine/state.h"

#define FLUSH_NS UINT64_C(5000000000)
#define AWAIT_NS UINT64_C(100000000)

static bool has_begun; /* the worker's */

static void wake_worker(void)
{
    otp_worker_ensure();
    otp_capture_wake();
}

void otp_power_wish(bool is_on)
{
    otp_store_release(&otp_engine.is_wished, is_on ? 1U : 0U); /* pairs: WISH */
    wake_worker();
}

void otp_power_wish_toggle(void)
{
    (void)__atomic_fetch_xor(&otp_engine.is_wished, 1U, __ATOMIC_ACQ_REL); /* pairs: WISH */
    wake_worker();
}

void otp_power_wish_flush(void)
{
    otp_store_release(&otp_engine.is_flush_wished, 1U); /* pairs: WISH */
    wake_worker();
}

static bool await(bool is_on)
{
    uint32_t target = is_on ? OTP_CAPTURE_ON : OTP_CAPTURE_DORMANT;
    uint64_t until = otp_sys_monotonic_ns() + AWAIT_NS;
    for (;;) {
        uint32_t state = otp_load_acquire(&otp_capture_state);
        uint64_t now = otp_sys_monotonic_ns();
        if (state == target || now >= until || otp_worker_has_failed()) {
            return state == target;
        }
        struct timespec ts = {.tv_sec = 0, .tv_nsec = (long)(until - now)};
        (void)OTP_SYS4(SYS_futex, &otp_capture_state, FUTEX_WAIT_PRIVATE, state, &ts);
    }
}

/* A child of vfork runs on our memory, but it is not the process that was meant. */
static bool is_this_process(void)
{
    return otp_engine.pid == otp_sys_getpid();
}

bool otp_power_ask(bool is_on)
{
    if (!otp_capture_is_there() || !is_this_process()) {
        return false;
    }
    otp_power_wish(is_on);
    return await(is_on);
}

bool otp_power_ask_flush(void)
{
    if (!otp_capture_is_on() || !is_this_process()) {
        return false;
    }
    otp_power_wish_flush();
    return true;
}

/* False: the process ends, or the state is not the one to leave. */
static bool change_state(uint32_t from, uint32_t to)
{
    if (!otp_cas_acq_rel(&otp_capture_state, &from, to)) {
        return false;
    }
    (void)OTP_SYS3(SYS_futex, &otp_capture_state, FUTEX_WAKE_PRIVATE, INT32_MAX);
    return true;
}

static void say(const char *text)
{
    otp_engine_log(OTP_LOG_INFO, text, strlen(text));
}

static void start(void)
{
    otp_pipeline_drain(); /* takes records of threads back that have ended meanwhile */
    otp_pipeline_begin_range();
    otp_alloc_begin();
    if (!change_state(OTP_CAPTURE_DORMANT, OTP_CAPTURE_ON)) {
        return;
    }
    if (otp_settings.is_cpu_on) {
        otp_timer_start_all();
    }
    otp_rates_resume();
    otp_engine.is_asleep = false;
    has_begun = true;
    say("sampling begins");
}

/*
 * What is due of the threads by now is taken before their timers go; ticks that are pending find
 * the handler where it was, and do nothing.
 */
static void stop(void)
{
    if (!change_state(OTP_CAPTURE_ON, OTP_CAPTURE_DORMANT)) {
        return;
    }
    /* Read before the rings are: a sample that is just being taken is told by the next flush. */
    otp_engine.samples_told = otp_load_relaxed(&otp_samples_taken);
    otp_pipeline_drain();
    otp_pipeline_collect();
    otp_timer_stop_all();
    otp_perf_close_all();
    otp_engine.is_asleep = true;
    otp_engine.has_slept = true;
    say("sampling ends");
    otp_pipeline_flush(otp_sys_monotonic_ns() + FLUSH_NS, false);
}

bool otp_power_has_news(void)
{
    return !otp_engine.is_asleep || otp_load_relaxed(&otp_samples_taken) != otp_engine.samples_told;
}

static bool flush(void)
{
    bool is_wished = otp_exchange_acq_rel(&otp_engine.is_flush_wished, 0U) != 0 && /* pairs: WISH */
                     otp_capture_is_on();
    if (is_wished) {
        otp_pipeline_drain();
        otp_pipeline_flush(otp_sys_monotonic_ns() + FLUSH_NS, false);
    }
    return is_wished;
}

bool otp_power_obey(void)
{
    bool has_done = flush();
    bool is_wished = otp_load_acquire(&otp_engine.is_wished) != 0; /* pairs: WISH */
    uint32_t state = otp_load_acquire(&otp_capture_state);
    if (state == OTP_CAPTURE_DORMANT && is_wished) {
        start();
    } else if (state == OTP_CAPTURE_ON && !is_wished) {
        stop();
    } else {
        return has_done;
    }
    return true;
}

void otp_power_check_signal(void)
{
    static const char text[] =
        "OTELPROF_TOGGLE_SIGNAL: the program uses the signal itself; it starts and stops nothing";
    static bool is_said;
    if (otp_engine.conf.toggle_signal != 0 && !is_said && !otp_signals_has_toggle()) {
        is_said = true;
        otp_engine_log(OTP_LOG_WARN, text, sizeof(text) - 1);
    }
}

bool otp_power_take_begun(void)
{
    bool begun = has_begun;
    has_begun = false;
    return begun;
}
