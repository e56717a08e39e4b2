/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/thread.h"

#include <string.h>
#include <sys/prctl.h>

#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/hotmem.h"
#include "core/base/map.h"
#include "core/base/sys.h"
#include "core/capture/altstack.h"
#include "core/capture/arch.h"
#include "core/capture/capture.h"
#include "core/capture/labels.h"
#include "core/capture/phase.h"
#include "core/capture/scratch.h"
#include "core/capture/spawn.h"
#include "core/capture/timer.h"

#define CHUNK_THREADS 64U
#define MAX_CHUNKS 1024U
#define WAKE_EACH_ENDED 64U /* the worker is woken to take back that many records */
#define KEEP_RINGS 64U      /* records above these lose their ring when their thread is gone */

uint32_t otp_names_epoch;
__thread struct otp_tls otp_tls __attribute__((tls_model("initial-exec")));

uint32_t otp_last_exit_status;

static struct otp_thread *chunks[MAX_CHUNKS];
static uint32_t chunk_count;
static uint32_t lowest_free; /* a hint: a lower one may be missed until it is freed again */
static uint32_t ended_count;

struct otp_thread *otp_thread_get(uint32_t n)
{
    if (n >= CHUNK_THREADS * MAX_CHUNKS) {
        return NULL;
    }
    struct otp_thread *c = otp_load_acquire(&chunks[n / CHUNK_THREADS]); /* pairs: THREAD-CHUNK */
    return c == NULL ? NULL : &c[n % CHUNK_THREADS];
}

static bool try_claim(struct otp_thread *t)
{
    uint32_t expected = OTP_THREAD_FREE;
    return otp_load_relaxed(&t->state) == OTP_THREAD_FREE &&
           otp_cas_acq_rel(&t->state, &expected, OTP_THREAD_LIVE); /* pairs: THREAD-FREE */
}

static struct otp_thread *claim_from(uint32_t first, uint32_t count)
{
    for (uint32_t n = first; n < count; n++) {
        struct otp_thread *t = otp_thread_get(n);
        if (t != NULL && try_claim(t)) {
            t->number = n;
            otp_store_relaxed(&lowest_free, n + 1);
            return t;
        }
    }
    return NULL;
}

/* The lowest free record, so that few records, and few rings, are in use. Before there are more,
 * all are looked at: the hint may have passed one. */
static struct otp_thread *claim_existing(uint32_t count)
{
    struct otp_thread *t = claim_from(otp_load_relaxed(&lowest_free), count);
    return t != NULL ? t : claim_from(0, count);
}

static void note_free(uint32_t n)
{
    uint32_t lowest = otp_load_relaxed(&lowest_free);
    while (n < lowest && !otp_cas_acq_rel(&lowest_free, &lowest, n)) {
    }
}

static bool add_chunk(uint32_t idx)
{
    if (idx >= MAX_CHUNKS) {
        return false;
    }
    size_t bytes = CHUNK_THREADS * sizeof(struct otp_thread);
    if (otp_hotmem_share((otp_hotmem_slot *)&chunks[idx], bytes) ==
        NULL) { /* pairs: THREAD-CHUNK */
        return false;
    }
    uint32_t expected = idx;
    (void)otp_cas_acq_rel(&chunk_count, &expected, idx + 1);
    return true;
}

/* What ticks have noted of a thread goes by clocks and counts that begin anew. */
static void forget_ticks(struct otp_thread *t)
{
    t->timer_seen_ns = 0;
    t->put_off_ns = 0;
    t->user_us = 0;
    t->system_us = 0;
    t->waits = 0;
    t->waits_ns = 0;
    otp_store_relaxed(&t->is_waiter, 0);
}

struct otp_thread *otp_thread_claim(void)
{
    for (;;) {
        uint32_t count = otp_load_acquire(&chunk_count);
        struct otp_thread *t = count == 0 ? NULL : claim_existing(count * CHUNK_THREADS);
        if (t != NULL) {
            /* Without a tid nobody else acts on it, but the worker looks at some fields. */
            (void)otp_add_relaxed(&t->generation, 1);
            t->busy = 0;
            otp_store_relaxed(&t->has_timer, 0);
            t->is_adopted = 0;
            otp_store_relaxed(&t->is_off, 0);
            otp_store_relaxed(&t->is_ticking, 0);
            otp_store_relaxed(&t->has_stale, 0);
            otp_store_relaxed(&t->alt_high, 0);
            otp_store_relaxed(&t->alt_low, 0);
            otp_timer_forget(t);
            t->last_leaf = 0;
            forget_ticks(t);
            otp_store_relaxed(&t->start, NULL);
            otp_store_relaxed(&t->start_c11, NULL);
            otp_store_relaxed(&t->context, 0);
            t->names_epoch = 0;
            otp_store_relaxed(&t->has_own_name, 0);
            t->stack_low = 0;
            t->stack_high = 0;
            return t;
        }
        if (!add_chunk(count)) {
            otp_count(OTP_COUNT_NO_THREAD_SLOT, OTP_OF_BOTH, 1);
            return NULL;
        }
    }
}

