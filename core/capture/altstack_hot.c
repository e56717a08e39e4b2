/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/altstack.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/probe.h"
#include "core/base/sys.h"
#include "core/capture/alloc.h"
#include "core/capture/arch.h"
#include "core/capture/capture.h"
#include "core/capture/object.h"
#include "core/capture/signals.h"
#include "core/capture/thread.h"
#include "core/capture/timer.h"

#define OWN_BYTES ((size_t)1024) /* of the handler, before it is on its scratch stack */

#define NEVER_A_BLOCK ((uintptr_t)2 << 20) /* where allocators begin a piece of their own */
#define PAUSE_NS 500000  /* of who takes away a stack on which another thread may be */
#define FEW_PAUSES 40    /* for one that sleeps, or waits for its turn; */
#define ALL_PAUSES 200   /* for all of those together, in the life of the process */
#define MOST_PAUSES 2000 /* for one that is there */
#define LEFT_NS 100000   /* in which it has come off */

uintptr_t otp_altstack_highest;
static uint32_t count_to; /* records behind this one never had an alternate stack; atomic */
static size_t needed_bytes;

void otp_altstack_init(size_t frame_bytes)
{
    needed_bytes = OWN_BYTES + (frame_bytes != 0 ? frame_bytes : otp_arch_signal_frame_bytes());
}

static bool is_too_small(const stack_t *s)
{
    return (s->ss_flags & SS_DISABLE) == 0 && s->ss_size < needed_bytes;
}

/* The high end is 0 while the low one changes: the thread's own handlers, and others, look at both.
 */
static void set_range(struct otp_thread *t, uintptr_t low, uintptr_t high)
{
    otp_store_release(&t->alt_high, 0);
    otp_signal_fence();
    otp_store_release(&t->alt_low, low);
    otp_signal_fence();
    otp_store_release(&t->alt_high, high);
}

/* Whether a tick of t would be written there: at the upper end. bytes is 0 when it is not known how
 * far a block reaches. */
static bool is_tick_in(const struct otp_thread *t, uintptr_t low, size_t bytes)
{
    uintptr_t high = otp_load_acquire(&t->alt_high);
    uintptr_t begin = otp_load_acquire(&t->alt_low);
    if (high == 0 || high - begin < needed_bytes || otp_load_acquire(&t->alt_high) != high) {
        return false;
    }
    if (bytes == 0) {
        return begin == low;
    }
    begin = high - needed_bytes;
    return begin - low < bytes || low - begin < high - begin;
}

/*
 * Whether the memory from low on can be (part of) a block of the allocator. Not so are stacks of
 * threads, variables, and what has a page before it that cannot be read: a mapping with a guard
 * page, as long as it does not lie where an allocator may begin.
 */
static bool may_be_block(const struct otp_thread *t, uintptr_t low)
{
    struct otp_object_range object;
    bool is_on_stack = low - t->stack_low < t->stack_high - t->stack_low;
    bool is_guarded =
        low % OTP_PAGE == 0 && low % NEVER_A_BLOCK != 0 && !otp_probe_page(low - OTP_PAGE);
    return !is_on_stack && !is_guarded && !otp_object_find(low, &object);
}

static void raise_highest(uintptr_t high)
{
    uintptr_t old = otp_load_relaxed(&otp_altstack_highest);
    while (old < high && !otp_cas_acq_rel(&otp_altstack_highest, &old, high)) {
    }
}

static void raise_count(uint32_t count)
{
    uint32_t old = otp_load_relaxed(&count_to);
    while (old < count && !otp_cas_acq_rel(&count_to, &old, count)) {
    }
}

/* From now on it is seen when the stack's memory goes away. */
static void remember(struct otp_thread *t, const stack_t *s)
{
    bool is_set = (s->ss_flags & SS_DISABLE) == 0;
    uintptr_t low = (uintptr_t)s->ss_sp;
    set_range(t, is_set ? low : 0, is_set ? low + s->ss_size : 0);
    if (is_set) {
        raise_count(t->number + 1);
        raise_highest(low + s->ss_size);
        if (may_be_block(t, low)) {
            otp_alloc_watch();
        }
    }
}

/*
 * The calling thread's record, made when it has none: a timer may be meant for it at any moment. A
 * child of vfork runs on its parent's.
 */
