/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/signals.h"

#include <string.h>
#include <time.h>

#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/dynsym.h"
#include "core/base/sys.h"
#include "core/capture/arch.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/capture/tick.h"
#include "core/capture/timer.h"

#define NAMED_MAX 16 /* signals in a set whose maker has each of them in mind */
#define SET_BYTES 8
#define SA_RESTORER_FLAG 0x04000000UL
#define RT_FIRST                                                                                   \
    62 /* real-time signals are tried from here down; libcs take from the other end                \
        */
#define RT_LAST 36
#define RT_LAST_OF_GLIBC 34 /* one that musl keeps to itself; Go's runtime leaves no other */
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
static struct owned toggle; /* starts and stops */
static void (*toggle_callback)(void);
static struct owned deadly[] = {{.signo = SIGTERM}, {.signo = SIGINT},  {.signo = SIGHUP},
                                {.signo = SIGPIPE}, {.signo = SIGALRM}, {.signo = SIGUSR1},
                                {.signo = SIGUSR2}};
static uint64_t host_signals; /* bit per signal that the host has shown interest in */
static uint64_t shielded;     /* bit per signal whose handler has the tick blocked by us */
static uint32_t is_locked;    /* while what is ours changes hands */
static uint32_t is_altstack_avoided;
static void (*deadly_callback)(void);

static bool set_action(int signo, const struct kernel_action *act, struct kernel_action *old)
{
    return OTP_SYS4(SYS_rt_sigaction, signo, act, old, SET_BYTES) == 0;
}

/* The mask of a thread while it holds the lock. */
struct held_mask {
    uint64_t before;
    bool is_blocked;
};

/* All signals are blocked meanwhile, so that no handler can wait for what it has interrupted. */
static void lock(struct held_mask *mask)
{
    mask->is_blocked = otp_sys_block_signals(&mask->before);
    while (otp_exchange_acq_rel(&is_locked, 1) != 0) { /* pairs: SIGNALS */
        (void)OTP_SYS0(SYS_sched_yield);
    }
}

static void unlock(const struct held_mask *mask)
{
    otp_store_release(&is_locked, 0); /* pairs: SIGNALS */
    if (mask->is_blocked) {
        otp_sys_restore_signals(mask->before);
    }
}

static uint64_t bit_of(int signo)
{
    return UINT64_C(1) << (signo - 1);
}

static void on_deadly(int signo, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    void (*callback)(void) = otp_load_acquire(&deadly_callback);
    if (callback != NULL) {
        callback();
    }
    struct kernel_action none = {.handler = KERNEL_DEFAULT};
    /* Once more when it is refused: only this way is the process seen to die of the signal. */
    bool is_default_again = set_action(signo, &none, NULL) || set_action(signo, &none, NULL);
    /* Blocked while this handler runs; the default happens when it returns. */
    if (!is_default_again || (OTP_SYS3(SYS_tgkill, otp_sys_getpid(), otp_sys_gettid(), signo) < 0 &&
                              OTP_SYS2(SYS_kill, otp_sys_getpid(), signo) < 0)) {
        (void)OTP_SYS1(SYS_exit_group, 128 + signo); /* refused: it ends all the same */
    }
}

/* A child of vfork runs on our memory, but it is not the process that was meant. */
static void on_toggle(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
    (void)context;
    if (otp_capture_is_there() && otp_settings.pid == otp_sys_getpid()) {
        toggle_callback();
    }
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
    int last = otp_dynsym_is_glibc() ? RT_LAST_OF_GLIBC : RT_LAST;
    for (int signo = RT_FIRST; signo >= last; signo--) {
        if (take_tick(signo)) {
            return true;
        }
    }
    return false;
}

static void guard(struct owned *d)
{
    struct kernel_action act = ours(on_deadly, 0);
    if (otp_load_relaxed(&is_altstack_avoided) != 0) {
        act.flags &= ~(unsigned long)SA_ONSTACK;
    }
    if (is_default(d->signo) && set_action(d->signo, &act, &d->before)) {
        otp_store_release(&d->is_ours, 1);
    }
}

bool otp_signals_take_toggle(int signo, void (*callback)(void))
{
    struct kernel_action act = ours(on_toggle, 0);
    if (!set_action(signo, NULL, &toggle.before) ||
        (toggle.before.handler != KERNEL_DEFAULT && toggle.before.handler != KERNEL_IGNORE)) {
        return false;
    }
    toggle.signo = signo;
    toggle_callback = callback;
    if (!set_action(signo, &act, NULL)) {
        return false;
    }
    otp_store_release(&toggle.is_ours, 1);
    return true;
}

bool otp_signals_has_toggle(void)
{
    return otp_load_acquire(&toggle.is_ours) != 0;
}

