/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <time.h>

#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/heap.h"
#include "core/base/hotmem.h"
#include "core/base/real.h"
#include "core/base/sys.h"
#include "core/base/tag.h"
#include "core/base/utf8.h"
#include "core/capture/alloc.h"
#include "core/capture/arch.h"
#include "core/capture/arrears.h"
#include "core/capture/altstack.h"
#include "core/capture/capture.h"
#include "core/capture/ids.h"
#include "core/capture/perf.h"
#include "core/capture/rules.h"
#include "core/capture/scratch.h"
#include "core/capture/signals.h"
#include "core/capture/slot.h"
#include "core/capture/snapshot.h"
#include "core/capture/spawn.h"
#include "core/capture/thread.h"
#include "core/capture/timer.h"
#include "core/capture/unwind.h"
#include "core/engine/power.h"
#include "core/engine/rates.h"
#include "core/engine/state.h"
#include "core/ledger/ledger.h"
#include "core/ledger/live.h"
#include "core/resource/resource.h"

#define RING_BYTES 16384U
#define RULES_PART 8U /* of the unwinding rules in hot memory: one part in so many */
#define SIGNAL_SET_BYTES 8
#define ASK_AGAIN 20 /* times, 1 ms apart */
#define START_HEAP_BYTES ((size_t)4 << 20)
#define FILE_WAIT_NS UINT64_C(30000000000) /* for naming and writing, which needs no peer */
#define MAIN_STACK_MAX ((size_t)8 << 30)

/* Weak for the sake of other C libraries, see dynsym_hot.c. */
extern void *__libc_stack_end __attribute__((weak));
extern char __dso_handle[] __attribute__((visibility("hidden")));
extern const char own_start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char own_end[] __asm__("_end") __attribute__((visibility("hidden")));
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                             void *dso) __attribute__((weak));

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

struct otp_engine otp_engine;
static uint32_t stop_ticket; /* of the last flush; 0: none was asked for */
static int stopping_tid;     /* thread that is about to ask for it; 0: none */

static void report(void *arg, enum otp_log_level level, const char *line, size_t len)
{
    (void)arg;
    otp_engine_log(level, line, len);
}

/* The name that the program was started by, also for where there is no /proc to ask. */
static void note_exe(void)
{
    const char *name = (const char *)getauxval(AT_EXECFN);
    size_t len = name == NULL ? 0 : strlen(name);
    size_t folder_len = len > 0 && name[0] != '/' ? otp_engine.cwd_len + 1 : 0;
    if (len == 0 || folder_len == 1 || folder_len + len >= sizeof(otp_engine.exe)) {
        return;
    }
    if (folder_len > 0) {
        memcpy(otp_engine.exe, otp_engine.cwd, folder_len - 1);
        otp_engine.exe[folder_len - 1] = '/';
    }
    memcpy(otp_engine.exe + folder_len, name, len + 1);
}

static void note_place(void)
{
    long n = OTP_SYS2(SYS_getcwd, otp_engine.cwd, sizeof(otp_engine.cwd));
    /* "(unreachable)/..." is what the kernel says of a folder outside the root. */
    otp_engine.cwd_len = n > 1 && otp_engine.cwd[0] == '/' ? (size_t)n - 1 : 0;
    note_exe();
    otp_engine.program_len =
        otp_resource_program(otp_engine.program, OTP_NAME_MAX, NULL, otp_engine.exe);
}

static void quiet(void);

static void seed_ledger(void)
{
    uint64_t seed;
    otp_sys_random(&seed, sizeof(seed));
    otp_ledger_set_seed(seed);
}

