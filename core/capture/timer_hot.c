/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/timer.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/sys.h"
#include "core/capture/capture.h"
#include "core/capture/phase.h"
#include "core/capture/random.h"

#define COOKIE_MAGIC UINT64_C(0x07be) /* upper 16 bits; then 24 bits generation, 24 bits number */
#define TOLD_BITS 48
#define TOLD_MASK ((UINT64_C(1) << TOLD_BITS) - 1)
#define START_TRIES 1000
#define INTERVALS                                                                                  \
    64U /* of a timer, from one of the kernel's ticks to the next, if it is to send at each */

uint64_t otp_timer_cookie(const struct otp_thread *t)
{
    return COOKIE_MAGIC << 48 | (uint64_t)(otp_load_relaxed(&t->generation) & 0xffffffU) << 24 |
           t->number;
}

bool otp_timer_is_cookie(uint64_t value)
{
    return value >> 48 == COOKIE_MAGIC;
}

struct otp_thread *otp_timer_thread(uint64_t cookie)
{
    if (!otp_timer_is_cookie(cookie)) {
        return NULL;
    }
    struct otp_thread *t = otp_thread_get((uint32_t)(cookie & 0xffffffU));
    if (t == NULL || otp_timer_cookie(t) != cookie ||
        otp_load_relaxed(&t->state) == OTP_THREAD_FREE) {
        return NULL;
    }
    return t;
}

static void set_time(struct timespec *ts, uint64_t ns)
{
    ts->tv_sec = (time_t)(ns / 1000000000U);
    ts->tv_nsec = (long)(ns % 1000000000U);
}

/* The kernel's clock number of any thread's CPU time. Source: linux/posix-timers.h. */
static long clock_of(const struct otp_thread *t)
{
    return (long)(int32_t)((~(uint32_t)otp_load_relaxed(&t->tid) << 3) | 6U);
}

/* The pace that due names. Only to be believed as long as due stays what it is. */
static struct otp_pace pace_of(const struct otp_thread *t, uint64_t due)
{
    const struct otp_pace *slot = &t->pace[due >> TOLD_BITS & 1];
    struct otp_pace p = {.first_ns = otp_load_relaxed(&slot->first_ns),
                         .origin_ns = otp_load_relaxed(&slot->origin_ns),
                         .period_ns = otp_load_relaxed(&slot->period_ns)};
    return p;
}

/* Puts another pace in force, with nothing told of it; false: due is not what it was. */
static bool replace_pace(struct otp_thread *t, uint64_t due, const struct otp_pace *p)
{
    uint64_t next = (due | TOLD_MASK) + 1;
    struct otp_pace *slot = &t->pace[next >> TOLD_BITS & 1];
    otp_store_relaxed(&slot->first_ns, p->first_ns);
    otp_store_relaxed(&slot->origin_ns, p->origin_ns);
    otp_store_relaxed(&slot->period_ns, p->period_ns);
    return otp_cas_acq_rel(&t->due, &due, next); /* pairs: PACE */
}

void otp_timer_forget(struct otp_thread *t)
{
    const struct otp_pace none = {0};
    while (!replace_pace(t, otp_load_acquire(&t->due), &none)) { /* pairs: PACE */
    }
}

/* Draws the end of the first period, counted from a reading of the thread's CPU clock. */
static void begin_periods(struct otp_thread *t, uint64_t from_ns)
{
    uint64_t period = otp_load_relaxed(&otp_settings.cpu_period_ns);
    struct otp_phase begun = otp_phase_take(period);
    struct otp_pace p = {.period_ns = period};
    p.origin_ns = (int64_t)from_ns - (int64_t)begun.used_ns;
    p.first_ns = p.origin_ns + otp_phase_draw(begun, period, &t->random);
    while (!replace_pace(t, otp_load_acquire(&t->due), &p)) { /* pairs: PACE */
    }
}

/* Periods that ended up to now. */
static uint64_t ends_of(const struct otp_pace *p, uint64_t now_ns)
{
    if (p->period_ns == 0 || (int64_t)now_ns < p->first_ns) {
        return 0;
    }
    return 1 + (now_ns - (uint64_t)p->first_ns) / p->period_ns;
}

