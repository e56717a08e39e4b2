/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all of capture shares: the settings, fixed before capturing starts, and the words by which
 * the engine switches it. Everything here is read by host threads at any moment.
 */
#ifndef OTP_CAPTURE_CAPTURE_H
#define OTP_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/annot.h"

/* Set by the engine before capturing begins; what changes later is noted with it. */
struct otp_capture_settings {
    bool is_cpu_on;
    bool is_heap_on;
    bool has_timestamps;
    bool wants_perf;     /* perf events, as far as the kernel allows them */
    bool is_perf_used;   /* it does; set by the worker */
    uint32_t perf_holds; /* atomic; while it is not 0 none are opened, whatever is wanted */
    bool has_thread_id;  /* thread.id is part of a sample's context */
    bool has_thread_name;
    int pid;                 /* of the process that is profiled */
    int signo;               /* of the CPU timers */
    uint32_t max_depth;      /* frames, the marker of a cut stack included */
    uint32_t ring_bytes;     /* power of two */
    uint64_t cpu_period_ns;  /* of periods that begin now; atomic, changed by the worker */
    uint64_t kernel_tick_ns; /* how often the kernel looks at timers on CPU clocks */
    uint64_t heap_interval;  /* mean bytes between samples; 1: every allocation. As above */
    uintptr_t entry;         /* the program's first instruction; 0: not known */
    uintptr_t own_start;     /* our own code, left out of stacks */
    uintptr_t own_end;
    void (*need_worker)(
        void);           /* called when there is something to drain and nobody to do it; hot */
    void (*quiet)(void); /* ends ticks by perf events and waits for that; hot, no-op without them */
};

extern struct otp_capture_settings otp_settings;

enum {
    OTP_CAPTURE_NOT_YET = 0,
    OTP_CAPTURE_ON = 1,
    OTP_CAPTURE_ENDED = 2,
    OTP_CAPTURE_DORMANT = 3 /* could be on, and may be at any moment */
};

/* Whether samples are taken; one of the above. */
extern uint32_t otp_capture_state;

/* True while samples are taken. Context: hot. */
OTP_INLINE bool otp_capture_is_on(void)
{
    return __atomic_load_n(&otp_capture_state, __ATOMIC_RELAXED) == OTP_CAPTURE_ON;
}

/* True while samples are taken or could be asked for. Context: hot. */
OTP_INLINE bool otp_capture_is_there(void)
{
    uint32_t state = __atomic_load_n(&otp_capture_state, __ATOMIC_RELAXED);
    return state == OTP_CAPTURE_ON || state == OTP_CAPTURE_DORMANT;
}

/* 1 while a worker waits on or will look at otp_wake_word; 0: need_worker must be called. */
extern uint32_t otp_worker_alive;
/* Futex of the worker: changed and woken when there is something to do. */
extern uint32_t otp_wake_word;
/* Grows with each dlclose, so that objects seen before are looked at again. */
extern uint32_t otp_unload_epoch;
/* Samples taken since start, of both kinds; 0 means there is nothing to flush. */
extern uint64_t otp_samples_taken;

/* Wakes the worker. One system call; never waits. Context: hot. */
void otp_capture_wake(void);
/* Notes that a sample was taken, and sees to it that there is a worker. Context: hot. */
void otp_capture_note_sample(void);

#endif