static void apply_settings(const struct otp_conf *conf)
{
    otp_settings.is_cpu_on = conf->cpu;
    otp_settings.is_heap_on = conf->heap;
    otp_settings.has_timestamps = conf->timestamps;
    otp_settings.has_thread_id = (conf->thread_attributes & OTP_THREAD_ATTRIBUTE_ID) != 0;
    otp_settings.has_thread_name = (conf->thread_attributes & OTP_THREAD_ATTRIBUTE_NAME) != 0;
    otp_settings.max_depth = conf->max_depth;
    otp_settings.kernel_tick_ns = otp_perf_kernel_tick_ns();
    otp_settings.cpu_period_ns = otp_rates_period_ns(conf->cpu_hz, 0);
    otp_settings.wants_perf = conf->cpu && otp_rates_want_perf(conf, otp_settings.cpu_period_ns);
    otp_settings.heap_interval = conf->heap_interval_bytes;
    otp_settings.own_start = (uintptr_t)own_start;
    otp_settings.own_end = (uintptr_t)own_end;
    otp_settings.need_worker = otp_worker_ensure;
    otp_settings.quiet = quiet;
    uint32_t ring = RING_BYTES;
    while (ring <
           4 * (sizeof(struct otp_record) + sizeof(struct otp_tag) + 8U * (conf->max_depth + 1))) {
        ring *= 2;
    }
    otp_settings.ring_bytes = ring;
    size_t hot = (size_t)conf->memory_limit_bytes / 2;
    otp_hotmem_set_limit(hot);
    otp_rules_set_limit(hot / RULES_PART);
    otp_ledger_set_limit(hot);
    seed_ledger();
    otp_ledger_set_tag_limit((size_t)conf->memory_limit_bytes / OTP_ENGINE_TAG_PART);
}

/* The main thread's stack ends where the kernel put the arguments; it may grow down to its limit.
 */
static void attach_main_thread(void)
{
    struct rlimit limit = {0};
    (void)OTP_SYS2(SYS_getrlimit, RLIMIT_STACK, &limit);
    struct otp_thread *t = otp_thread_current();
    if (t != NULL) {
        size_t bytes = limit.rlim_cur > MAIN_STACK_MAX ? MAIN_STACK_MAX : (size_t)limit.rlim_cur;
        t->stack_high = (uintptr_t)__libc_stack_end + 64;
        t->stack_low = t->stack_high - bytes;
    }
}

static void start_timer(void)
{
    struct otp_thread *t = otp_thread_current();
    if (t != NULL && otp_settings.is_cpu_on && t->is_off == 0) {
        (void)otp_timer_start(t);
    }
}

/* A tick during fork makes the kernel begin it again: with a large process, for ever. */
void otp_engine_before_fork(struct otp_fork *f)
{
    f->is_masked = false;
    if (otp_settings.is_cpu_on && otp_thread_current() != NULL) {
        uint64_t tick = UINT64_C(1) << (otp_settings.signo - 1);
        f->is_masked =
            OTP_SYS4(SYS_rt_sigprocmask, SIG_BLOCK, &tick, &f->mask, SIGNAL_SET_BYTES) == 0;
    }
}

static void open_mask(struct otp_fork *f)
{
    if (f->is_masked) {
        f->is_masked = false;
        otp_sys_restore_signals(f->mask);
    }
}

/* Of the C library's fork, which may be interrupted by a handler that forks. */
static void before_fork(void)
{
    struct otp_thread *t = otp_settings.is_cpu_on ? otp_thread_current() : NULL;
    if (t != NULL && !t->fork.is_masked) {
        otp_engine_before_fork(&t->fork);
    }
}

static void after_fork_in_parent(void)
{
    struct otp_thread *t = otp_tls.thread;
    if (t != NULL) {
        open_mask(&t->fork);
    }
}

/* What was allocated before the fork is the parent's to report. */
static void set_baseline(struct otp_account *a, void *arg)
{
    (void)arg;
    a->told_objects = a->alloc_objects;
    a->told_bytes = a->alloc_bytes;
}

/* Whether there is something to do for a worker also when nothing was sampled. */
static bool wants_worker(void)
{
    return otp_engine.conf.control ||
           otp_capture_is_on() != (otp_load_relaxed(&otp_engine.is_wished) != 0);
}