static struct otp_thread *own_thread(void)
{
    if (!otp_settings.is_cpu_on || !otp_capture_is_there()) {
        return NULL;
    }
    struct otp_thread *t = otp_thread_current();
    return t != NULL && t->tid == otp_sys_gettid() ? t : NULL;
}

/* The worker may have made records of its own for a thread that nobody had announced. The periods
 * of own, the thread's record, go on: what it uses is told without a stack. */
static void stop_all_of(const struct otp_thread *own)
{
    struct otp_thread *t;
    int32_t tid = otp_load_relaxed(&own->tid);
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        if (otp_load_relaxed(&t->tid) == tid && otp_load_acquire(&t->state) != OTP_THREAD_FREE) {
            (void)otp_exchange_acq_rel(&t->is_off, OTP_OFF);
            otp_timer_stop(t);
            if (t != own) {
                otp_timer_forget(t);
            }
        }
    }
}

static void end_ticks(struct otp_thread *t)
{
    stop_all_of(t);
    otp_signals_quiet();
    (void)otp_signals_drop_pending();
}

static void begin_ticks(struct otp_thread *t)
{
    otp_store_release(&t->is_off, OTP_OFF_NOT);
    if (otp_capture_is_on()) {
        (void)otp_timer_start(t);
    }
}

/* No ticks any more from here on, nor do we ourselves take any other signal on such a stack. */
static void give_up(enum otp_counter why)
{
    otp_count(why, OTP_OF_CPU, 1);
    otp_signals_avoid_altstack();
}

void otp_altstack_before(const stack_t *s)
{
    if (!otp_settings.is_cpu_on && (s->ss_flags & SS_DISABLE) == 0 && otp_capture_is_there()) {
        otp_signals_avoid_altstack(); /* nobody looks at what becomes of it */
    }
    struct otp_thread *t = own_thread();
    if (t == NULL || t->is_off != OTP_OFF_NOT || !is_too_small(s)) {
        return;
    }
    give_up(OTP_COUNT_SMALL_STACK);
    end_ticks(t);
}

void otp_altstack_at_end(struct otp_thread *t)
{
    stack_t now;
    if (OTP_SYS2(SYS_sigaltstack, 0, &now) < 0 || (now.ss_flags & SS_DISABLE) == 0) {
        end_ticks(t);
    }
}

void otp_altstack_after(const stack_t *s, bool is_done)
{
    struct otp_thread *t = own_thread();
    stack_t now;
    if (t != NULL && is_done) {
        remember(t, s);
    }
    if (t == NULL || t->is_off == OTP_OFF_NOT || (is_done && is_too_small(s))) {
        return;
    }
    if (!is_done && (OTP_SYS2(SYS_sigaltstack, 0, &now) < 0 || is_too_small(&now))) {
        return; /* refused, and the one before was too small as well */
    }
    begin_ticks(t);
}

/* Whether the kernel still has that stack for the calling thread, whose record is t. */
static bool is_set(const struct otp_thread *t)
{
    stack_t now;
    return OTP_SYS2(SYS_sigaltstack, 0, &now) == 0 && (now.ss_flags & SS_DISABLE) == 0 &&
           (uintptr_t)now.ss_sp == t->alt_low;
}

static uint32_t pauses; /* that were made for threads which did not move */

/*
 * Another thread may be in the middle of a tick, on the stack that goes away, or a few instructions
 * before or behind it. It has left it when it has used some time and is not in the handler; or it
 * sleeps, or is gone. One that sleeps looks like one that was interrupted in just those few
 * instructions: a program that frees the stacks of a thousand sleepers shall not wait for each.
 */
static void await_idle(const struct otp_thread *t)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    uint64_t began_ns;
    uint64_t now_ns;
    bool is_there = otp_timer_clock(t, &began_ns);
    for (int i = 0; is_there && i < MOST_PAUSES; i++) {
        bool is_ticking = otp_load_acquire(&t->is_ticking) != 0;
        if (!is_ticking && (i >= FEW_PAUSES || otp_load_relaxed(&pauses) >= ALL_PAUSES)) {
            return;
        }
        (void)otp_add_relaxed(&pauses, is_ticking ? 0 : 1);
        (void)OTP_SYS2(SYS_nanosleep, &pause, 0);
        is_there = otp_timer_clock(t, &now_ns) &&
                   (now_ns - began_ns < LEFT_NS || otp_load_acquire(&t->is_ticking) != 0);
    }
}