bool otp_signals_start(bool wants_timer, void (*callback)(void))
{
    if (wants_timer && !take_any_tick()) {
        return false;
    }
    if (otp_settings.pid == 1) {
        return true; /* the kernel keeps deadly signals at their default from it anyway */
    }
    deadly_callback = callback;
    for (size_t i = 0; i < OTP_ARRAY_LEN(deadly); i++) {
        guard(&deadly[i]);
    }
    return true;
}

/* Signals of a number that are pending for the calling thread and not ours: one of its own, one of
 * the process. */
struct pending {
    siginfo_t info[2];
    unsigned count;
};

static bool is_tick(const siginfo_t *info)
{
    return info->si_code == SI_TIMER
               ? otp_timer_is_cookie((uint64_t)(uintptr_t)info->si_value.sival_ptr)
               : info->si_code >= POLL_IN && info->si_code <= POLL_HUP;
}

/* Takes all that is pending, ours too. All signals are blocked. */
static void take_pending(int signo, struct pending *out)
{
    uint64_t bits = bit_of(signo);
    struct timespec none = {0};
    siginfo_t info;
    out->count = 0;
    while (OTP_SYS4(SYS_rt_sigtimedwait, &bits, &info, &none, SET_BYTES) > 0) {
        if (!is_tick(&info) && out->count < OTP_ARRAY_LEN(out->info)) {
            out->info[out->count++] = info;
        }
    }
}

/* Makes them pending again. Only the first thread may send as the kernel does to the whole process.
 */
static void put_pending(int signo, struct pending *p)
{
    int pid = otp_sys_getpid();
    for (unsigned i = 0; i < p->count; i++) {
        if (p->info[i].si_code == SI_TKILL ||
            OTP_SYS3(SYS_rt_sigqueueinfo, pid, signo, &p->info[i]) < 0) {
            (void)OTP_SYS4(SYS_rt_tgsigqueueinfo, pid, otp_sys_gettid(), signo, &p->info[i]);
        }
    }
}

/* Gives a signal back. Setting it to "ignore" first throws away ticks that are pending in any
 * thread. */
static void give_back(struct owned *o, bool has_pending)
{
    uint32_t yes = 1;
    struct pending own = {.count = 0};
    if (!otp_cas_acq_rel(&o->is_ours, &yes, 0)) {
        return;
    }
    if (has_pending) {
        struct kernel_action ignore = {.handler = KERNEL_IGNORE};
        take_pending(o->signo, &own);
        (void)set_action(o->signo, &ignore, NULL);
    }
    (void)set_action(o->signo, &o->before, NULL);
    put_pending(o->signo, &own);
}

/* Puts the tick's new signal (0: none) into the masks of the handlers that had the old one from us.
 */
static void move_shields(int before, int after)
{
    for (int signo = 1; signo <= 64; signo++) {
        struct kernel_action a;
        if ((otp_load_relaxed(&shielded) & bit_of(signo)) != 0 && set_action(signo, NULL, &a)) {
            a.mask &= ~bit_of(before);
            a.mask |= after == 0 ? 0 : bit_of(after);
            (void)set_action(signo, &a, NULL);
        }
    }
    if (after == 0) {
        otp_store_relaxed(&shielded, 0);
    }
}

void otp_signals_stop(void)
{
    struct held_mask mask;
    lock(&mask);
    move_shields(ticks.signo == 0 ? SIGPROF : ticks.signo, 0);
    give_back(&ticks, true);
    give_back(&toggle, true);
    deadly_callback = NULL; /* none is guarded again */
    for (size_t i = 0; i < OTP_ARRAY_LEN(deadly); i++) {
        give_back(&deadly[i], false);
    }
    unlock(&mask);
}

static struct owned *find(int signo)
{
    if (otp_load_acquire(&ticks.is_ours) != 0 && ticks.signo == signo) {
        return &ticks;
    }
    if (toggle.signo == signo && otp_load_acquire(&toggle.is_ours) != 0) {
        return &toggle;
    }
    for (size_t i = 0; i < OTP_ARRAY_LEN(deadly); i++) {
        if (deadly[i].signo == signo && otp_load_acquire(&deadly[i].is_ours) != 0) {
            return &deadly[i];
        }
    }
    return NULL;
}

/* A child of vfork has handlers of its own but our memory: what it does there is not the host's. */
static bool is_vfork_child(void)
{
    return otp_settings.pid != otp_sys_getpid();
}

bool otp_signals_answer(int signo, struct sigaction *old)
{
    struct owned *o = find(signo);
    if (o == NULL) {
        return false;
    }
    if (old != NULL) {
        memset(old, 0, sizeof(*old)); /* at its default, or ignored */
        old->sa_handler = o->before.handler == KERNEL_IGNORE ? SIG_IGN : SIG_DFL;
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
        uint32_t state = otp_load_acquire(&t->state);
        if (state != OTP_THREAD_FREE && otp_load_relaxed(&t->has_timer) != 0) {
            otp_timer_stop(t);
            if (has_signal && state == OTP_THREAD_LIVE) {
                (void)otp_timer_start(t);
            }
        }
    }
}