/* What the last flush before an exec could tell; see is_all_told. */
static struct {
    uint64_t samples; /* 0: there was none */
    uint64_t live;
} told;

static void begin_in_child(void)
{
    stop_ticket = 0; /* the worker that would answer is not here */
    stopping_tid = 0;
    otp_store_relaxed(&otp_settings.perf_holds, 0);
    told.samples = 0;
    if (!otp_capture_is_there()) {
        return;
    }
    otp_engine.pid = otp_sys_getpid();
    otp_engine.is_fork_child = true;
    otp_engine.start_ns = otp_sys_realtime_ns();
    otp_engine.requested = 0;
    otp_engine.request = 0;
    otp_engine.done = 0;
    otp_store_relaxed(&otp_samples_taken, 0);
    memset(otp_counters, 0, sizeof(otp_counters));
    otp_signals_forget_lock();
    const struct otp_thread *me = otp_tls.thread;
    otp_scratch_forget(me != NULL && me->busy != 0 ? me->scratch : 0);
    otp_settings.pid = otp_engine.pid;
    otp_worker_forget();
    if (otp_settings.is_perf_used || otp_settings.wants_perf) {
        otp_perf_forget(); /* the parent's worker has them: timers tick until there is one here */
    }
    otp_thread_forget_others();
    otp_signals_check_tick(); /* the child may have begun without handlers (CLONE_CLEAR_SIGHAND) */
    otp_alloc_after_fork();
    seed_ledger();
    otp_cost_forget();
    if (!otp_engine.conf.follow_fork) {
        otp_store_relaxed(&otp_capture_state, OTP_CAPTURE_ENDED);
        return;
    }
    otp_ledger_each(set_baseline, NULL);
    otp_ledger_each_tagged(set_baseline, NULL);
    otp_ids_after_fork();
    otp_slot_after_fork();
    otp_slot_look_again();
    bool is_on = otp_capture_is_on();
    otp_engine.is_flush_wished = 0;
    otp_engine.is_asleep = !is_on;
    otp_engine.is_budget_new = true;
    otp_engine.samples_told = 0;
    if (is_on) {
        start_timer();
    }
    if (wants_worker()) {
        otp_worker_ensure();
    }
}

static void after_fork_in_child(void)
{
    after_fork_in_parent();
    begin_in_child();
}

void otp_engine_after_fork(struct otp_fork *f, bool is_child)
{
    open_mask(f);
    if (is_child) {
        begin_in_child();
    }
}

void otp_engine_start_returned(int status)
{
    if (otp_thread_is_alone()) {
        otp_engine_stop();
        otp_worker_join(); /* the process ends with the status of whoever ends last */
    } else {
        otp_thread_end();
        otp_store_relaxed(&otp_last_exit_status, (uint32_t)status);
    }
}

/* Where the C library cannot find objects without a lock, what is loaded now is noted. */
static void first_snapshot(void)
{
    struct otp_heap heap;
    otp_heap_init(&heap, START_HEAP_BYTES);
    otp_snapshot_refresh(&heap);
    otp_heap_reset(&heap);
}

static void at_quick_exit_stop(void *unused)
{
    (void)unused;
    otp_engine_stop();
}

static void log_start(const struct otp_conf *conf)
{
    struct otp_line line = {0};
    otp_line_str(&line, conf->start ? "profiling " : "dormant in ");
    otp_utf8_show(&line, otp_text_make(otp_engine.program, otp_engine.program_len), OTP_NAME_MAX);
    if (conf->cpu) {
        otp_line_str(&line, ", CPU samples a second: ");
        otp_line_u64(&line, conf->cpu_hz);
    }
    if (conf->heap) {
        otp_line_str(&line, ", bytes between heap samples: ");
        otp_line_u64(&line, conf->heap_interval_bytes);
    }
    otp_engine_log(OTP_LOG_INFO, line.text, line.len);
}

