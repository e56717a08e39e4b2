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
#include <sys/resource.h>

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

/* Time due, in kernel ticks, that a thread with a perf event only has when signals were blocked, or
 * when no event came. */
#define TICKS_BEHIND 4U

/* What blocks signals for itself, as pthread_create does, opens them again before that. */
#define CALL_NS 100000U

/* The offset of the kernel's ticks is known to this part of the time from one to the next, and a
 * late one moves it by this part of what it is late. */
#define EARLY_PART 64U
#define LEARN_PART 16U

/* Ticks are as far apart as the kernel looks at clocks, or periods are long, on average, and meet
 * the thread at random: one gap in three thousand is so many times as long, if it does not keep
 * time with them. */
#define FAR_APART 8U

/*
 * A perf event is stopped whenever its thread waits, and started when that goes on: two settings of
 * the kernel's timer, 17 us in a virtual machine. So a thread that waits more than 500 times a
 * second of its CPU time, seen over 20 ms of that, has none, until it was seen to wait less than
 * 100 times over a second.
 */
#define WAITER_NS UINT64_C(20000000)
#define WAITER_EACH_NS (UINT64_C(1000000000) / 500)
#define CALM_NS UINT64_C(1000000000)
#define CALM_EACH_NS (UINT64_C(1000000000) / 100)

/* What the part on the scratch stack needs. */
struct tick {
    struct otp_thread *thread;
    const ucontext_t *signal;    /* where to start from: this, or */
    const struct otp_regs *call; /* this */
    struct otp_unwind *unwind;
    uint32_t depth; /* that it found */
    /* Readings of the thread's CPU clock: it stands for what is due of the time between them, of
     * all time up to the second if the first is 0. */
    uint64_t since_ns;
    uint64_t now_ns;
    uintptr_t leaf;   /* function to put below the stack; 0: none */
    bool was_blocked; /* the thread was elsewhere when it was sent */
};

