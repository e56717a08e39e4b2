/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/spawn.h"

#include <stddef.h>
#include <sys/resource.h>

#include "core/base/atomic.h"
#include "core/base/map.h"
#include "core/base/real.h"
#include "core/base/sys.h"
#include "core/capture/capture.h"
#include "core/capture/signals.h"
#include "core/capture/timer.h"

#define FALLBACK_STACK ((size_t)2 << 20) /* glibc's when the limit is infinite */

/* Values of keys below this lie in the thread itself; for others memory is taken. Source: glibc,
 * PTHREAD_KEY_2NDLEVEL_SIZE. */
#define KEYS_IN_THREAD 32U
#define NO_KEY (UINT32_MAX - 1) /* there is none to be had */
#define MAKES_KEY UINT32_MAX    /* another thread is at it */

static size_t default_stack_bytes;
static uint32_t end_key; /* its number, plus 1; 0: not made yet; atomic */

/* Threads that return or call pthread_exit have said so before; those that were cancelled, or left
 * by thrd_exit, have not. */
static void see_end(void *record)
{
    struct otp_thread *t = record;
    if (t != otp_tls.thread || otp_load_relaxed(&t->state) != OTP_THREAD_LIVE) {
        return;
    }
    void *(*start)(void *) = otp_load_relaxed(&t->start);
    t->last_leaf = start != NULL ? (uintptr_t)start : (uintptr_t)otp_load_relaxed(&t->start_c11);
    otp_thread_end();
}

static void make_end_key(void)
{
    uint32_t none = 0;
    pthread_key_t key = 0;
    if (otp_real.pthread_key_create == NULL || otp_real.pthread_setspecific == NULL ||
        !otp_cas_acq_rel(&end_key, &none, MAKES_KEY)) {
        return;
    }
    bool is_made = otp_real.pthread_key_create(&key, see_end) == 0 && key < KEYS_IN_THREAD;
    otp_store_release(&end_key, is_made ? key + 1 : NO_KEY);
}

void otp_spawn_watch_end(struct otp_thread *t)
{
    uint32_t key = otp_load_acquire(&end_key);
    if (key != 0 && key < NO_KEY) {
        (void)otp_real.pthread_setspecific(key - 1, t);
    }
}

void otp_spawn_init(void)
{
    struct rlimit limit = {0};
    make_end_key();
    (void)OTP_SYS2(SYS_getrlimit, RLIMIT_STACK, &limit);
    default_stack_bytes = limit.rlim_cur == RLIM_INFINITY ? FALLBACK_STACK : (size_t)limit.rlim_cur;
}

/* A record is useful when its thread would be sampled in one way or the other. */
static struct otp_thread *prepare(void *(*start)(void *), void *arg, size_t stack_bytes)
{
    if (!otp_capture_is_on()) {
        return NULL;
    }
    otp_signals_check_tick();
    if (OTP_UNLIKELY(otp_load_relaxed(&end_key) == 0)) {
        (void)OTP_REAL(pthread_key_create); /* an old libc's thread library may be there now */
        (void)OTP_REAL(pthread_setspecific);
        make_end_key();
    }
    struct otp_thread *t = otp_thread_claim();
    if (t != NULL) {
        otp_thread_prepare(t, start, arg, stack_bytes);
    }
    return t;
}

struct otp_thread *otp_spawn_prepare(const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
    size_t bytes = default_stack_bytes;
    if (attr != NULL) {
        __typeof__(otp_real.pthread_attr_getstacksize) real = OTP_REAL(pthread_attr_getstacksize);
        bytes = real != NULL && real(attr, &bytes) == 0 ? bytes : 0;
    }
    return prepare(start, arg, bytes);
}

struct otp_thread *otp_spawn_prepare_c11(int (*start)(void *), void *arg)
{
    struct otp_thread *t = prepare(NULL, arg, default_stack_bytes);
    if (t != NULL) {
        otp_store_relaxed(&t->start_c11, start);
    }
    return t;
}

int otp_thread_run_c11(void *arg)
{
    struct otp_thread *t = arg;
    otp_thread_begin(t);
    int result = t->start_c11(t->start_arg);
    t->last_leaf = (uintptr_t)t->start_c11;
    otp_thread_end();
    return result;
}

void otp_spawn_cloned(int32_t tid, int (*start)(void *))
{
    if (!otp_settings.is_cpu_on || !otp_capture_is_on() || otp_sys_getpid() != otp_settings.pid) {
        return;
    }
    struct otp_thread *t = otp_thread_claim();
    if (t == NULL) {
        return;
    }
    otp_thread_prepare(t, NULL, NULL, 0);
    t->start_c11 = start;
    t->is_adopted = 1;
    t->random = otp_hash_mix(otp_sys_monotonic_ns(), (uint64_t)tid);
    otp_store_relaxed(&t->context, otp_context_number(t->start_name, tid));
    /* From then on the record is the worker's as soon as the thread has ended. */
    if (!otp_timer_start_for(t, tid)) {
        otp_thread_unclaim(t);
    }
}

void otp_spawn_named(bool is_self, const char *name)
{
    struct otp_thread *t = otp_tls.thread;
    if (!is_self || t == NULL || t->tid != otp_sys_gettid()) {
        (void)otp_add_relaxed(&otp_names_epoch, 1);
    } else if (otp_load_relaxed(&t->has_own_name) == 0) {
        char known[OTP_THREAD_NAME_MAX] = {0}; /* the kernel looks at no more of it */
        for (size_t i = 0; i < sizeof(known) - 1 && name[i] != '\0'; i++) {
            known[i] = name[i];
        }
        otp_thread_set_name(t, known);
    }
}