static void begin(const struct otp_conf *conf)
{
    otp_engine.is_wished = conf->start;
    otp_engine.is_asleep = !conf->start;
    otp_engine.has_slept = !conf->start;
    if (conf->start) {
        otp_alloc_begin();
        otp_store_release(&otp_capture_state, OTP_CAPTURE_ON);
        start_timer();
    } else {
        otp_store_release(&otp_capture_state, OTP_CAPTURE_DORMANT);
    }
    log_start(conf);
    if (conf->control) {
        otp_worker_ensure();
    }
}

void otp_engine_start(int argc, char *const *argv, char *const *envp)
{
    (void)argc;
    (void)argv;
    otp_real_init();
    if (&__libc_stack_end == NULL || __register_atfork == NULL) {
        /* Not glibc, whose threads, stacks and constructors we know: the program runs unprofiled.
         */
        otp_store_release(&otp_capture_state, OTP_CAPTURE_ENDED);
        return;
    }
    struct otp_conf *conf = &otp_engine.conf;
    otp_engine_log_start();
    otp_conf_load(conf, envp, report, NULL);
    note_place();
    otp_engine.pid = otp_sys_getpid();
    otp_settings.pid = otp_engine.pid;
    otp_engine.start_ns = otp_sys_realtime_ns();
    char own[OTP_NAME_MAX];
    size_t own_len = otp_resource_program(own, sizeof(own), NULL, NULL);
    bool is_wanted =
        !conf->disabled && (conf->cpu || conf->heap) &&
        otp_conf_wants_program(conf, otp_text_make(otp_engine.program, otp_engine.program_len),
                               otp_text_make(own, own_len));
    if (!is_wanted) {
        static const char text[] = "the settings leave this program alone";
        otp_engine_log(OTP_LOG_DEBUG, text, sizeof(text) - 1);
        otp_store_release(&otp_capture_state, OTP_CAPTURE_ENDED);
        return;
    }
    apply_settings(conf);
    if (conf->toggle_signal != 0 &&
        !otp_signals_take_toggle(conf->toggle_signal, otp_power_wish_toggle)) {
        static const char text[] = "OTELPROF_TOGGLE_SIGNAL: the signal is in use, there is none";
        otp_engine_log(OTP_LOG_ERROR, text, sizeof(text) - 1);
    }
    if (!otp_scratch_init() || !otp_signals_start(conf->cpu, otp_engine_stop)) {
        static const char text[] = "not enough memory or signals to start; the program runs on";
        otp_engine_log(OTP_LOG_ERROR, text, sizeof(text) - 1);
        otp_store_release(&otp_capture_state, OTP_CAPTURE_ENDED);
        otp_signals_stop();
        return;
    }
    otp_unwind_init();
    first_snapshot();
    otp_slot_start();
    otp_spawn_init();
    otp_altstack_init((size_t)getauxval(AT_MINSIGSTKSZ));
    otp_settings.entry = getauxval(AT_ENTRY);
    attach_main_thread();
    (void)__register_atfork(before_fork, after_fork_in_parent, after_fork_in_child, NULL);
    if (otp_real.at_quick_exit != NULL) {
        (void)otp_real.at_quick_exit(at_quick_exit_stop, __dso_handle);
    }
    otp_alloc_init();
    otp_ids_draw();
    begin(conf);
}

static bool is_ours(void)
{
    return otp_engine.pid == otp_sys_getpid() && otp_load_relaxed(&otp_samples_taken) != 0;
}

/* Asks the worker for something; what to wait for is returned. */
static uint32_t post(uint32_t what)
{
    if ((what & (OTP_REQUEST_PAUSE | OTP_REQUEST_QUIET)) == 0) {
        otp_worker_ensure();
    }
    (void)__atomic_fetch_or(&otp_engine.request, what, __ATOMIC_ACQ_REL);
    uint32_t ticket = otp_add_acq_rel(&otp_engine.requested, 1) + 1; /* pairs: ENGINE-REQUEST */
    otp_capture_wake();
    return ticket;
}