/* The number goes first: the worker would take the next owner for the one before, who is gone. */
void otp_thread_unclaim(struct otp_thread *t)
{
    uint32_t number = t->number; /* the next owner writes it anew */
    otp_store_release(&t->tid, 0);
    otp_store_release(&t->has_timer, OTP_TIMER_NONE);
    otp_store_release(&t->state, OTP_THREAD_FREE); /* pairs: THREAD-FREE */
    note_free(number);
}

void otp_thread_attach(struct otp_thread *t, size_t stack_bytes)
{
    uintptr_t tp = otp_arch_thread_pointer();
    uintptr_t sp = otp_arch_sp();
    int32_t tid = otp_sys_gettid();
    t->random = otp_hash_mix(otp_sys_monotonic_ns(), (uint64_t)tid << 32 ^ t->generation ^ tp);
    /* glibc puts the control block at the top of a thread's stack, its own or the program's. */
    if (stack_bytes != 0 && sp < tp && tp - sp < stack_bytes) {
        t->stack_high = tp;
        t->stack_low = tp > stack_bytes ? tp - stack_bytes : 0;
    }
    otp_store_release(&t->tid, tid); /* pairs: THREAD-TID */
    otp_signal_fence();
    otp_tls.thread = t;
}

static void name_from_kernel(struct otp_thread *t)
{
    char name[OTP_THREAD_NAME_MAX] = {0};
    if (OTP_SYS2(SYS_prctl, PR_GET_NAME, name) == 0) {
        otp_thread_set_name(t, name);
    }
}

struct otp_thread *otp_thread_current(void)
{
    struct otp_thread *t = otp_tls.thread;
    if (OTP_LIKELY(t != NULL) || otp_tls.is_refused != 0) {
        return t;
    }
    /* A process that shares our memory (a clone that is no thread) may end at any time unseen. What
     * is refused to it is not refused to the thread whose variables it has. */
    if (otp_sys_getpid() != otp_settings.pid) {
        return NULL;
    }
    t = otp_thread_claim();
    if (t == NULL) {
        otp_tls.is_refused = 1;
        return NULL;
    }
    otp_thread_attach(t, 0);
    name_from_kernel(t);
    return t;
}

void otp_thread_prepare(struct otp_thread *t, void *(*start)(void *), void *arg, size_t stack_bytes)
{
    const struct otp_thread *creator = otp_tls.thread;
    const struct otp_context *c =
        creator == NULL ? NULL : otp_context_get(otp_load_relaxed(&creator->context));
    otp_store_relaxed(&t->start, start);
    t->start_arg = arg;
    t->start_stack_bytes = stack_bytes;
    memset(t->start_name, 0, sizeof(t->start_name));
    if (c != NULL && creator->has_own_name == 0) {
        memcpy(t->start_name, c->thread_name, sizeof(t->start_name) - 1);
    }
}

void otp_thread_begin(struct otp_thread *t)
{
    otp_thread_attach(t, t->start_stack_bytes);
    otp_spawn_watch_end(t);
    if (t->start_name[0] != '\0') {
        otp_thread_set_name(t, t->start_name);
    } else {
        name_from_kernel(t);
    }
    if (otp_settings.is_cpu_on && otp_capture_is_on()) {
        (void)otp_timer_start_from_birth(t);
        otp_timer_end_adopted(t);
    }
}

void *otp_thread_run(void *arg)
{
    struct otp_thread *t = arg;
    otp_thread_begin(t);
    void *result = t->start(t->start_arg);
    t->last_leaf = (uintptr_t)t->start;
    otp_thread_end();
    return result;
}

void otp_thread_set_name(struct otp_thread *t, const char *name)
{
    otp_store_relaxed(&t->context, otp_context_number(name, t->tid));
}

void otp_thread_ask_names(void)
{
    if (otp_settings.has_thread_name) {
        (void)otp_add_relaxed(&otp_names_epoch, 1);
    }
}

void otp_thread_name_for_profiles(const char *name)
{
    struct otp_thread *t = otp_tls.thread;
    t = t == NULL && otp_settings.need_worker != NULL ? otp_thread_current() : t;
    if (t == NULL) {
        return;
    }
    bool has_name = name != NULL && name[0] != '\0';
    otp_store_relaxed(&t->has_own_name, has_name ? 1 : 0);
    if (has_name) {
        otp_thread_set_name(t, name);
    } else {
        name_from_kernel(t);
    }
}