/* How far ticks of timers are apart. */
static uint64_t apart_ns(void)
{
    uint64_t period_ns = otp_load_relaxed(&otp_settings.cpu_period_ns);
    uint64_t tick_ns = otp_settings.kernel_tick_ns;
    return period_ns > tick_ns ? period_ns : tick_ns;
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

/* Whether the system call that the thread comes back from is rt_sigprocmask: by what is left of its
 * arguments, how and the size of a mask. */
static bool has_opened_signals(const ucontext_t *uc)
{
    const greg_t *g = uc->uc_mcontext.gregs;
    return g[REG_R10] == sizeof(uint64_t) && (unsigned)g[REG_RDI] <= SIG_SETMASK &&
           is_at_syscall(uc);
}

/*
 * How many of the periods that are due may carry what the thread is doing now. Ticks meet threads
 * at random, so on average what is true of the moment is true of the time since the tick before.
 * That is not so of time that was put off at earlier ticks, nor of more time than ticks are mostly
 * apart when signals were blocked until now: who knows what was done. (Otherwise the thread came
 * and went between ticks, or the machine stood still.) What is known to have been so all the time
 * is an exception to both.
 */
static uint64_t tagged_part(const struct tick *k, const struct otp_tag *tag, uint64_t due)
{
    const struct otp_thread *t = k->thread;
    uint64_t usual = FAR_APART * apart_ns() / otp_load_relaxed(&otp_settings.cpu_period_ns);
    uint64_t old = otp_timer_due_since(t, k->since_ns, t->put_off_ns);
    uint64_t part = due > old ? due - old : 0;
    if (part > usual && (k->signal == NULL || has_opened_signals(k->signal))) {
        part = usual;
    }
    if (otp_tag_is_lasting(tag)) {
        uint64_t before = otp_timer_due_since(t, k->since_ns, otp_tls.since_ns);
        uint64_t lasting = due > before ? due - before : 0;
        part = part > lasting ? part : lasting;
    }
    return part;
}

/* What a tick sees is true of the time since the tick before, if it did not come too late. */
static void note_seen(uint64_t now_ns, uint64_t put_off_ns)
{
    uint64_t far_ns = FAR_APART * apart_ns();
    uint64_t far = now_ns > far_ns ? now_ns - far_ns : 0;
    otp_labels_note_seen(put_off_ns > far ? put_off_ns : far);
}

/* Puts what is due, or at most so many periods of it, into the ring; tag_bytes may be 0. False: it
 * had no room. */
static bool put(const struct tick *k, uint64_t most, const struct otp_tag *tag, size_t tag_bytes)
{
    struct otp_thread *t = k->thread;
    uint32_t extra = k->leaf != 0 ? 1 : 0;
    uint32_t depth = k->depth;
    struct otp_ring *r = otp_thread_ring(t);
    uint64_t used = r == NULL ? 0 : otp_ring_used(r);
    struct otp_record *rec =
        r == NULL ? NULL : otp_ring_reserve(r, depth + extra, (unsigned)(tag_bytes / 8));
    if (rec == NULL) {
        return false;
    }
    uint64_t period;
    uint64_t count = otp_timer_take_since(t, k->since_ns, k->now_ns, most, &period);
    if (count == 0) {
        return true; /* the worker was faster */
    }
    rec->type = OTP_RECORD_CPU;
    rec->context = otp_load_relaxed(&t->context);
    rec->count = (uint32_t)count;
    rec->cpu_ns = count * period;
    rec->bytes = 0;
    rec->is_cut = otp_unwind_was_cut(k->unwind);
    rec->is_link_lost = 0;
    rec->time_ns = otp_settings.has_timestamps ? otp_sys_realtime_ns() : 0;
    if (extra != 0) {
        struct otp_object_range range;
        uint32_t number = otp_object_find(k->leaf, &range) ? range.number : OTP_OBJECT_NONE;
        rec->frames[0] = otp_frame_make(number, k->leaf);
    }
    memcpy(rec->frames + extra, otp_unwind_frames(k->unwind), depth * sizeof(rec->frames[0]));
    memcpy(rec->frames + extra + depth, tag, tag_bytes);
    otp_ring_commit(r, rec);
    otp_thread_wake_at_half(r, used);
    return true;
}

/* Books what is due, in two parts when what the thread is doing now does not go with all of it. */
static void sample(void *arg)
{
    struct tick *k = arg;
    struct otp_tag tag;
    k->depth = otp_unwind_run(k->unwind);
    size_t tag_bytes = otp_tag_take(&tag) ? otp_tag_bytes(&tag) : 0;
    if (OTP_UNLIKELY(otp_unwind_was_cut(k->unwind))) {
        otp_count(OTP_COUNT_UNWIND_CUT, OTP_OF_CPU, 1);
    }
    uint64_t due = otp_timer_due_since(k->thread, k->since_ns, k->now_ns);
    uint64_t part = tag_bytes == 0 ? due : tagged_part(k, &tag, due);
    bool is_put = part == 0 || put(k, part, &tag, tag_bytes);
    if (OTP_UNLIKELY(is_put && part < due)) {
        is_put = put(k, due - part, &tag, 0);
        otp_count(OTP_COUNT_LINKS, OTP_OF_CPU, is_put ? 1 : 0);
    }
    if (OTP_UNLIKELY(is_put && k->was_blocked)) {
        otp_count(OTP_COUNT_UNSEEN, OTP_OF_CPU, due);
    }
    if (!is_put) {
        otp_count(OTP_COUNT_RING_FULL, OTP_OF_CPU, 1);
        k->thread->put_off_ns = k->now_ns;
        otp_capture_wake();
    }
    otp_capture_note_sample();
}

/* Books what is due of t, the calling thread, if anything is. */
static void take(struct tick *k, uintptr_t sp)
{
    struct otp_thread *t = k->thread;
    if (!otp_thread_enter(t, sp)) {
        return;
    }
    bool is_due = otp_timer_due_since(t, k->since_ns, k->now_ns) != 0;
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
        t->put_off_ns = k->now_ns;
    }
    otp_thread_leave(t);
}

/* Looks at how often the thread waits, and has the worker close its perf event, or open one. */
static void watch_waits(struct otp_thread *t, uint64_t now_ns)
{
    struct rusage used;
    bool is_waiter = otp_load_relaxed(&t->is_waiter) != 0;
    if (now_ns < t->waits_ns + (is_waiter ? CALM_NS : WAITER_NS) ||
        OTP_SYS2(SYS_getrusage, RUSAGE_THREAD, &used) < 0) {
        return;
    }
    uint64_t waits = (uint64_t)used.ru_nvcsw;
    uint64_t each_ns = (now_ns - t->waits_ns) / (waits - t->waits + 1);
    if (!is_waiter && each_ns < WAITER_EACH_NS) {
        otp_store_relaxed(&t->is_waiter, 1);
        otp_capture_wake();
    } else if (is_waiter && each_ns > CALM_EACH_NS) {
        otp_store_relaxed(&t->is_waiter, 0); /* the worker's next look opens an event */
    }
    t->waits = waits;
    t->waits_ns = now_ns;
}

/*
 * Whether the kernel's tick that sent the timer's signal found the thread inside the kernel: the
 * kernel adds the whole time from tick to tick to the thread's system time then, and to its user
 * time otherwise. (Where a kernel measures the two instead, the larger part decides.)
 */