/*
 * Waits until the worker has answered, or the time is up, or there is no worker. No system call
 * when it has answered already.
 */
static void await(uint32_t ticket, uint32_t what)
{
    uint64_t until = 0;
    for (;;) {
        uint32_t done = otp_load_acquire(&otp_engine.done); /* pairs: ENGINE-DONE */
        if ((int32_t)(done - ticket) >= 0 || otp_worker_has_failed()) {
            return;
        }
        uint64_t now = otp_sys_monotonic_ns();
        until = until != 0 ? until : now + otp_engine.conf.shutdown_timeout_ns + FILE_WAIT_NS;
        if (now >= until) {
            return;
        }
        if (otp_load_acquire(&otp_worker_alive) == 0) { /* told to pause by another thread */
            if ((what & (OTP_REQUEST_PAUSE | OTP_REQUEST_QUIET)) != 0) {
                return;
            }
            otp_worker_ensure();
        }
        struct timespec ts = {.tv_sec = 0, .tv_nsec = 100000000};
        (void)OTP_SYS4(SYS_futex, &otp_engine.done, FUTEX_WAIT_PRIVATE, done, &ts);
    }
}

static void request(uint32_t what)
{
    await(post(what), what);
}

/* Also while the worker may be opening events for the first time. Whoever calls this holds perf, if
 * none shall be opened afterwards. */
static void quiet(void)
{
    if (otp_worker_is_self()) {
        otp_perf_close_all();
    } else if ((otp_settings.is_perf_used || otp_settings.wants_perf) &&
               otp_engine.pid == otp_sys_getpid() && otp_load_acquire(&otp_worker_alive) != 0) {
        request(OTP_REQUEST_QUIET);
    }
}

/* What is due of the thread that ends the process gets a stack of its own. */
static void take_last_tick(void)
{
    struct otp_thread *t = otp_tls.thread;
    if (t != NULL && otp_thread_is_told(t) && t->tid == otp_sys_gettid()) {
        otp_enter_last_tick();
    }
}

/*
 * The process must not end while another thread waits for the last flush, or what the caller has
 * interrupted does. No system call when there is nothing to wait for.
 */
static void await_stop(void)
{
    int tid;
    while ((tid = otp_load_acquire(&stopping_tid)) != 0 && tid != otp_sys_gettid()) {
        (void)OTP_SYS0(SYS_sched_yield);
    }
    uint32_t ticket = otp_load_acquire(&stop_ticket);
    if (ticket != 0) {
        await(ticket, OTP_REQUEST_STOP);
    }
}

/* False: it has ended already. */
static bool end_capture(void)
{
    uint32_t state = otp_load_acquire(&otp_capture_state);
    while (state == OTP_CAPTURE_ON || state == OTP_CAPTURE_DORMANT) {
        if (otp_cas_acq_rel(&otp_capture_state, &state, OTP_CAPTURE_ENDED)) {
            return true;
        }
    }
    return false;
}

void otp_engine_stop(void)
{
    /* First the state: after standing down not even getpid may be called. */
    if (!otp_capture_is_there()) {
        await_stop();
        return;
    }
    if (otp_engine.pid != otp_sys_getpid()) {
        return;
    }
    take_last_tick();
    int nobody = 0;
    if (!otp_cas_acq_rel(&stopping_tid, &nobody, otp_sys_gettid())) {
        await_stop();
        return;
    }
    bool is_wanted = end_capture() && (is_ours() || otp_arrears_are_there());
    uint32_t ticket = is_wanted ? post(OTP_REQUEST_STOP) : 0;
    if (is_wanted) {
        otp_store_release(&stop_ticket, ticket);
    }
    otp_store_release(&stopping_tid, 0);
    if (!is_wanted) {
        return;
    }
    await(ticket, OTP_REQUEST_STOP);
    if (otp_worker_has_failed()) {
        otp_worker_flush_here();
    }
}