static bool lose(struct otp_thread *t)
{
    bool is_own = t == otp_tls.thread;
    /* A child of vfork or clone can neither stop the timer nor ask. */
    if (otp_sys_getpid() != otp_settings.pid || (is_own && !is_set(t))) {
        return false;
    }
    give_up(OTP_COUNT_LOST_STACK);
    if (is_own) {
        end_ticks(t);
    } else {
        otp_store_release(&t->has_stale, 1);
        stop_all_of(t);
        otp_signals_quiet();
        await_idle(t);
    }
    otp_store_release(&t->is_off, OTP_OFF_LOST);
    return true;
}

bool otp_altstack_lose(uintptr_t low, size_t bytes)
{
    bool has_lost = false;
    uint32_t count = otp_load_acquire(&count_to);
    for (uint32_t n = 0; n < count; n++) {
        struct otp_thread *t = otp_thread_get(n);
        if (t != NULL && is_tick_in(t, low, bytes) && otp_load_relaxed(&t->tid) != 0 &&
            otp_load_acquire(&t->state) == OTP_THREAD_LIVE &&
            otp_load_acquire(&t->is_off) == OTP_OFF_NOT) {
            has_lost |= lose(t);
        }
    }
    return has_lost;
}

void otp_altstack_keep(uintptr_t low, size_t bytes)
{
    uint32_t count = otp_load_acquire(&count_to);
    for (uint32_t n = 0; n < count; n++) {
        struct otp_thread *t = otp_thread_get(n);
        if (t != NULL && otp_load_acquire(&t->is_off) == OTP_OFF_LOST &&
            is_tick_in(t, low, bytes) && otp_load_relaxed(&t->alt_high) - low <= bytes) {
            begin_ticks(t);
        }
    }
}

void otp_altstack_before_mask(void)
{
    struct otp_thread *t = otp_tls.thread;
    if (OTP_UNLIKELY(t != NULL && otp_load_relaxed(&t->has_stale) != 0) &&
        t->tid == otp_sys_gettid()) {
        otp_store_relaxed(&t->has_stale, 0);
        (void)otp_signals_drop_pending();
    }
}

static bool is_on(uintptr_t sp)
{
    const struct otp_thread *t = otp_tls.thread;
    return t != NULL && sp >= t->alt_low && sp < t->alt_high;
}

bool otp_altstack_is_shielded(void)
{
    return is_on(otp_arch_sp()) && otp_signals_has_shields();
}

const sigset_t *otp_altstack_mask(int how, const sigset_t *set, sigset_t *copy)
{
    if (set == NULL || !otp_altstack_is_shielded()) {
        return set;
    }
    *copy = *set;
    if (how == SIG_UNBLOCK) {
        otp_signals_hide_pending(copy);
    } else {
        otp_signals_add_tick(copy);
    }
    return copy;
}

struct __jmp_buf_tag *otp_altstack_jump(struct __jmp_buf_tag *env, struct __jmp_buf_tag *copy)
{
    struct otp_object_range range;
    if (!otp_altstack_is_shielded() || env->__mask_was_saved == 0) {
        return env;
    }
    uintptr_t pc = otp_arch_jump_pc(env->__jmpbuf);
    uintptr_t sp = otp_arch_jump_sp(env->__jmpbuf);
    memcpy(copy, env, sizeof(*copy));
    bool is_added = otp_signals_add_tick(&copy->__saved_mask);
    if (!is_added || is_on(sp) || sp % 8 != 0 || !otp_object_find(pc, &range)) {
        return env;
    }
    otp_tls.jump_pc = pc;
    otp_arch_set_jump_pc(copy->__jmpbuf, (uintptr_t)otp_arch_jump_landing);
    return copy;
}

uintptr_t otp_jump_landed(void);

/* On the stack that was jumped to, called by the landing: where the jump was meant to go. */
uintptr_t otp_jump_landed(void)
{
    otp_signals_unblock_tick();
    return otp_tls.jump_pc;
}