/* The ticks go over to another signal, or end. is_taken: the host has replaced our handler already.
 */
static void give_up_tick(bool is_taken)
{
    struct owned old = ticks;
    (void)otp_add_acq_rel(&otp_settings.perf_holds, 1);
    otp_signals_quiet();
    (void)__atomic_fetch_or(&host_signals, bit_of(old.signo), __ATOMIC_RELAXED);
    bool has_signal = take_any_tick();
    otp_settings.is_cpu_on = has_signal;
    move_timers(has_signal);
    (void)otp_sub_acq_rel(&otp_settings.perf_holds, 1);
    move_shields(old.signo, has_signal ? ticks.signo : 0);
    if (!has_signal) {
        otp_store_release(&ticks.is_ours, 0);
        otp_count(OTP_COUNT_TIMERS, OTP_OF_CPU, 1);
        otp_settings.need_worker(); /* says so */
    }
    if (!is_taken) {
        old.is_ours = 1;
        give_back(&old, true);
    }
}

void otp_signals_before(int signo)
{
    struct held_mask mask;
    if (signo < 1 || signo > 64) {
        return;
    }
    bool may_be_a_tick = signo == SIGPROF || signo >= RT_LAST;
    if ((!may_be_a_tick && find(signo) == NULL) || is_vfork_child()) {
        return;
    }
    lock(&mask);
    struct owned *o = find(signo);
    if (o == &ticks) {
        give_up_tick(false);
    } else if (o != NULL) {
        give_back(o, o == &toggle);
    } else if (may_be_a_tick) {
        (void)__atomic_fetch_or(&host_signals, bit_of(signo), __ATOMIC_RELAXED);
    }
    unlock(&mask);
}

void otp_signals_before_mask(int how, const sigset_t *set)
{
    uint64_t bits;
    if (set == NULL || how == SIG_UNBLOCK || otp_load_acquire(&ticks.is_ours) == 0 ||
        ticks.signo != SIGPROF) {
        return;
    }
    memcpy(&bits, set, sizeof(bits));
    /* One pending signal of a number is all there is: a tick would swallow the program's own. */
    unsigned count = 0;
    bool has_it = (bits & bit_of(SIGPROF)) != 0;
    for (; has_it && bits != 0; bits &= bits - 1) {
        count++;
    }
    if (has_it && count <= NAMED_MAX) {
        otp_signals_before(SIGPROF);
    }
}

void otp_signals_after(int signo)
{
    struct held_mask mask;
    for (size_t i = 0; i < OTP_ARRAY_LEN(deadly); i++) {
        if (deadly[i].signo == signo && deadly_callback != NULL &&
            otp_load_acquire(&deadly[i].is_ours) == 0 && !is_vfork_child()) {
            lock(&mask);
            guard(&deadly[i]);
            unlock(&mask);
        }
    }
}

static bool has_handler(int signo, handler_fn handler)
{
    struct kernel_action now;
    return !set_action(signo, NULL, &now) || now.handler == handler;
}

static bool is_tick_taken(void)
{
    return otp_load_relaxed(&ticks.is_ours) != 0 && !has_handler(ticks.signo, otp_tick);
}

void otp_signals_check_tick(void)
{
    struct held_mask mask;
    if (!is_tick_taken() || is_vfork_child()) {
        return;
    }
    lock(&mask);
    if (is_tick_taken()) {
        give_up_tick(true);
    }
    unlock(&mask);
}

void otp_signals_check(void)
{
    if (otp_exchange_acq_rel(&is_locked, 1) != 0) {
        return; /* who holds it may be waiting for the worker, which is us */
    }
    if (is_tick_taken()) {
        give_up_tick(true);
    }
    if (otp_load_relaxed(&toggle.is_ours) != 0 && !has_handler(toggle.signo, on_toggle)) {
        otp_store_release(&toggle.is_ours, 0);
    }
    for (size_t i = 0; i < OTP_ARRAY_LEN(deadly); i++) {
        if (otp_load_relaxed(&deadly[i].is_ours) != 0 && !has_handler(deadly[i].signo, on_deadly)) {
            otp_store_release(&deadly[i].is_ours, 0);
        }
    }
    otp_store_release(&is_locked, 0); /* pairs: SIGNALS */
}

void otp_signals_forget_lock(void)
{
    otp_store_relaxed(&is_locked, 0);
}

bool otp_signals_has_shields(void)
{
    return otp_load_relaxed(&shielded) != 0;
}