void otp_engine_stand_down(void)
{
    if (otp_capture_is_there() && otp_engine.pid == otp_sys_getpid()) {
        otp_engine_stop();
        if (otp_load_acquire(&stop_ticket) == 0 && otp_load_acquire(&otp_worker_alive) != 0) {
            request(OTP_REQUEST_PAUSE); /* a worker that had nothing to write */
        }
        otp_worker_join(); /* its own exit is a system call, too */
        otp_timer_stop_all();
        otp_signals_stop();
        otp_settings.is_cpu_on = false; /* there is no tick to block while it forks */
    }
}

bool otp_engine_ask_again(long answer, int tries)
{
    struct timespec ts = {.tv_sec = 0, .tv_nsec = 1000000};
    if (answer == 0 || errno != EINVAL || tries >= ASK_AGAIN) {
        return false;
    }
    (void)OTP_SYS2(SYS_nanosleep, &ts, 0);
    return true;
}

bool otp_engine_step_aside(void)
{
    bool has_worker = otp_capture_is_there() && otp_load_relaxed(&otp_worker_alive) != 0 &&
                      otp_engine.pid == otp_sys_getpid();
    if (has_worker) {
        otp_worker_hold(true);
        request(OTP_REQUEST_PAUSE);
        otp_worker_join();
    }
    return has_worker;
}

void otp_engine_step_back(void)
{
    otp_worker_hold(false);
    if (otp_capture_is_there() && otp_engine.pid == otp_sys_getpid() && wants_worker()) {
        otp_worker_ensure();
    }
}

void otp_engine_settle(void)
{
    if (otp_capture_is_there() && otp_engine.pid == otp_sys_getpid()) {
        otp_worker_settle();
    }
}

void otp_engine_flush(void)
{
    if (otp_capture_is_on() && is_ours()) {
        request(OTP_REQUEST_FLUSH);
    }
}

/* Whether the calling thread has used a period of which nothing is told. */
static bool is_owing(void)
{
    const struct otp_thread *t = otp_tls.thread;
    uint64_t now_ns;
    return t != NULL && otp_thread_is_told(t) && t->tid == otp_sys_gettid() &&
           otp_timer_clock(t, &now_ns) && otp_timer_due(t, now_ns) > 0;
}

/* True when a flush would say nothing that the last one before an exec has not said: that one
 * failed, nothing was sampled since, nothing that lived was freed, and the caller owes nothing. */
static bool is_all_told(void)
{
    return otp_load_acquire(&told.samples) == otp_load_relaxed(&otp_samples_taken) &&
           otp_load_relaxed(&told.live) == otp_live_count() && !is_owing();
}

/* A program that tries one name after the other does not leave a file for each. */
static void flush_news(void)
{
    if (!otp_capture_is_on() || otp_engine.pid != otp_sys_getpid() || is_all_told()) {
        return;
    }
    take_last_tick();
    if (!is_ours()) {
        return;
    }
    uint64_t samples = otp_load_relaxed(&otp_samples_taken);
    uint64_t live = otp_live_count(); /* both before the flush, which tells what was until then */
    otp_engine_flush();
    otp_store_relaxed(&told.live, live);
    otp_store_release(&told.samples, samples);
}

bool otp_engine_before_exec(void)
{
    flush_news();
    if (!otp_capture_is_on() || otp_engine.pid != otp_sys_getpid()) {
        return false;
    }
    (void)otp_add_acq_rel(&otp_settings.perf_holds, 1);
    if (otp_settings.is_perf_used || otp_settings.wants_perf) {
        quiet();
        (void)otp_signals_drop_pending();
    }
    return true;
}

void otp_engine_after_exec(bool is_held)
{
    if (is_held) {
        (void)otp_sub_acq_rel(&otp_settings.perf_holds, 1);
    }
}
