/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/altstack.h"

#include <stdint.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/sys.h"
#include "core/capture/arch.h"
#include "core/capture/capture.h"
#include "core/capture/object.h"
#include "core/capture/signals.h"
#include "core/capture/thread.h"
#include "core/capture/timer.h"

#define OWN_BYTES ((size_t)1024) /* of the handler, before it is on its scratch stack */

static size_t needed_bytes;

void otp_altstack_init(size_t frame_bytes)
{
    needed_bytes = OWN_BYTES + (frame_bytes != 0 ? frame_bytes : otp_arch_signal_frame_bytes());
}

static bool is_too_small(const stack_t *s)
{
    return (s->ss_flags & SS_DISABLE) == 0 && s->ss_size < needed_bytes;
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

/* The worker may have made records of its own for a thread that nobody had announced. */
static void stop_all_of(int32_t tid)
{
    struct otp_thread *t;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        if (otp_load_relaxed(&t->tid) == tid && otp_load_acquire(&t->state) != OTP_THREAD_FREE) {
            (void)otp_exchange_acq_rel(&t->is_off, 1);
            otp_timer_stop(t);
        }
    }
}

static void end_ticks(struct otp_thread *t)
{
    stop_all_of(t->tid);
    otp_signals_quiet();
    (void)otp_signals_drop_pending();
}

void otp_altstack_before(const stack_t *s)
{
    struct otp_thread *t = own_thread();
    if (t == NULL || t->is_off != 0 || !is_too_small(s)) {
        return;
    }
    otp_count(OTP_COUNT_SMALL_STACK, OTP_OF_CPU, 1);
    otp_signals_avoid_altstack();
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
        bool is_set = (s->ss_flags & SS_DISABLE) == 0;
        t->alt_low = is_set ? (uintptr_t)s->ss_sp : 0;
        t->alt_high = is_set ? (uintptr_t)s->ss_sp + s->ss_size : 0;
    }
    if (t == NULL || t->is_off == 0 || (is_done && is_too_small(s))) {
        return;
    }
    if (!is_done && (OTP_SYS2(SYS_sigaltstack, 0, &now) < 0 || is_too_small(&now))) {
        return; /* refused, and the one before was too small as well */
    }
    otp_store_release(&t->is_off, 0);
    if (otp_capture_is_on()) {
        (void)otp_timer_start(t);
    }
}

static bool is_on(uintptr_t sp)
{
    const struct otp_thread *t = otp_tls.thread;
    return t != NULL && sp - t->alt_low < t->alt_high - t->alt_low;
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