static bool was_in_kernel(struct otp_thread *t)
{
    struct rusage used;
    if (OTP_SYS2(SYS_getrusage, RUSAGE_THREAD, &used) < 0) {
        return false;
    }
    uint64_t user_us = (uint64_t)used.ru_utime.tv_sec * 1000000U + (uint64_t)used.ru_utime.tv_usec;
    uint64_t system_us =
        (uint64_t)used.ru_stime.tv_sec * 1000000U + (uint64_t)used.ru_stime.tv_usec;
    bool is_known = t->user_us + t->system_us != 0;
    bool is_system = system_us - t->system_us > user_us - t->user_us;
    t->user_us = user_us;
    t->system_us = system_us;
    return is_known && is_system;
}

static uint64_t offset_ns; /* plus 1; 0: not known. Of all threads, any of which is right */

/*
 * How long ago the kernel's tick was that sent the timer's signal. In a system call the signal
 * waits for the call's end. The kernel ticks at multiples of its tick on the monotonic clock, give
 * or take an offset that ticks in other code show (is_prompt), for there nothing waits: an early
 * one moves it at once, a late one by little. 0 as long as it is not known.
 */
static uint64_t tick_age_ns(bool is_prompt)
{
    uint64_t tick_ns = otp_settings.kernel_tick_ns;
    uint64_t known_ns = otp_load_relaxed(&offset_ns);
    if (tick_ns == 0 || (known_ns == 0 && !is_prompt)) {
        return 0;
    }
    uint64_t phase_ns = otp_sys_monotonic_ns() % tick_ns;
    if (known_ns == 0) {
        otp_store_relaxed(&offset_ns, phase_ns + 1);
        return 0;
    }
    uint64_t age_ns = (phase_ns + tick_ns - (known_ns - 1)) % tick_ns;
    if (is_prompt) {
        bool is_early = age_ns > tick_ns / 2;
        uint64_t moved_ns = (known_ns - 1 + age_ns / LEARN_PART) % tick_ns;
        otp_store_relaxed(&offset_ns, (is_early ? phase_ns : moved_ns) + 1);
        return is_early ? 0 : age_ns;
    }
    return age_ns > tick_ns - tick_ns / EARLY_PART ? 0 : age_ns;
}

/* When that was, by the thread's CPU clock, which shows now_ns. */
static uint64_t tick_time(const struct otp_thread *t, uint64_t now_ns, bool is_prompt)
{
    uint64_t age_ns = tick_age_ns(is_prompt);
    uint64_t since_ns = now_ns > t->timer_seen_ns ? now_ns - t->timer_seen_ns : 0;
    return now_ns - (age_ns < since_ns ? age_ns : since_ns);
}

/* Whether the thread had blocked the tick's signal when it was sent, and has let it through by the
 * call that it comes back from, as far as can be seen: the mask before that, if it was asked for,
 * had the signal in it, and the tick is older than calls take that block signals for themselves. Of
 * a tick the age is known to one of the kernel's: of more, by what is due. */
static bool was_blocked(const struct otp_thread *t, const ucontext_t *uc, uint64_t now_ns)
{
    uintptr_t before = (uintptr_t)uc->uc_mcontext.gregs[REG_RDX];
    if (!has_opened_signals(uc)) {
        return false;
    }
    if (before % sizeof(uint64_t) == 0 && otp_probe_page(before & ~(uintptr_t)(OTP_PAGE - 1)) &&
        (*(const uint64_t *)before >> (otp_settings.signo - 1) & 1) == 0) {
        return false;
    }
    uint64_t due_ns = otp_timer_due(t, now_ns) * otp_load_relaxed(&otp_settings.cpu_period_ns);
    return due_ns > 2 * apart_ns() || otp_load_relaxed(&offset_ns) == 0 ||
           tick_age_ns(false) > CALL_NS;
}

/*
 * What a tick stands for in a thread without a perf event: what is due. Where periods are shorter
 * than the kernel's ticks are apart, up to that tick: if it waited for a call's end, or for signals
 * to open, the rest is the next one's, wherever that is.
 */
static void take_all(struct tick *k, const ucontext_t *uc)
{
    struct otp_thread *t = k->thread;
    if (otp_load_relaxed(&otp_settings.cpu_period_ns) < otp_settings.kernel_tick_ns) {
        k->now_ns = tick_time(t, k->now_ns, !is_at_syscall(uc));
    } else if (!is_at_syscall(uc)) {
        (void)tick_age_ns(true); /* to know it when it is asked for */
    }
    t->timer_seen_ns = k->now_ns; /* the event, when it comes, has no share in this time */
    t->user_us = 0; /* as they are when there is none yet */
    t->system_us = 0;
}

