/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/arrears.h"

#include <stddef.h>

#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/frame.h"
#include "core/capture/capture.h"
#include "core/capture/object.h"
#include "core/capture/thread.h"
#include "core/capture/timer.h"

/* Far beyond the delay of a tick on a busy machine. */
#define BEHIND_NS UINT64_C(500000000)

/* What t was started with, the first thread with the program. */
static uint64_t start_frame(const struct otp_thread *t)
{
    uintptr_t addr = (uintptr_t)otp_load_relaxed(&t->start);
    addr = addr != 0 ? addr : (uintptr_t)otp_load_relaxed(&t->start_c11);
    if (addr == 0 && otp_load_relaxed(&t->tid) == otp_settings.pid) {
        addr = otp_settings.entry;
    }
    struct otp_object_range range;
    if (addr == 0 || !otp_object_find(addr, &range)) {
        return 0;
    }
    return otp_frame_make(range.number, addr);
}

/* True, and the time on its CPU clock, when t has at least so many periods due. */
static bool is_behind(const struct otp_thread *t, uint64_t least, uint64_t *out_now_ns)
{
    return otp_load_acquire(&t->state) == OTP_THREAD_LIVE && otp_thread_is_told(t) &&
           otp_timer_clock(t, out_now_ns) && otp_timer_due(t, *out_now_ns) >= least;
}

void otp_arrears_each(bool is_end, void (*visit)(const struct otp_arrears *a, void *arg), void *arg)
{
    uint64_t least = is_end ? 1 : 4 + BEHIND_NS / otp_load_relaxed(&otp_settings.cpu_period_ns);
    struct otp_thread *t;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        uint64_t now_ns;
        if (!is_behind(t, least, &now_ns)) {
            continue;
        }
        struct otp_arrears a = {.frame = start_frame(t), .context = otp_load_relaxed(&t->context)};
        a.count = otp_timer_take(t, now_ns, &a.period_ns);
        if (a.count > 0) {
            otp_count(OTP_COUNT_UNSEEN, OTP_OF_CPU, a.count);
            visit(&a, arg);
        }
    }
}

bool otp_arrears_are_there(void)
{
    struct otp_thread *t;
    uint64_t now_ns;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        if (is_behind(t, 1, &now_ns)) {
            return true;
        }
    }
    return false;
}
