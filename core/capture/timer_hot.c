/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/timer.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/sys.h"
#include "core/capture/capture.h"
#include "core/capture/random.h"

#define COOKIE_MAGIC UINT64_C(0x07be) /* upper 16 bits; then 24 bits generation, 24 bits number */

uint64_t otp_timer_cookie(const struct otp_thread *t)
{
    return COOKIE_MAGIC << 48 | (uint64_t)(t->generation & 0xffffffU) << 24 | t->number;
}

struct otp_thread *otp_timer_thread(uint64_t cookie)
{
    if (cookie >> 48 != COOKIE_MAGIC) {
        return NULL;
    }
    struct otp_thread *t = otp_thread_get((uint32_t)(cookie & 0xffffffU));
    if (t == NULL || otp_timer_cookie(t) != cookie ||
        otp_load_relaxed(&t->state) != OTP_THREAD_LIVE) {
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
    return (long)(int32_t)((~(uint32_t)t->tid << 3) | 6U);
}

/* Draws the end of the first period, counted from a reading of the thread's CPU clock. */
static void begin_periods(struct otp_thread *t, uint64_t from_ns)
{
    t->due_told = 0;
    t->due_first_ns = from_ns + 1 + otp_random_below(&t->random, otp_settings.cpu_period_ns);
}

uint64_t otp_timer_due(const struct otp_thread *t, uint64_t now_ns)
{
    uint64_t first = t->due_first_ns;
    if (first == 0 || now_ns < first) {
        return 0;
    }
    uint64_t ends = 1 + (now_ns - first) / otp_settings.cpu_period_ns;
    uint64_t told = otp_load_relaxed(&t->due_told);
    return ends > told ? ends - told : 0;
}

uint64_t otp_timer_take(struct otp_thread *t, uint64_t now_ns, uint64_t most)
{
    uint64_t told = otp_load_relaxed(&t->due_told);
    uint64_t due = otp_timer_due(t, now_ns);
    due = due < most ? due : most;
    return due != 0 && otp_cas_acq_rel(&t->due_told, &told, told + due) ? due : 0;
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

static bool arm(struct otp_thread *t)
{
    struct sigevent ev;
    memset(&ev, 0, sizeof(ev));
    ev.sigev_notify = SIGEV_THREAD_ID;
    ev.sigev_signo = otp_settings.signo;
    ev.sigev_value.sival_ptr = (void *)otp_timer_cookie(t);
    memcpy(&ev._sigev_un, &t->tid, sizeof(t->tid));
    int id = 0;
    if (OTP_SYS3(SYS_timer_create, clock_of(t), &ev, &id) < 0) {
        otp_count(OTP_COUNT_TIMERS, 1);
        return false;
    }
    struct itimerspec when;
    set_time(&when.it_interval, otp_settings.cpu_period_ns);
    set_time(&when.it_value, t->due_first_ns + t->due_told * otp_settings.cpu_period_ns);
    t->timer_id = id;
    otp_store_release(&t->has_timer, 1);
    if (OTP_SYS4(SYS_timer_settime, id, TIMER_ABSTIME, &when, 0) < 0) {
        otp_count(OTP_COUNT_TIMERS, 1);
        otp_timer_stop(t);
        return false;
    }
    return true;
}

bool otp_timer_start(struct otp_thread *t)
{
    if (t->due_first_ns == 0) {
        uint64_t now_ns;
        if (!otp_timer_clock(t, &now_ns)) {
            otp_count(OTP_COUNT_TIMERS, 1);
            return false;
        }
        begin_periods(t, now_ns);
    }
    return arm(t);
}

bool otp_timer_start_from_birth(struct otp_thread *t)
{
    begin_periods(t, 0);
    return arm(t);
}

void otp_timer_stop(struct otp_thread *t)
{
    if (otp_exchange_acq_rel(&t->has_timer, 0) != 0) {
        (void)OTP_SYS1(SYS_timer_delete, t->timer_id);
    }
}

void otp_timer_stop_all(void)
{
    struct otp_thread *t;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        otp_timer_stop(t);
    }
}