void otp_thread_end(void)
{
    otp_store_relaxed(&otp_last_exit_status, 0);
    struct otp_thread *t = otp_tls.thread;
    if (t == NULL || !otp_capture_is_there() || t->tid != otp_sys_gettid()) {
        return; /* a child of vfork or clone runs on the thread's memory but is not the thread */
    }
    bool has_timer = otp_load_relaxed(&t->has_timer) != 0;
    if (otp_thread_is_told(t)) {
        otp_enter_last_tick(); /* the last but for what destructors and clean-up handlers use */
    }
    /* What runs after this may still be sampled: the record, and the labels that belong to it, are
     * in use until the thread is gone. */
    otp_store_release(&t->state, OTP_THREAD_ENDED); /* pairs: THREAD-END */
    if (has_timer) {
        otp_altstack_at_end(t);
    }
    if (otp_add_relaxed(&ended_count, 1) % WAKE_EACH_ENDED == WAKE_EACH_ENDED - 1 &&
        otp_load_relaxed(&otp_worker_alive) != 0) {
        otp_capture_wake();
    }
}

void otp_thread_recycle(struct otp_thread *t)
{
    otp_timer_stop(t);
    otp_scratch_release(t->scratch); /* of one that was ended by a handler in the middle */
    t->scratch = 0;
    if (t->ring != NULL && t->number >= KEEP_RINGS) {
        otp_hotmem_unmap(t->ring, otp_ring_bytes(t->ring->size));
        t->ring = NULL;
    }
    otp_thread_unclaim(t);
}

/* The calling thread goes on in a child of fork: the same name, a number of its own, and chances of
 * its own, or all children of one parent would be sampled at the same moments of their lives. */
static void become_child(struct otp_thread *t)
{
    otp_store_relaxed(&t->state,
                      OTP_THREAD_LIVE); /* also when it was at its end: it forked there */
    const struct otp_context *c = otp_context_get(otp_load_relaxed(&t->context));
    int32_t tid = otp_sys_gettid();
    t->random = otp_hash_mix(otp_sys_monotonic_ns(), (uint64_t)tid << 32 ^ t->random);
    otp_store_relaxed(&t->tid, tid);
    otp_thread_set_name(t, c == NULL ? NULL : c->thread_name);
}

void otp_thread_forget_others(void)
{
    otp_phase_forget_all();
    for (uint32_t n = 0;; n++) {
        struct otp_thread *t = otp_thread_get(n);
        if (t == NULL) {
            return;
        }
        t->has_timer = 0;    /* timers are not inherited */
        otp_timer_forget(t); /* the child's clocks begin anew */
        forget_ticks(t);
        if (t->ring != NULL) {
            otp_ring_init(t->ring, t->ring->size);
        }
        if (t != otp_tls.thread) {
            otp_thread_unclaim(t);
        } else {
            become_child(t);
        }
    }
}

bool otp_thread_is_alone(void)
{
    for (uint32_t n = 0;; n++) {
        const struct otp_thread *t = otp_thread_get(n);
        if (t == NULL) {
            return true;
        }
        if (t != otp_tls.thread && otp_load_relaxed(&t->state) == OTP_THREAD_LIVE) {
            return false;
        }
    }
}

struct otp_ring *otp_thread_ring(struct otp_thread *t)
{
    struct otp_ring *r = t->ring;
    if (OTP_UNLIKELY(r == NULL)) {
        r = otp_hotmem_map(otp_ring_bytes(otp_settings.ring_bytes));
        if (r != NULL) {
            otp_ring_init(r, otp_settings.ring_bytes);
            otp_store_release(&t->ring, r); /* pairs: RING-BIRTH */
        }
    }
    return r;
}

void otp_thread_wake_at_half(const struct otp_ring *r, uint64_t used_before)
{
    uint32_t half = r->size / 2;
    if (used_before < half && otp_ring_used(r) >= half) {
        otp_capture_wake();
    }
}

bool otp_thread_enter(struct otp_thread *t, uintptr_t host_sp)
{
    if (OTP_UNLIKELY(t->busy != 0)) {
        /*
         * A handler of the host that interrupted capture runs below it on the stack. Being above
         * (or on the same spot) means that capture was left for good, by a jump out of such a
         * handler.
         */
        bool is_abandoned = host_sp >= t->busy_sp && !otp_scratch_holds(host_sp);
        if (!is_abandoned) {
            return false;
        }
        otp_scratch_release(t->scratch);
        t->scratch = 0;
    }
    t->busy_sp = host_sp;
    t->busy = 1;
    otp_signal_fence();
    uint32_t epoch = otp_load_relaxed(&otp_names_epoch);
    if (OTP_UNLIKELY(t->names_epoch != epoch)) {
        t->names_epoch = epoch;
        if (t->has_own_name == 0) {
            name_from_kernel(t);
        }
    }
    return true;
}

void otp_thread_leave(struct otp_thread *t)
{
    otp_signal_fence();
    t->busy = 0;
}