/*
 * What a tick stands for in a thread with a perf event. The event ticks at each period that ends
 * while the thread runs code of its own; the timer ticks wherever the thread is, as often as the
 * kernel looks. So the timer's ticks share the time out between the kernel (system calls, page
 * faults) and the rest, and the event's share the rest out. A timer's tick in the kernel stands for
 * the time since the timer's tick before. One elsewhere says that this time is the event's: its
 * next ticks book it, each what is due of the time that lies a kernel tick back. So nothing is
 * booked before it is known whose it is, and no thread ends with more than it has used.
 *
 * Where signals were blocked, both wait for the end of that, which is a system call mostly: then it
 * is the timer's that tells whose the time was, as for any call, and not the event's. Far more is
 * due elsewhere only when they were opened in another way: all of that belongs to the first tick
 * after it, and the other has no share in it.
 */
static void share_out(struct tick *k, const ucontext_t *uc, bool is_timer)
{
    struct otp_thread *t = k->thread;
    uint64_t now_ns = k->now_ns;
    uint64_t period_ns = otp_load_relaxed(&otp_settings.cpu_period_ns);
    bool is_behind = otp_timer_due(t, now_ns) * period_ns > TICKS_BEHIND * apart_ns();
    if (is_timer) {
        bool is_fault = was_in_kernel(t);
        bool is_call = is_at_syscall(uc);
        uint64_t seen_ns = tick_time(t, now_ns, !is_fault && !is_call);
        bool is_kernels = is_fault || is_call;
        k->since_ns = is_kernels ? t->timer_seen_ns : is_behind ? 0 : seen_ns;
        k->now_ns = seen_ns;
        t->timer_seen_ns = seen_ns;
    } else if (is_at_syscall(uc)) {
        k->now_ns = 0; /* nothing: an event never ticks there, so it was blocked and waited */
    } else if (is_behind) {
        t->timer_seen_ns = now_ns;
    } else {
        uint64_t settled_ns = now_ns > apart_ns() ? now_ns - apart_ns() : 0;
        k->now_ns = settled_ns < t->timer_seen_ns ? settled_ns : t->timer_seen_ns;
    }
}

/* Writes what this tick cost on the thread's account. */
static void note_cost(struct otp_thread *t, uint64_t began_ns, bool is_timer)
{
    uint64_t ticks = t->cost.ticks + 1;
    otp_store_relaxed(&t->cost.ticks, ticks);
    uint64_t weight = otp_cost_weight(ticks);
    if (weight != 0) {
        uint64_t one = otp_sys_thread_cpu_ns() - began_ns + OTP_COST_SIGNAL_NS;
        one += is_timer ? 0 : otp_load_relaxed(&otp_cost_event_ns);
        otp_store_relaxed(&t->cost.tick_ns, t->cost.tick_ns + one * weight);
    }
}

/* An event is known by its descriptor, whose number may be another thread's by the time that a
 * signal comes that was blocked. */
static bool is_own(const struct otp_thread *t)
{
    return t == otp_tls.thread || otp_load_relaxed(&t->tid) == otp_sys_gettid();
}

static void on_tick(const siginfo_t *info, void *context)
{
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
    uint64_t began_ns = otp_sys_thread_cpu_ns();
    struct tick k = {.thread = t, .signal = context, .now_ns = began_ns};
    uint64_t put_off_ns = t->put_off_ns; /* what was booked before is not due any more */
    k.was_blocked = is_timer && was_blocked(t, context, began_ns);
    if (is_timer && otp_settings.wants_perf) {
        watch_waits(t, began_ns);
    }
    if (otp_load_relaxed(&t->perf_fd) != 0) {
        share_out(&k, context, is_timer);
    } else {
        take_all(&k, context);
    }
    take(&k, (uintptr_t)k.signal->uc_mcontext.gregs[REG_RSP]);
    note_seen(began_ns, put_off_ns);
    note_cost(t, began_ns, is_timer);
}

/* From first to last it is said that the thread is in here, for who takes its stack away. */
void otp_tick(int signo, siginfo_t *info, void *context)
{
    struct otp_thread *own = otp_tls.thread;
    (void)signo;
    if (OTP_LIKELY(own != NULL)) {
        otp_store_relaxed(&own->is_ticking, 1);
        otp_signal_fence();
    }
    on_tick(info, context);
    if (OTP_LIKELY(own != NULL)) {
        otp_store_release(&own->is_ticking, 0);
    }
}

void otp_sampled_last_tick(const struct otp_regs *regs)
{
    struct otp_thread *t = otp_tls.thread;
    struct tick k = {
        .thread = t, .call = regs, .leaf = t->last_leaf, .now_ns = otp_sys_thread_cpu_ns()};
    uint64_t mask;
    if (otp_sys_block_signals(&mask)) {
        take(&k, otp_regs_sp(regs));
        otp_timer_hand_on(t, k.now_ns);
        otp_sys_restore_signals(mask);
    }
}