/* Of the periods that ended after since (0: of all), those that nothing is told of. */
static uint64_t untold(const struct otp_pace *p, uint64_t due, uint64_t since_ns, uint64_t now_ns)
{
    uint64_t ends = ends_of(p, now_ns);
    uint64_t told = due & TOLD_MASK;
    uint64_t before = since_ns == 0 ? 0 : ends_of(p, since_ns);
    before = before > told ? before : told;
    return ends > before ? ends - before : 0;
}

uint64_t otp_timer_due_since(const struct otp_thread *t, uint64_t since_ns, uint64_t now_ns)
{
    uint64_t due = otp_load_acquire(&t->due); /* pairs: PACE */
    struct otp_pace p = pace_of(t, due);
    return untold(&p, due, since_ns, now_ns);
}

uint64_t otp_timer_take_since(struct otp_thread *t, uint64_t since_ns, uint64_t now_ns,
                              uint64_t most, uint64_t *out_period_ns)
{
    uint64_t due = otp_load_acquire(&t->due); /* pairs: PACE */
    struct otp_pace p = pace_of(t, due);
    uint64_t count = untold(&p, due, since_ns, now_ns);
    count = count < most ? count : most;
    *out_period_ns = p.period_ns;
    return count != 0 && otp_cas_acq_rel(&t->due, &due, due + count) ? count : 0;
}

uint64_t otp_timer_due(const struct otp_thread *t, uint64_t now_ns)
{
    return otp_timer_due_since(t, 0, now_ns);
}

uint64_t otp_timer_take(struct otp_thread *t, uint64_t now_ns, uint64_t *out_period_ns)
{
    return otp_timer_take_since(t, 0, now_ns, UINT64_MAX, out_period_ns);
}

