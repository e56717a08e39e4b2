/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One CPU sample. It stands for the periods of its thread's CPU clock that ended since the sample
 * before. The end of the first one was drawn at random, so the sum is true for threads of any
 * length, whatever happened to single expiries: what cannot be booked now is still due at the next
 * one, and what is due at the end of the thread is booked there.
 */
#define _GNU_SOURCE /* register names of ucontext */
#include "core/capture/tick.h"

#include <string.h>

#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/probe.h"
#include "core/base/sys.h"
#include "core/capture/arch.h"
#include "core/capture/capture.h"
#include "core/capture/labels.h"
#include "core/capture/object.h"
#include "core/capture/perf.h"
#include "core/capture/scratch.h"
#include "core/capture/timer.h"
#include "core/capture/unwind.h"

/* Periods due that only time outside of the program's own code explains: page faults, a machine
 * that stood still. */
#define FAR_BEHIND 40U

/* What the part on the scratch stack needs. */
struct tick {
    struct otp_thread *thread;
    const ucontext_t *signal;    /* where to start from: this, or */
    const struct otp_regs *call; /* this */
    struct otp_unwind *unwind;
    uint64_t cpu_now_ns; /* of the thread */
    bool is_span; /* it stands for the time between these two, due or not; otherwise for what is due
                   */
    uint64_t from_ns;
    uint64_t to_ns;
    uintptr_t leaf; /* function to put below the stack; 0: none */
};

static void sample(void *arg)
{
    struct tick *k = arg;
    struct otp_thread *t = k->thread;
    uint32_t extra = k->leaf != 0 ? 1 : 0;
    uint32_t depth = otp_unwind_run(k->unwind);
    struct otp_tag tag;
    size_t tag_bytes = otp_tag_take(&tag) ? otp_tag_bytes(&tag) : 0;
    if (OTP_UNLIKELY(otp_unwind_was_cut(k->unwind))) {
        otp_count(OTP_COUNT_UNWIND_CUT, OTP_OF_CPU, 1);
    }
    struct otp_ring *r = otp_thread_ring(t);
    uint64_t used = r == NULL ? 0 : otp_ring_used(r);
    struct otp_record *rec =
        r == NULL ? NULL : otp_ring_reserve(r, depth + extra, (unsigned)(tag_bytes / 8));
    if (rec == NULL) {
        otp_count(OTP_COUNT_RING_FULL, OTP_OF_CPU, 1);
        otp_capture_wake();
        otp_capture_note_sample();
        return;
    }
    uint64_t period;
    uint64_t count = k->is_span ? otp_timer_take_between(t, k->from_ns, k->to_ns, &period)
                                : otp_timer_take(t, k->cpu_now_ns, &period);
    if (count == 0) {
        return; /* the worker was faster */
    }
    rec->type = OTP_RECORD_CPU;
    rec->context = otp_load_relaxed(&t->context);
    rec->count = (uint32_t)count;
    rec->cpu_ns = count * period;
    rec->bytes = 0;
    rec->is_cut = otp_unwind_was_cut(k->unwind);
    rec->time_ns = otp_settings.has_timestamps ? otp_sys_realtime_ns() : 0;
    if (extra != 0) {
        struct otp_object_range range;
        uint32_t number = otp_object_find(k->leaf, &range) ? range.number : OTP_OBJECT_NONE;
        rec->frames[0] = otp_frame_make(number, k->leaf);
    }
    memcpy(rec->frames + extra, otp_unwind_frames(k->unwind), depth * sizeof(rec->frames[0]));
    memcpy(rec->frames + extra + depth, &tag, tag_bytes);
    otp_ring_commit(r, rec);
    otp_thread_wake_at_half(r, used);
    otp_capture_note_sample();
}

/* Books what is due of t, the calling thread, if anything is. */
static void take(struct tick *k, uintptr_t sp)
{
    struct otp_thread *t = k->thread;
    if (!otp_thread_enter(t, sp)) {
        return;
    }
    bool is_due = (k->is_span ? otp_timer_between(t, k->from_ns, k->to_ns)
                              : otp_timer_due(t, k->cpu_now_ns)) != 0;
    t->scratch = is_due ? otp_scratch_claim() : 0;
    if (OTP_LIKELY(t->scratch != 0)) {
        void *base = otp_scratch_base(t->scratch);
        k->unwind = otp_unwind_at(base);
        if (k->signal != NULL) {
            otp_unwind_from_signal(k->unwind, t, k->signal);
        } else {
            otp_unwind_from_call(k->unwind, t, k->call);
        }
        otp_arch_call_on(otp_unwind_stack_top(base), sample, k);
        otp_scratch_release(t->scratch);
        t->scratch = 0;
    } else if (is_due) {
        otp_count(OTP_COUNT_NO_SCRATCH, OTP_OF_CPU, 1);
    }
    otp_thread_leave(t);
}

/* Whether the thread comes back from a system call, or begins an interrupted one again. */
static bool is_at_syscall(const ucontext_t *uc)
{
    static const unsigned char instruction[2] = {0x0f, 0x05};
    uintptr_t pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
    uintptr_t in_page = pc & (OTP_PAGE - 1); /* the pages around it are perhaps not mapped */
    if (!otp_probe_page(pc - in_page)) {
        return false; /* code that may run, but not be read */
    }
    return (in_page >= 2 && memcmp((const void *)(pc - 2), instruction, 2) == 0) ||
           (in_page <= OTP_PAGE - 2 && memcmp((const void *)pc, instruction, 2) == 0);
}