bool otp_signals_add_tick(sigset_t *set)
{
    uint64_t bits;
    memcpy(&bits, set, sizeof(bits));
    if (otp_load_acquire(&ticks.is_ours) == 0 || (bits & bit_of(ticks.signo)) != 0) {
        return false;
    }
    bits |= bit_of(ticks.signo);
    memcpy(set, &bits, sizeof(bits));
    return true;
}

void otp_signals_unblock_tick(void)
{
    if (otp_load_acquire(&ticks.is_ours) != 0) {
        uint64_t tick = bit_of(ticks.signo);
        (void)OTP_SYS4(SYS_rt_sigprocmask, SIG_UNBLOCK, &tick, 0, SET_BYTES);
    }
}

const struct sigaction *otp_signals_shield(int signo, const struct sigaction *act,
                                           struct sigaction *copy)
{
    bool is_handler = act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN;
    if (signo < 1 || signo > 64 || !is_handler || (act->sa_flags & SA_ONSTACK) == 0) {
        return act;
    }
    *copy = *act;
    return otp_signals_add_tick(&copy->sa_mask) ? copy : act;
}

void otp_signals_hide_shield(int signo, struct sigaction *old)
{
    if (signo >= 1 && signo <= 64 && (otp_load_relaxed(&shielded) & bit_of(signo)) != 0) {
        otp_signals_hide_pending(&old->sa_mask);
    }
}

void otp_signals_note_shield(int signo, bool is_shielded)
{
    if (signo < 1 || signo > 64) {
        return;
    }
    if (is_shielded) {
        (void)__atomic_fetch_or(&shielded, bit_of(signo), __ATOMIC_RELAXED);
    } else if ((otp_load_relaxed(&shielded) & bit_of(signo)) != 0) {
        (void)__atomic_fetch_and(&shielded, ~bit_of(signo), __ATOMIC_RELAXED);
    }
}

void otp_signals_avoid_altstack(void)
{
    struct held_mask mask;
    if (otp_load_relaxed(&is_altstack_avoided) != 0) {
        return;
    }
    lock(&mask);
    otp_store_relaxed(&is_altstack_avoided, 1);
    for (size_t i = 0; i < OTP_ARRAY_LEN(deadly); i++) {
        if (otp_load_relaxed(&deadly[i].is_ours) != 0) {
            struct kernel_action act = ours(on_deadly, 0);
            act.flags &= ~(unsigned long)SA_ONSTACK;
            (void)set_action(deadly[i].signo, &act, NULL);
        }
    }
    if (otp_load_relaxed(&toggle.is_ours) != 0) {
        struct kernel_action act = ours(on_toggle, 0);
        act.flags &= ~(unsigned long)SA_ONSTACK;
        (void)set_action(toggle.signo, &act, NULL);
    }
    unlock(&mask);
}

void otp_signals_quiet(void)
{
    if (otp_settings.is_perf_used || otp_settings.wants_perf) {
        otp_settings.quiet();
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
        bits &= ~(bit_of(ticks.signo));
        memcpy(set, &bits, sizeof(bits));
    }
}

void otp_signals_hide_pending(sigset_t *set)
{
    uint64_t bits;
    memcpy(&bits, set, sizeof(bits));
    if (otp_load_acquire(&ticks.is_ours) != 0) {
        bits &= ~(bit_of(ticks.signo));
        memcpy(set, &bits, sizeof(bits));
    }
}

const sigset_t *otp_signals_wait_mask(const sigset_t *mask, sigset_t *copy)
{
    uint64_t now = 0;
    if (mask == NULL || otp_load_acquire(&ticks.is_ours) == 0 ||
        OTP_SYS4(SYS_rt_sigprocmask, SIG_BLOCK, 0, &now, SET_BYTES) < 0 ||
        (now & bit_of(ticks.signo)) == 0) {
        return mask;
    }
    *copy = *mask;
    (void)otp_signals_add_tick(copy);
    return copy;
}

bool otp_signals_drop_pending(void)
{
    struct held_mask mask;
    struct pending own = {.count = 0};
    if (otp_load_acquire(&ticks.is_ours) == 0) {
        return false;
    }
    lock(&mask);
    if (mask.is_blocked && otp_load_acquire(&ticks.is_ours) != 0) {
        take_pending(ticks.signo, &own);
        put_pending(ticks.signo, &own);
    }
    unlock(&mask);
    return own.count > 0;
}

void otp_signals_show_pending(sigset_t *set)
{
    uint64_t bits;
    memcpy(&bits, set, sizeof(bits));
    if (otp_load_acquire(&ticks.is_ours) != 0 && (bits & bit_of(ticks.signo)) != 0 &&
        !otp_signals_drop_pending()) {
        otp_signals_hide_pending(set);
    }
}