/* a / b, rounded down; b is more than 0. */
static int64_t floor_of(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

void otp_timer_hand_on(const struct otp_thread *t, uint64_t now_ns)
{
    struct otp_pace p = pace_of(t, otp_load_acquire(&t->due)); /* pairs: PACE */
    int64_t period = (int64_t)p.period_ns;
    int64_t now = (int64_t)now_ns;
    if (period == 0 || now < p.origin_ns) {
        return;
    }
    int64_t used = (now - p.origin_ns) % period;
    int64_t began = now - used;
    int64_t behind = p.first_ns - began; /* the moment of that period is as far from its begin */
    bool is_first = began == p.origin_ns && behind > period;
    int64_t moment = behind - floor_of(behind - 1, period) * period;
    otp_phase_leave(p.period_ns, (struct otp_phase){.used_ns = (uint64_t)used,
                                                    .is_over = is_first || moment <= used});
}

/*
 * What is due at now_ns in periods of another length, the rest rounded up or down by chance in its
 * proportion. Negative: samples were taken of time after now_ns.
 */
static int64_t converted(const struct otp_pace *p, uint64_t told, uint64_t now_ns,
                         uint64_t period_ns, uint64_t *random)
{
    if (p->period_ns == 0) {
        return 0;
    }
    /* Less than 0 while periods that were told in advance go by. */
    int64_t ends = 1 + floor_of((int64_t)now_ns - p->first_ns, (int64_t)p->period_ns);
    int64_t owed = (ends - (int64_t)told) * (int64_t)p->period_ns;
    int64_t whole = floor_of(owed, (int64_t)period_ns);
    int64_t rest = owed - whole * (int64_t)period_ns;
    return whole + (otp_random_below(random, period_ns) < (uint64_t)rest ? 1 : 0);
}

/*
 * The moment of the change is the caller's, not that of a tick: so up to it the old periods count
 * the time without a bias, and from there on the new ones do, whose first end is drawn anew.
 */
void otp_timer_change(struct otp_thread *t, uint64_t now_ns, uint64_t period_ns)
{
    static uint64_t random; /* the worker's */
    random = random != 0 ? random : otp_sys_monotonic_ns();
    struct otp_pace p = {.origin_ns = (int64_t)now_ns, .period_ns = period_ns};
    int64_t first = (int64_t)(now_ns + 1 + otp_random_below(&random, period_ns));
    uint64_t due;
    do {
        due = otp_load_acquire(&t->due); /* pairs: PACE */
        struct otp_pace old = pace_of(t, due);
        int64_t owed = converted(&old, due & TOLD_MASK, now_ns, period_ns, &random);
        p.first_ns = first - owed * (int64_t)period_ns;
    } while (!replace_pace(t, due, &p));
}

bool otp_timer_clock(const struct otp_thread *t, uint64_t *out_ns)
{
    struct timespec now;
    if (OTP_SYS2(SYS_clock_gettime, clock_of(t), &now) < 0) {
        return false;
    }
    *out_ns = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
    return true;
}

/*
 * Sets the kernel's timer to the ends of t's periods, never to one that is over: that would send a
 * tick at once, also to a thread that sleeps, and end its wait.
 */
static bool set_timer(const struct otp_thread *t)
{
    uint64_t due = otp_load_acquire(&t->due); /* pairs: PACE */
    struct otp_pace p = pace_of(t, due);
    int64_t next = p.first_ns + (int64_t)((due & TOLD_MASK) * p.period_ns);
    uint64_t now_ns;
    if (p.period_ns != 0 && otp_timer_clock(t, &now_ns) && next <= (int64_t)now_ns) {
        next += (((int64_t)now_ns - next) / (int64_t)p.period_ns + 1) * (int64_t)p.period_ns;
    }
    /* The kernel looks at its own ticks only, and counts a shorter interval from when a signal was
     * taken: each tick of its shall find one over. */
    uint64_t apart_ns = otp_settings.kernel_tick_ns;
    bool is_fine = p.period_ns != 0 && p.period_ns < apart_ns;
    struct itimerspec when;
    set_time(&when.it_interval, is_fine ? apart_ns / INTERVALS : p.period_ns);
    set_time(&when.it_value, next > 0 ? (uint64_t)next : 1);
    return OTP_SYS4(SYS_timer_settime, t->timer_id, TIMER_ABSTIME, &when, 0) == 0;
}

/* Makes t's timer, whose id is returned and in t; negative when the kernel refuses. */
static int32_t arm(struct otp_thread *t)
{
    struct sigevent ev;
    memset(&ev, 0, sizeof(ev));
    ev.sigev_notify = SIGEV_THREAD_ID;
    ev.sigev_signo = otp_settings.signo;
    ev.sigev_value.sival_ptr = (void *)otp_timer_cookie(t);
    int32_t tid = otp_load_relaxed(&t->tid);
    memcpy(&ev._sigev_un, &tid, sizeof(tid));
    int32_t id = 0;
    if (OTP_SYS3(SYS_timer_create, clock_of(t), &ev, &id) < 0) {
        return -1;
    }
    t->timer_id = id;
    if (!set_timer(t)) {
        (void)OTP_SYS1(SYS_timer_delete, id);
        return -1;
    }
    return id;
}

/*
 * Makes the caller the one who starts t's timer; false: another is at it, there is one, or the
 * thread, or all of them, shall have none. (Who says so does it before he stops the timer, and this
 * looks after the claim: so one of both sees the other.)
 */
static bool claim(struct otp_thread *t)
{
    uint32_t state = OTP_TIMER_NONE;
    if (!otp_cas_acq_rel(&t->has_timer, &state, OTP_TIMER_STARTING)) {
        return false;
    }
    if (otp_load_acquire(&t->is_off) != 0 ||
        otp_load_acquire(&otp_capture_state) == OTP_CAPTURE_ENDED) {
        otp_store_release(&t->has_timer, OTP_TIMER_NONE);
        return false;
    }
    return true;
}

static bool start(struct otp_thread *t)
{
    uint32_t state = OTP_TIMER_STARTING;
    int32_t id = arm(t);
    if (id < 0) {
        otp_count(OTP_COUNT_TIMERS, OTP_OF_CPU, 1);
        otp_store_release(&t->has_timer, OTP_TIMER_NONE);
        return false;
    }
    if (!otp_cas_acq_rel(&t->has_timer, &state, OTP_TIMER_RUNS)) {
        (void)OTP_SYS1(SYS_timer_delete, id); /* it was stopped meanwhile */
    } else if (otp_load_acquire(&otp_capture_state) == OTP_CAPTURE_DORMANT) {
        otp_timer_stop(t); /* all were stopped, perhaps before this one ran */
        otp_timer_forget(t);
    }
    return true;
}

bool otp_timer_start(struct otp_thread *t)
{
    if (!claim(t)) {
        return true;
    }
    if (pace_of(t, otp_load_acquire(&t->due)).period_ns == 0) {
        uint64_t now_ns;
        if (!otp_timer_clock(t, &now_ns)) {
            otp_count(OTP_COUNT_TIMERS, OTP_OF_CPU, 1);
            otp_store_release(&t->has_timer, OTP_TIMER_NONE);
            return false;
        }
        begin_periods(t, now_ns);
    }
    return start(t);
}

bool otp_timer_start_from_birth(struct otp_thread *t)
{
    if (!claim(t)) {
        return true;
    }
    begin_periods(t, 0);
    return start(t);
}

bool otp_timer_start_for(struct otp_thread *t, int32_t tid)
{
    if (!claim(t)) {
        return false;
    }
    otp_store_release(&t->tid, tid); /* pairs: THREAD-TID */
    begin_periods(t, 0);
    (void)start(t); /* refused: the worker tries again with a record of its own */
    return true;
}

/* While another thread starts it there is nothing to delete yet. */
static void await_start(const struct otp_thread *t)
{
    for (int i = 0; i < START_TRIES && otp_load_acquire(&t->has_timer) == OTP_TIMER_STARTING; i++) {
        (void)OTP_SYS0(SYS_sched_yield);
    }
}

void otp_timer_stop(struct otp_thread *t)
{
    await_start(t);
    uint32_t before = otp_exchange_acq_rel(&t->has_timer, OTP_TIMER_NONE);
    if (before == OTP_TIMER_RUNS || before == OTP_TIMER_CHANGES) {
        (void)OTP_SYS1(SYS_timer_delete, t->timer_id);
    }
}

void otp_timer_stop_all(void)
{
    struct otp_thread *t;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        otp_timer_stop(t);
        otp_timer_forget(t);
    }
}

