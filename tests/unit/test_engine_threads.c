/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine with many threads: they allocate, free each other's blocks, begin and end, while
 * others ask the worker for flushes, have it step aside and in the end stop it, all at once. Meant
 * for the thread sanitizer (MODE=tsan), which knows no threads made by clone: the worker runs as a
 * thread of the thread library here (the Makefile wraps otp_arch_clone_thread).
 */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/real.h"
#include "core/base/sys.h"
#include "core/capture/alloc.h"
#include "core/capture/arch.h"
#include "core/capture/capture.h"
#include "core/capture/spawn.h"
#include "core/engine/engine.h"
#include "core/engine/state.h"
#include "tests/unit/run.h"

#define THREADS 8
#define WAVES 6
#define ROUNDS 3000
#define FLUSHES 10
#define SHARED 256

static void *shared[SHARED];
static uint32_t launches;
static uint32_t is_over;
static char folder[64];

/* ---- the worker as a thread that the sanitizer knows ---- */

struct launch {
    int *tid;
    void (*fn)(void *arg);
    void *arg;
};

static void *run_worker(void *arg)
{
    struct launch l = *(struct launch *)arg;
    otp_store_release(l.tid, otp_sys_gettid());
    l.fn(l.arg);
    otp_store_release(l.tid, 0); /* what the kernel does by CLONE_CHILD_CLEARTID */
    (void)OTP_SYS3(SYS_futex, l.tid, FUTEX_WAKE, INT32_MAX);
    return NULL;
}

long __wrap_otp_arch_clone_thread(unsigned long flags, void *stack, int *tid, void *tls,
                                  void (*fn)(void *arg), void *arg);
long __wrap_otp_arch_clone_thread(unsigned long flags, void *stack, int *tid, void *tls,
                                  void (*fn)(void *arg), void *arg)
{
    static struct launch l;
    pthread_t t;
    (void)flags;
    (void)stack;
    (void)tls;
    l = (struct launch){.tid = tid, .fn = fn, .arg = arg};
    if (pthread_create(&t, NULL, run_worker, &l) != 0) {
        return -1;
    }
    (void)pthread_detach(t);
    int now;
    while ((now = otp_load_acquire(tid)) == 0) {
        (void)OTP_SYS0(SYS_sched_yield);
    }
    (void)otp_add_relaxed(&launches, 1);
    return now;
}

/* ---- what the host does ---- */

static void *host_malloc(size_t size)
{
    return otp_alloc_skip(size) ? otp_real.malloc(size) : otp_enter_malloc(size);
}

static void host_free(void *p)
{
    if (!otp_free_skip(p)) {
        p = otp_alloc_release(p);
    }
    otp_real.free(p);
}

static void *churn(void *arg)
{
    size_t me = (size_t)(uintptr_t)arg;
    for (size_t n = 0; n < ROUNDS; n++) {
        size_t size = 100 + (n * 37 + me * 1001) % 9000;
        char *p = host_malloc(size);
        ck_assert_ptr_nonnull(p);
        p[0] = 1;
        p[size - 1] = 2;
        host_free(otp_exchange_acq_rel(&shared[(n * 31 + me * 7) % SHARED], (void *)p));
    }
    return arg;
}

static void start(pthread_t *t, void *(*fn)(void *arg), size_t n)
{
    void *arg = (void *)(uintptr_t)n;
    struct otp_thread *record = otp_spawn_prepare(NULL, fn, arg);
    ck_assert_ptr_nonnull(record);
    ck_assert_int_eq(pthread_create(t, NULL, otp_thread_run, record), 0);
}

static void *make_waves(void *arg)
{
    pthread_t t[THREADS];
    for (int wave = 0; wave < WAVES; wave++) {
        for (size_t i = 0; i < THREADS; i++) {
            start(&t[i], churn, i);
        }
        for (size_t i = 0; i < THREADS; i++) {
            pthread_join(t[i], NULL);
        }
    }
    otp_store_release(&is_over, 1);
    return arg;
}

static void *ask_for_flushes(void *arg)
{
    for (int i = 0; i < FLUSHES || otp_load_acquire(&is_over) == 0; i++) {
        otp_engine_flush();
    }
    return arg;
}

static void *step_aside(void *arg)
{
    while (otp_load_acquire(&is_over) == 0) {
        if (otp_engine_step_aside()) {
            usleep(1000);
        }
        otp_engine_step_back();
        usleep(5000);
    }
    return arg;
}

static void *stop(void *arg)
{
    otp_engine_stop();
    return arg;
}

static unsigned count_files(void)
{
    unsigned count = 0;
    char path[512];
    DIR *d = opendir(folder);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        bool is_whole = strstr(e->d_name, ".otlp") != NULL && e->d_name[0] != '.';
        count += is_whole;
        snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        (void)unlink(path);
    }
    if (d != NULL) {
        closedir(d);
    }
    return count;
}

static void run_all(const char *interval)
{
    pthread_t t[4];
    char output[128];
    char program[] = "program";
    char *const argv[] = {program, NULL};
    snprintf(folder, sizeof(folder), "/tmp/otelprof-engine.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(output, sizeof(output), "OTELPROF_OUTPUT=file:%s/%%n.otlp", folder);
    char heap[64];
    snprintf(heap, sizeof(heap), "OTELPROF_HEAP_INTERVAL=%s", interval);
    char cpu[] = "OTELPROF_CPU=false";
    char times[] = "OTELPROF_TIMESTAMPS=true";
    char often[] = "OTELPROF_INTERVAL=20ms";
    char *const env[] = {output, heap, cpu, times, often, NULL};
    otp_engine_start(1, argv, env);
    ck_assert(otp_capture_is_on());

    start(&t[0], make_waves, 0);
    start(&t[1], ask_for_flushes, 0);
    start(&t[2], ask_for_flushes, 0);
    start(&t[3], step_aside, 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_create(&t[i], NULL, stop, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
    }
    ck_assert_uint_gt(launches, 0);
    ck_assert_uint_eq(otp_load_relaxed(&otp_engine.requested), otp_load_acquire(&otp_engine.done));
    ck_assert_uint_gt(count_files(), 1);
    ck_assert_int_eq(rmdir(folder), 0);
}

START_TEST(test_each_free_is_looked_up)
{
    run_all("2k");
}
END_TEST

START_TEST(test_sampled_blocks_are_kept_for_the_next_sample)
{
    run_all("256k");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("engine with many threads");
    TCase *t = tcase_create("threads");
    tcase_add_test(t, test_each_free_is_looked_up);
    tcase_add_test(t, test_sampled_blocks_are_kept_for_the_next_sample);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    return unit_run(s);
}
