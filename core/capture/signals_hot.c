/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/signals.h"

#include <string.h>
#include <time.h>

#include "core/base/atomic.h"
#include "core/base/sys.h"
#include "core/capture/arch.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/capture/tick.h"
#include "core/capture/timer.h"

#define SET_BYTES 8
#define SA_RESTORER_FLAG 0x04000000UL
#define RT_FIRST                                                                                   \
    62 /* real-time signals are tried from here down; libcs take from the other end                \
        */
#define RT_LAST 36
#define KERNEL_DEFAULT ((handler_fn)0)
#define KERNEL_IGNORE ((handler_fn)1)

typedef void (*handler_fn)(int signo, siginfo_t *info, void *context);

/* The kernel's struct sigaction, not libc's. */
struct kernel_action {
    handler_fn handler;
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

/* A signal that is or was ours, and what was there before. */
struct owned {
    int signo;
    uint32_t is_ours;
    struct kernel_action before;
};

static struct owned ticks;
static struct owned deadly[] = {
    {.signo = SIGTERM}, {.signo = SIGINT}, {.signo = SIGHUP}, {.signo = SIGPIPE}};
static uint64_t host_signals; /* bit per signal that the host has shown interest in */
static void (*deadly_callback)(void);

static bool set_action(int signo, const struct kernel_action *act, struct kernel_action *old)
{
    return OTP_SYS4(SYS_rt_sigaction, signo, act, old, SET_BYTES) == 0;
}

static void on_deadly(int signo, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    deadly_callback();
    struct kernel_action none = {.handler = KERNEL_DEFAULT};
    (void)set_action(signo, &none, NULL);
    /* Blocked while this handler runs; the default happens when it returns. */
    (void)OTP_SYS3(SYS_tgkill, otp_sys_getpid(), otp_sys_gettid(), signo);
}

static struct kernel_action ours(handler_fn handler, uint64_t mask)
{
    struct kernel_action a = {
        .handler = handler,
        .flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_RESTORER_FLAG,
        .restorer = otp_arch_sigreturn,
        .mask = mask,
    };
    return a;
}

static bool is_default(int signo)
{
    struct kernel_action now;
    return set_action(signo, NULL, &now) && now.handler == KERNEL_DEFAULT;
}

/* Takes signo for the ticks if nobody uses it. */
static bool take_tick(int signo)
{
    if ((host_signals >> (signo - 1) & 1U) != 0 || !is_default(signo)) {
        return false;
    }
    struct kernel_action act = ours(otp_tick, ~UINT64_C(0));
    if (!set_action(signo, &act, &ticks.before)) {
        return false;
    }
    ticks.signo = signo;
    otp_settings.signo = signo;
    otp_store_release(&ticks.is_ours, 1);
    return true;
}

static bool take_any_tick(void)
{
    if (take_tick(SIGPROF)) {
        return true;
    }
    for (int signo = RT_FIRST; signo >= RT_LAST; signo--) {
        if (take_tick(signo)) {
            return true;
        }
    }
    return false;
}

static void guard(struct owned *d)
{
    struct kernel_action act = ours(on_deadly, 0);
    if (is_default(d->signo) && set_action(d->signo, &act, &d->before)) {
        otp_store_release(&d->is_ours, 1);
    }
}

bool otp_signals_start(bool wants_timer, void (*callback)(void))
{
    if (wants_timer && !take_any_tick()) {
        return false;
    }
    deadly_callback = callback;
    for (size_t i = 0; i < OTP_ARRAY_LEN(deadly); i++) {
        guard(&deadly[i]);
    }
    return true;
}

/* Gives a signal back. Setting it to "ignore" first throws away what is pending in any thread. */
static void give_back(struct owned *o, bool has_pending)
{
    uint32_t yes = 1;
    if (!otp_cas_acq_rel(&o->is_ours, &yes, 0)) {
        return;
    }
    if (has_pending) {
        struct kernel_action ignore = {.handler = KERNEL_IGNORE};
        (void)set_action(o->signo, &ignore, NULL);
    }
    (void)set_action(o->signo, &o->before, NULL);
}

void otp_signals_stop(void)
{
    give_back(&ticks, true);
    for (size_t i = 0; i < OTP_ARRAY_LEN(deadly); i++) {
        give_back(&deadly[i], false);
    }
}

static struct owned *find(int signo)
{
    if (otp_load_acquire(&ticks.is_ours) != 0 && ticks.signo == signo) {
        return &ticks;
    }
    for (size_t i = 0; i < OTP_ARRAY_LEN(deadly); i++) {
        if (deadly[i].signo == signo && otp_load_acquire(&deadly[i].is_ours) != 0) {
            return &deadly[i];
        }
    }
    return NULL;
}

bool otp_signals_answer(int signo, struct sigaction *old)
{
    struct owned *o = find(signo);
    if (o == NULL) {
        return false;
    }
    if (old != NULL) {
        memset(old, 0, sizeof(*old)); /* both of our kinds were at their default */
    }
    return true;
}

/* Moves every thread's timer from the signal they use to the one in otp_settings. */
static void move_timers(bool has_signal)
{
    for (uint32_t n = 0;; n++) {
        struct otp_thread *t = otp_thread_get(n);
        if (t == NULL) {
            return;
        }
        if (otp_load_acquire(&t->state) == OTP_THREAD_LIVE &&
            otp_load_relaxed(&t->has_timer) != 0) {
            otp_timer_stop(t);
            if (has_signal) {
                (void)otp_timer_start(t);
            }
        }
    }
}

void otp_signals_before(int signo)
{
    if (signo < 1 || signo > 64) {
        return;
    }
    struct owned *o = find(signo);
    if (o == &ticks) {
        struct owned old = ticks;
        bool wants_perf = otp_settings.wants_perf;
        otp_settings.wants_perf = false;
        otp_settings.quiet();
        (void)__atomic_fetch_or(&host_signals, UINT64_C(1) << (signo - 1), __ATOMIC_RELAXED);
        bool has_signal = take_any_tick();
        otp_settings.is_cpu_on = has_signal;
        move_timers(has_signal);
        otp_settings.wants_perf = wants_perf;
        old.is_ours = 1;
        give_back(&old, true);
    } else if (o != NULL) {
        give_back(o, false);
    } else if (signo == SIGPROF || signo >= RT_LAST) {
        (void)__atomic_fetch_or(&host_signals, UINT64_C(1) << (signo - 1), __ATOMIC_RELAXED);
    }
}

void otp_signals_after(int signo)
{
    for (size_t i = 0; i < OTP_ARRAY_LEN(deadly); i++) {
        if (deadly[i].signo == signo && deadly_callback != NULL &&
            otp_load_acquire(&deadly[i].is_ours) == 0) {
            guard(&deadly[i]);
        }
    }
}

void otp_signals_hide(sigset_t *set)
{
    uint64_t bits;
    memcpy(&bits, set, sizeof(bits));
    if (otp_load_acquire(&ticks.is_ours) == 0) {
        return;
    }
    if (ticks.signo == SIGPROF && (bits >> (SIGPROF - 1) & 1U) != 0) {
        otp_signals_before(SIGPROF);
    }
    if (otp_load_acquire(&ticks.is_ours) != 0) {
        bits &= ~(UINT64_C(1) << (ticks.signo - 1));
        memcpy(set, &bits, sizeof(bits));
    }
}

void otp_signals_hide_pending(sigset_t *set)
{
    uint64_t bits;
    memcpy(&bits, set, sizeof(bits));
    if (otp_load_acquire(&ticks.is_ours) != 0) {
        bits &= ~(UINT64_C(1) << (ticks.signo - 1));
        memcpy(set, &bits, sizeof(bits));
    }
}

const sigset_t *otp_signals_wait_mask(const sigset_t *mask, sigset_t *copy)
{
    uint64_t bits;
    uint64_t now = 0;
    if (mask == NULL || otp_load_acquire(&ticks.is_ours) == 0) {
        return mask;
    }
    uint64_t tick = UINT64_C(1) << (ticks.signo - 1);
    if (OTP_SYS4(SYS_rt_sigprocmask, SIG_BLOCK, 0, &now, SET_BYTES) < 0 || (now & tick) == 0) {
        return mask;
    }
    memcpy(&bits, mask, sizeof(bits));
    bits |= tick;
    *copy = *mask;
    memcpy(copy, &bits, sizeof(bits));
    return copy;
}

void otp_signals_drop_pending(void)
{
    if (otp_load_acquire(&ticks.is_ours) != 0) {
        uint64_t tick = UINT64_C(1) << (ticks.signo - 1);
        struct timespec none = {0};
        while (OTP_SYS4(SYS_rt_sigtimedwait, &tick, 0, &none, SET_BYTES) > 0) {
        }
    }
}