static bool is_live(const struct otp_thread *t)
{
    return otp_load_acquire(&t->state) == OTP_THREAD_LIVE && otp_load_relaxed(&t->tid) != 0;
}

/* Whether a thread has a record of its own besides the one that the worker made for it. */
static bool has_other(const struct otp_thread *adopted)
{
    const struct otp_thread *t;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        if (t != adopted && is_live(t) && otp_load_relaxed(&t->tid) == adopted->tid) {
            return true;
        }
    }
    return false;
}

static uint32_t adoptions; /* records that the worker ever made for strangers */

bool otp_timer_may_adopt(const struct otp_thread *t)
{
    (void)otp_add_acq_rel(&adoptions, 1); /* locked, as is the claim of a timer: full barriers */
    return !has_other(t);
}

void otp_timer_end_adopted(const struct otp_thread *own)
{
    struct otp_thread *t;
    if (OTP_LIKELY(otp_load_relaxed(&adoptions) == 0)) {
        return;
    }
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        if (t != own && otp_load_relaxed(&t->tid) == own->tid && is_live(t)) {
            (void)otp_exchange_acq_rel(&t->is_off, OTP_OFF);
            otp_timer_stop(t);
            otp_timer_forget(t);
        }
    }
}

void otp_timer_start_all(void)
{
    struct otp_thread *t;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        if (is_live(t) && (t->is_adopted == 0 || !has_other(t))) {
            (void)otp_timer_start(t);
        }
    }
}

static void follow(struct otp_thread *t, uint64_t period_ns)
{
    uint32_t state = OTP_TIMER_RUNS;
    uint64_t now_ns;
    if (pace_of(t, otp_load_acquire(&t->due)).period_ns == period_ns ||
        !otp_cas_acq_rel(&t->has_timer, &state, OTP_TIMER_CHANGES)) {
        return;
    }
    if (otp_timer_clock(t, &now_ns)) {
        otp_timer_change(t, now_ns, period_ns);
        (void)set_timer(t);
    }
    state = OTP_TIMER_CHANGES;
    (void)otp_cas_acq_rel(&t->has_timer, &state, OTP_TIMER_RUNS); /* or it was stopped meanwhile */
}

void otp_timer_follow_all(void)
{
    uint64_t period = otp_load_relaxed(&otp_settings.cpu_period_ns);
    struct otp_thread *t;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        if (otp_load_acquire(&t->state) == OTP_THREAD_LIVE) {
            follow(t, period);
        }
    }
}
