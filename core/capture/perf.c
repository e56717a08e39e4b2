/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* F_SETSIG, F_SETOWN_EX */
#include "core/capture/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <time.h>

#include "core/base/atomic.h"
#include "core/base/sys.h"
#include "core/capture/capture.h"
#include "core/capture/perf_table.h"
#include "core/capture/timer.h"

#define MEASURE_PERIOD_NS UINT64_C(100000)
#define MEASURE_TURNS 500000U
#define MEASURE_ROUNDS 3

uint64_t otp_perf_kernel_tick_ns(void)
{
    struct timespec ts = {0};
    /* The coarse clocks move once per tick. */
    (void)OTP_SYS2(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &ts);
    return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static int open_event(int32_t tid, uint64_t period_ns)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.type = PERF_TYPE_SOFTWARE;
    attr.size = sizeof(attr);
    attr.config = PERF_COUNT_SW_TASK_CLOCK;
    attr.sample_period = period_ns;
    attr.wakeup_events = 1;
    attr.disabled = 1;
    attr.exclude_hv = 1;
    /* A signal sent while the thread is in the kernel would end a poll or a sleep with EINTR. */
    attr.exclude_kernel = 1;
    return (int)OTP_SYS5(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Overflows shall send the timers' signal to the thread itself. */
static bool direct(int fd, int32_t tid, int signo)
{
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = tid};
    return OTP_SYS3(SYS_fcntl, fd, F_SETFL, O_RDWR | O_ASYNC | O_NONBLOCK) >= 0 &&
           OTP_SYS3(SYS_fcntl, fd, F_SETSIG, signo) >= 0 &&
           OTP_SYS3(SYS_fcntl, fd, F_SETOWN_EX, &owner) >= 0 &&
           OTP_SYS3(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0) >= 0;
}

/* Nanoseconds of a piece of work without system calls. */
static uint64_t time_work(void)
{
    uint64_t x = 1;
    uint64_t from = otp_sys_monotonic_ns();
    for (uint32_t i = 0; i < MEASURE_TURNS; i++) {
        x = x * 6364136223846793005U + 1;
        __asm__ volatile("" : "+r"(x));
    }
    return otp_sys_monotonic_ns() - from;
}

/* The worker has all signals blocked: the one that comes stays pending, and no second is queued. */
uint64_t otp_perf_measure_ns(void)
{
    uint64_t plain = UINT64_MAX;
    uint64_t ticked = UINT64_MAX;
    for (int i = 0; i < MEASURE_ROUNDS; i++) {
        uint64_t took = time_work();
        plain = took < plain ? took : plain;
        int fd = open_event(0, MEASURE_PERIOD_NS);
        if (fd < 0) {
            return 0;
        }
        bool is_ticked = direct(fd, otp_sys_gettid(), SIGPROF);
        took = time_work();
        otp_sys_close(fd);
        if (!is_ticked) {
            return 0;
        }
        ticked = took < ticked ? took : ticked;
    }
    return ticked > plain ? (ticked - plain) * MEASURE_PERIOD_NS / ticked : 0;
}

static bool open_for(struct otp_thread *t)
{
    int32_t tid = otp_load_relaxed(&t->tid);
    int signo = otp_settings.signo; /* a host thread may move the ticks meanwhile */
    int fd = open_event(tid, otp_load_relaxed(&otp_settings.cpu_period_ns));
    if (fd < 0) {
        return fd == -ESRCH; /* the thread is gone: nothing refused */
    }
    if (fd >= OTP_PERF_FDS) {
        otp_sys_close(fd);
        return false;
    }
    otp_store_release(&otp_perf_cookies[fd], otp_timer_cookie(t)); /* pairs: PERF-FD */
    if (!direct(fd, tid, signo)) {
        otp_store_release(&otp_perf_cookies[fd], 0);
        otp_sys_close(fd);
        return false;
    }
    otp_store_relaxed(&t->perf_fd, fd + 1); /* the thread looks at whether it has one */
    t->perf_signo = signo;
    return true;
}

bool otp_perf_open_all(void)
{
    struct otp_thread *t;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        bool is_live = otp_load_acquire(&t->state) == OTP_THREAD_LIVE &&
                       otp_load_acquire(&t->tid) != 0 /* pairs: THREAD-TID */ &&
                       otp_load_relaxed(&t->has_timer) != 0;
        if (t->perf_fd != 0 && t->perf_signo != otp_settings.signo) {
            otp_perf_close(t); /* the timers have moved to another signal */
        }
        bool is_wanted = is_live && otp_load_relaxed(&t->is_waiter) == 0;
        if (is_wanted && t->perf_fd == 0 && !open_for(t)) {
            return false;
        }
    }
    return true;
}

void otp_perf_close_of_waiter(struct otp_thread *t)
{
    if (otp_load_relaxed(&t->is_waiter) != 0) {
        otp_perf_close(t);
    }
}

void otp_perf_close(struct otp_thread *t)
{
    if (t->perf_fd != 0) {
        otp_store_release(&otp_perf_cookies[t->perf_fd - 1], 0);
        otp_sys_close(t->perf_fd - 1);
        otp_store_relaxed(&t->perf_fd, 0);
    }
}

void otp_perf_close_all(void)
{
    struct otp_thread *t;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        otp_perf_close(t);
    }
}

void otp_perf_follow_all(void)
{
    uint64_t period = otp_load_relaxed(&otp_settings.cpu_period_ns);
    struct otp_thread *t;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        if (t->perf_fd != 0 &&
            OTP_SYS3(SYS_ioctl, t->perf_fd - 1, PERF_EVENT_IOC_PERIOD, &period) < 0) {
            otp_perf_close(t); /* opened again with the next look at the threads */
        }
    }
}

void otp_perf_forget(void)
{
    struct otp_thread *t;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        otp_store_relaxed(&t->perf_fd, 0);
    }
    for (size_t i = 0; i < OTP_PERF_FDS; i++) {
        if (otp_load_relaxed(&otp_perf_cookies[i]) != 0) { /* a page not written is not copied */
            otp_store_relaxed(&otp_perf_cookies[i], 0);
        }
    }
}
