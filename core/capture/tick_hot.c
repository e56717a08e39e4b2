/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One CPU sample. It stands for the CPU time that its thread used since the sample before, which
 * makes the sum true whatever happened to single expiries; the first one of a thread stands for the
 * whole periods that expired, since its moment was drawn at random within the first period.
 */
#define _GNU_SOURCE /* register names of ucontext */
#include "core/capture/tick.h"

#include <string.h>

#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/sys.h"
#include "core/capture/arch.h"
#include "core/capture/capture.h"
#include "core/capture/scratch.h"
#include "core/capture/timer.h"
#include "core/capture/unwind.h"

/* What the part on the scratch stack needs. */
struct tick {
    struct otp_thread *thread;
    struct otp_unwind *unwind;
    uint32_t count;
    uint64_t cpu_now_ns;
};

static void sample(void *arg)
{
    struct tick *k = arg;
    struct otp_thread *t = k->thread;
    uint32_t depth = otp_unwind_run(k->unwind);
    struct otp_ring *r = otp_thread_ring(t);
    uint64_t used = r == NULL ? 0 : otp_ring_used(r);
    struct otp_record *rec = r == NULL ? NULL : otp_ring_reserve(r, depth);
    if (rec == NULL) {
        t->carried = k->count; /* the next sample stands for these as well */
        otp_count(OTP_COUNT_RING_FULL, 1);
        otp_capture_wake();
        otp_capture_note_sample();
        return;
    }
    rec->type = OTP_RECORD_CPU;
    rec->context = otp_load_relaxed(&t->context);
    rec->count = k->count;
    rec->cpu_ns = t->cpu_seen_ns != 0 && k->cpu_now_ns > t->cpu_seen_ns
                      ? k->cpu_now_ns - t->cpu_seen_ns
                      : k->count * otp_settings.cpu_period_ns;
    rec->bytes = 0;
    rec->time_ns = otp_settings.has_timestamps ? otp_sys_realtime_ns() : 0;
    memcpy(rec->frames, otp_unwind_frames(k->unwind), depth * sizeof(rec->frames[0]));
    otp_ring_commit(r, rec);
    t->cpu_seen_ns = k->cpu_now_ns;
    t->carried = 0;
    otp_thread_wake_at_half(r, used);
    otp_capture_note_sample();
}

void otp_tick(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    if (info->si_code != SI_TIMER || !otp_capture_is_on()) {
        return;
    }
    struct otp_thread *t = otp_timer_thread((uint64_t)(uintptr_t)info->si_value.sival_ptr);
    if (t == NULL) {
        return;
    }
    struct tick k = {.thread = t, .count = t->carried + 1 + (uint32_t)info->si_overrun};
    const ucontext_t *uc = context;
    if (!otp_thread_enter(t, (uintptr_t)uc->uc_mcontext.gregs[REG_RSP])) {
        t->carried = k.count;
        return;
    }
    t->scratch = otp_scratch_claim();
    if (OTP_LIKELY(t->scratch != 0)) {
        k.cpu_now_ns = otp_sys_thread_cpu_ns();
        void *base = otp_scratch_base(t->scratch);
        k.unwind = otp_unwind_at(base);
        otp_unwind_from_signal(k.unwind, t, uc);
        otp_arch_call_on(otp_unwind_stack_top(base), sample, &k);
        otp_scratch_release(t->scratch);
        t->scratch = 0;
    } else {
        t->carried = k.count;
        otp_count(OTP_COUNT_NO_SCRATCH, 1);
    }
    otp_thread_leave(t);
}