/*
 * When the kernel's tick was that made the timer's signal, by the thread's CPU clock. In a system
 * call the signal waits for the call's end. What the call has used until then is not booked yet;
 * the tick was anywhere in it, or in its last part when it took longer than from one tick to the
 * next: in the middle on average.
 */
static uint64_t tick_time(const struct tick *k, uint64_t due)
{
    uint64_t call_ns = due * otp_load_relaxed(&otp_settings.cpu_period_ns);
    uint64_t part_ns =
        call_ns < otp_settings.kernel_tick_ns ? call_ns : otp_settings.kernel_tick_ns;
    return k->cpu_now_ns > part_ns / 2 ? k->cpu_now_ns - part_ns / 2 : 0;
}

/*
 * What a timer's tick stands for in a thread with a perf event. The event ticks at each period that
 * ends while the thread runs code of its own, and stands for all that is due; the timer ticks
 * wherever the thread is. So the timer's ticks share the time out between system calls (the next
 * instruction tells, when the thread comes back) and the rest, and the event's share the rest out.
 * A timer's tick at a system call therefore stands for the time since the timer's tick before, even
 * for time that the event's ticks have booked: they are then ahead, and book less afterwards.
 * Elsewhere the timer has nothing to say, unless so much is due that no event can have come.
 *
 * What is booked twice for a moment lies between two of the timer's ticks. A span that reaches back
 * farther than that and what is due has met a time in which signals were blocked: the first tick
 * after it books all of that time, whoever's it is, and the other has no share in it.
 */
static void share_out(struct tick *k, const ucontext_t *uc, bool is_timer)
{
    struct otp_thread *t = k->thread;
    uint64_t period_ns = otp_load_relaxed(&otp_settings.cpu_period_ns);
    uint64_t apart_ns =
        period_ns > otp_settings.kernel_tick_ns ? period_ns : otp_settings.kernel_tick_ns;
    uint64_t due = otp_timer_due(t, k->cpu_now_ns);
    bool is_call = is_at_syscall(uc);
    if (!is_timer && due * period_ns <= 2 * apart_ns) {
        return;
    }
    uint64_t seen_ns = is_timer && is_call ? tick_time(k, due) : k->cpu_now_ns;
    uint64_t reach_ns = due * period_ns + 2 * apart_ns;
    uint64_t from_ns = seen_ns > reach_ns ? seen_ns - reach_ns : 0;
    from_ns = from_ns > t->timer_seen_ns ? from_ns : t->timer_seen_ns;
    k->is_span = is_timer && due <= FAR_BEHIND;
    k->from_ns = is_call ? from_ns : seen_ns;
    k->to_ns = seen_ns;
    t->timer_seen_ns = seen_ns > t->timer_seen_ns ? seen_ns : t->timer_seen_ns;
}

/* Writes what this tick cost on the thread's account. */
static void note_cost(struct otp_thread *t, uint64_t began_ns)
{
    uint64_t ticks = t->cost.ticks + 1;
    otp_store_relaxed(&t->cost.ticks, ticks);
    uint64_t weight = otp_cost_weight(ticks);
    if (weight != 0) {
        uint64_t one = otp_sys_thread_cpu_ns() - began_ns + OTP_COST_SIGNAL_NS;
        otp_store_relaxed(&t->cost.tick_ns, t->cost.tick_ns + one * weight);
    }
}

/* An event is known by its descriptor, whose number may be another thread's by the time that a
 * signal comes that was blocked. */
static bool is_own(const struct otp_thread *t)
{
    return t == otp_tls.thread || otp_load_relaxed(&t->tid) == otp_sys_gettid();
}

void otp_tick(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    if (!otp_capture_is_on()) {
        return;
    }
    bool is_timer = info->si_code == SI_TIMER;
    struct otp_thread *t = is_timer
                               ? otp_timer_thread((uint64_t)(uintptr_t)info->si_value.sival_ptr)
                               : otp_perf_thread(info);
    if (t == NULL || (!is_timer && !is_own(t))) {
        return;
    }
    struct tick k = {.thread = t, .signal = context, .cpu_now_ns = otp_sys_thread_cpu_ns()};
    if (otp_load_relaxed(&t->perf_fd) != 0) {
        share_out(&k, context, is_timer);
    } else {
        t->timer_seen_ns = k.cpu_now_ns; /* the event, when it comes, has no share in this time */
    }
    take(&k, (uintptr_t)k.signal->uc_mcontext.gregs[REG_RSP]);
    note_cost(t, k.cpu_now_ns);
}

void otp_sampled_last_tick(const struct otp_regs *regs)
{
    struct otp_thread *t = otp_tls.thread;
    struct tick k = {
        .thread = t, .call = regs, .leaf = t->last_leaf, .cpu_now_ns = otp_sys_thread_cpu_ns()};
    uint64_t mask;
    if (otp_sys_block_signals(&mask)) {
        take(&k, otp_regs_sp(regs));
        otp_sys_restore_signals(mask);
    }
}
