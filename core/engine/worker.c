/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker thread. It is made by clone(2) itself, not by the thread library, so that the host's
 * libc keeps thinking what is true of the host: a program without threads keeps the cheap
 * single-threaded paths of malloc, stdio and reference counts, and pthread_exit of its last thread
 * ends the process. The price: nothing that runs here may use libc beyond pure functions on memory.
 *
 * I1  It is started when there is something to do for the first time, in whatever host thread that
 * is.
 *
 * I2  All signals are blocked in it, from before its first instruction.
 *
 * I3  Its descriptors and its idea of root, current folder and umask are its own.
 */
#define _GNU_SOURCE /* clone flags */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"
#include "core/base/sys.h"
#include "core/base/valgrind.h"
#include "core/capture/arch.h"
#include "core/capture/capture.h"
#include "core/capture/perf.h"
#include "core/capture/thread.h"
#include "core/engine/control.h"
#include "core/engine/creds.h"
#include "core/engine/outputs.h"
#include "core/engine/pipeline.h"
#include "core/engine/power.h"
#include "core/engine/rates.h"
#include "core/engine/state.h"
#include "core/resource/textfile.h"

#define STACK_BYTES ((size_t)320 << 10)
#define TLS_BELOW                                                                                  \
    ((size_t)64 << 10)           /* room for the thread-local data of libraries, never touched */
#define TLS_ABOVE ((size_t)4096) /* the control block */
#define TICK_NS UINT64_C(1000000000)
#define REFUSED_NS 20000000
#define SCAN_AGAIN_NS UINT64_C(20000000)    /* longer than a thread takes to make itself known */
#define WAIT_PIECES 400                     /* of 5 ms */
#define GONE_PIECES 20000                   /* of 0.1 ms */
#define FLUSH_LIMIT_NS UINT64_C(5000000000) /* for the sinks, in a flush that nobody waits for */

enum { WORKER_NONE = 0, WORKER_STARTING = 1, WORKER_RUNNING = 2, WORKER_FAILED = 3 };

static uint32_t worker_state;
static int worker_tid; /* written by the kernel: 0 when the thread is gone */
static void *worker_memory;
static bool is_open;        /* the pipeline; the worker's own */
static bool has_own_copy;   /* it was made with a copy of the descriptor table */
static uint32_t is_held;    /* none may be started: the host must be alone */
static uint32_t is_settled; /* descriptors and folders are its own; futex */
static uint64_t next_flush; /* monotonic ns; 0: not known yet */
static uint64_t next_pump;  /* no output is touched before */
static uint64_t asked_ns;   /* CPU time of requests to the control socket */
static uint64_t before_ns;  /* CPU time of the workers before this one */

/* What the thread library's control block must hold for compiled code: itself, and the stack guard.
 */
struct control_block {
    void *self;
    void *dtv;
    void *thread;
    uint64_t unused[2];
    uint64_t stack_guard; /* %fs:0x28 */
    uint64_t pointer_guard;
};

_Static_assert(offsetof(struct control_block, stack_guard) == 0x28, "x86-64 psABI supplement");

bool otp_worker_is_self(void)
{
    return otp_load_relaxed(&worker_tid) == otp_sys_gettid();
}

uint64_t otp_worker_asked_ns(void)
{
    return asked_ns;
}

uint64_t otp_worker_cpu_ns(void)
{
    return before_ns + otp_sys_thread_cpu_ns();
}

bool otp_worker_has_failed(void)
{
    return otp_load_acquire(&worker_state) == WORKER_FAILED;
}

/*
 * A table of its own, with everything closed; false: it would share the host's. Older kernels, and
 * filters that know close_range as little, were asked for a copy when the thread was made.
 */
static bool own_descriptors(void)
{
    if (otp_is_on_valgrind()) { /* which ends a program that asks clone for less than a thread */
        (void)OTP_SYS1(SYS_unshare, CLONE_FILES | CLONE_FS);
    }
    if (OTP_SYS3(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE) == 0) {
        return true;
    }
    if (!has_own_copy && OTP_SYS1(SYS_unshare, CLONE_FILES) != 0) {
        return false;
    }
    for (int fd = 0; fd < 65536; fd++) {
        otp_sys_close(fd);
    }
    return true;
}

/* A worker that follows another finds the pipeline as that left it. */
static bool open_once(void)
{
    is_open = is_open || otp_pipeline_open();
    return is_open;
}

/* Where somebody may ask for something, what that costs is measured. */
static uint64_t cpu_before_asked(void)
{
    return otp_engine.conf.control ? otp_sys_thread_cpu_ns() : 0;
}

/*
 * Until a host thread wakes it, or until_ns. No wait can be for both the word and a socket: so with
 * a control socket it looks at that in between.
 */
static void sleep_until(uint32_t seen, uint64_t until_ns)
{
    uint64_t now = otp_sys_monotonic_ns();
    uint64_t end = until_ns < now + TICK_NS ? until_ns : now + TICK_NS;
    while (now < end && otp_load_acquire(&otp_wake_word) == seen) {
        uint64_t left = end - now;
        uint64_t pause = otp_control_pause_ns();
        left = left < pause ? left : pause;
        struct timespec ts = {.tv_sec = (time_t)(left / 1000000000U),
                              .tv_nsec = (long)(left % 1000000000U)};
        long r = OTP_SYS4(SYS_futex, &otp_wake_word, FUTEX_WAIT_PRIVATE, seen, &ts);
        if (r < 0 && r != -EAGAIN && r != -EINTR && r != -ETIMEDOUT) {
            ts = (struct timespec){.tv_nsec = REFUSED_NS};
            (void)OTP_SYS2(SYS_nanosleep, &ts, 0); /* refused: it must not spin instead */
        }
        uint64_t cpu_ns = cpu_before_asked();
        if (otp_control_serve()) {
            asked_ns += otp_sys_thread_cpu_ns() - cpu_ns;
            return;
        }
        now = otp_sys_monotonic_ns();
    }
}

/* Answers what host threads wait for; true when the worker shall end. */
static bool answer(void)
{
    uint32_t requested = otp_load_acquire(&otp_engine.requested); /* pairs: ENGINE-REQUEST */
    if (requested == otp_load_relaxed(&otp_engine.done)) {
        return false;
    }
    uint32_t what = otp_exchange_acq_rel(&otp_engine.request, 0);
    bool is_last = (what & (OTP_REQUEST_STOP | OTP_REQUEST_PAUSE)) != 0;
    if ((what & (OTP_REQUEST_STOP | OTP_REQUEST_FLUSH)) != 0 && otp_power_has_news()) {
        uint64_t deadline = otp_sys_monotonic_ns() + otp_engine.conf.shutdown_timeout_ns;
        if ((what & OTP_REQUEST_STOP) != 0) {
            otp_outputs_end();
        }
        otp_pipeline_drain();
        otp_pipeline_flush(deadline, true);
    }
    if ((what & OTP_REQUEST_FLUSH) != 0) {
        /* Who asked is about to replace the program: the next file must not be caught half done. */
        uint64_t soonest = otp_sys_monotonic_ns() + TICK_NS;
        next_flush = next_flush < soonest ? soonest : next_flush;
        next_pump = soonest;
    }
    if ((what & ~(uint32_t)OTP_REQUEST_FLUSH) != 0) {
        otp_perf_close_all();
    }
    if ((what & OTP_REQUEST_PAUSE) != 0) {
        otp_control_close();
        before_ns = otp_worker_cpu_ns();
        /* From now on a sample starts another worker, which begins once this one is gone. */
        otp_store_release(&worker_state, WORKER_NONE);
        otp_store_release(&otp_worker_alive, 0);
    }
    otp_store_release(&otp_engine.done, requested); /* pairs: ENGINE-DONE */
    (void)OTP_SYS3(SYS_futex, &otp_engine.done, FUTEX_WAKE_PRIVATE, INT32_MAX);
    return is_last;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/* Once a second, and sooner when there are threads to look at again. */
static uint64_t look_around(uint64_t now)
{
    static uint64_t next_step;
    otp_creds_follow();
    if (otp_capture_is_on() && now >= next_step) { /* looks may follow each other faster */
        otp_rates_step();
        otp_thread_ask_names();
        next_step = now + TICK_NS;
    }
    bool look_again = otp_pipeline_scan();
    otp_power_check_signal();
    return now + (look_again ? SCAN_AGAIN_NS : TICK_NS);
}

static void flush_in_time(uint64_t now, uint64_t interval)
{
    if (otp_capture_is_on()) {
        otp_pipeline_flush(now + FLUSH_LIMIT_NS, false);
    }
    next_flush += (now - next_flush) / interval * interval + interval;
}

/*
 * Whether the host's threads are all gone, by the system call that ends one thread: then the
 * process would live on for our sake. The first thread stays listed when it has ended, as a zombie.
 * Source: proc(5).
 */
static bool is_host_gone(void)
{
    struct stat st;
    char text[512];
    if (OTP_SYS4(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0) < 0 || st.st_nlink > 4) {
        return false;
    }
    size_t len = otp_textfile_read(NULL, "/proc/self/stat", text, sizeof(text));
    while (len > 0 && text[len - 1] != ')') {
        len--; /* the name may hold anything; the state is behind it */
    }
    return len > 0 && len + 1 < sizeof(text) && (text[len + 1] == 'Z' || text[len + 1] == 'X');
}

static void flush_the_last(void)
{
    otp_outputs_end();
    otp_pipeline_drain();
    otp_pipeline_flush(otp_sys_monotonic_ns() + otp_engine.conf.shutdown_timeout_ns, true);
}

/* Until it is told to end. */
static void run(void)
{
    uint64_t next_scan = 0;
    uint64_t interval = otp_engine.conf.interval_ns;
    for (;;) {
        uint32_t seen = otp_load_acquire(&otp_wake_word);
        if (answer()) {
            return;
        }
        uint64_t cpu_ns = cpu_before_asked();
        if (otp_power_obey() && cpu_ns != 0) {
            asked_ns += otp_sys_thread_cpu_ns() - cpu_ns;
        }
        otp_pipeline_drain();
        uint64_t now = otp_sys_monotonic_ns();
        bool has_begun = otp_power_take_begun();
        next_scan = has_begun ? now : next_scan;
        if (has_begun || interval != otp_engine.conf.interval_ns) {
            interval = otp_engine.conf.interval_ns;
            next_flush = now + interval;
        }
        if (now >= next_scan) {
            next_scan = look_around(now);
            if (is_host_gone()) {
                flush_the_last();
                (void)OTP_SYS1(SYS_exit, otp_load_relaxed(&otp_last_exit_status));
            }
        }
        if (now >= next_flush) {
            flush_in_time(now, interval);
        }
        uint64_t pump = now < next_pump ? next_pump : otp_pipeline_pump();
        uint64_t next = earlier(otp_pipeline_look(), pump);
        sleep_until(seen, earlier(next, earlier(next_flush, next_scan)));
    }
}

static void work(void *arg)
{
    (void)arg;
    bool is_alone = own_descriptors();
    (void)OTP_SYS2(SYS_prctl, PR_SET_NAME, "otelprof");
    otp_store_release(&is_settled, 1);
    (void)OTP_SYS3(SYS_futex, &is_settled, FUTEX_WAKE_PRIVATE, INT32_MAX);
    if (otp_settings.wants_perf) {
        otp_perf_forget(); /* those of a worker before this one went with it */
    }
    if (!is_alone || !open_once()) {
        otp_store_release(&worker_state, WORKER_FAILED);
        (void)OTP_SYS3(SYS_futex, &otp_engine.done, FUTEX_WAKE_PRIVATE, INT32_MAX);
        return;
    }
    otp_engine_log_number(OTP_LOG_DEBUG, "the worker begins, thread ", (uint64_t)otp_sys_gettid(),
                          otp_engine.is_fork_child ? ", in a child of fork" : "");
    otp_rates_open();
    otp_control_open();
    if (next_flush == 0) {
        uint64_t interval = otp_engine.conf.interval_ns;
        next_flush = otp_sys_monotonic_ns() + interval - otp_outputs_jitter_ns(interval);
    }
    run();
}

/* Stack and thread-local storage of the worker, mapped once and used again by a later one. */
static void *memory_of_worker(void)
{
    if (worker_memory == NULL) {
        worker_memory = otp_sys_map(STACK_BYTES + TLS_BELOW + TLS_ABOVE);
    }
    return worker_memory;
}

static bool launch(void)
{
    char *memory = memory_of_worker();
    if (memory == NULL || otp_load_acquire(&worker_tid) != 0) {
        return false; /* the one before, told to pause, still uses the stack */
    }
    otp_store_relaxed(&is_settled, 0);
    struct control_block *tcb = (void *)(memory + STACK_BYTES + TLS_BELOW);
    tcb->self = tcb;
    tcb->thread = tcb;
    __asm__("mov %%fs:0x28, %0" : "=r"(tcb->stack_guard));
    /* Without CLONE_FS: root, current folder and umask are its own from the start. */
    unsigned long flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                          CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    /* No descriptor has that number: does the kernel know the call? */
    has_own_copy = OTP_SYS3(SYS_close_range, ~0U, ~0U, 0) != 0;
    flags |= has_own_copy ? 0 : CLONE_FILES;
    flags |= otp_is_on_valgrind() ? CLONE_FILES | CLONE_FS : 0;
    uint64_t before;
    if (!otp_sys_block_signals(&before)) {
        return false; /* the host's signals must not reach the thread */
    }
    long r = otp_arch_clone_thread(flags, memory + STACK_BYTES - 64, &worker_tid, tcb, work, NULL);
    otp_sys_restore_signals(before);
    return r > 0;
}

void otp_worker_ensure(void)
{
    uint32_t expected = WORKER_NONE;
    /* A child that fork's handlers do not know of is left alone: a thread of ours would outlive it.
     */
    if (otp_load_relaxed(&worker_state) != WORKER_NONE || otp_load_acquire(&is_held) != 0 ||
        otp_engine.pid != otp_sys_getpid() ||
        !otp_cas_acq_rel(&worker_state, &expected, WORKER_STARTING)) {
        return;
    }
    if (otp_load_acquire(&worker_tid) != 0) {
        otp_store_release(&worker_state,
                          WORKER_NONE); /* told to pause and not gone yet: next time */
        return;
    }
    expected = WORKER_STARTING; /* else it has said already that it failed */
    (void)otp_cas_acq_rel(&worker_state, &expected, launch() ? WORKER_RUNNING : WORKER_FAILED);
    otp_store_release(&otp_worker_alive, 1); /* also when it failed: nobody shall try again */
}

/* Waits in short pieces until *word is not value; at most WAIT_PIECES of them. */
static void wait_while(void *word, uint32_t value)
{
    struct timespec ts = {.tv_sec = 0, .tv_nsec = 5000000};
    for (int i = 0; i < WAIT_PIECES && otp_load_acquire((uint32_t *)word) == value; i++) {
        (void)OTP_SYS4(SYS_futex, word, FUTEX_WAIT, value, &ts);
    }
}

void otp_worker_join(void)
{
    uint32_t tid = (uint32_t)otp_load_acquire(&worker_tid);
    if (tid == 0) {
        return;
    }
    /*
     * The kernel clears the word when the thread lets go of the memory; until it has closed the
     * descriptors and is no member of the process any more, some moments pass.
     */
    wait_while(&worker_tid, tid);
    struct timespec ts = {.tv_sec = 0, .tv_nsec = 100000};
    for (int i = 0; i < GONE_PIECES && OTP_SYS3(SYS_tgkill, otp_sys_getpid(), tid, 0) == 0; i++) {
        (void)(i < 10 ? OTP_SYS0(SYS_sched_yield) : OTP_SYS2(SYS_nanosleep, &ts, 0));
    }
}

void otp_worker_hold(bool value)
{
    otp_store_release(&is_held, value);
}

void otp_worker_settle(void)
{
    otp_worker_ensure();
    if (otp_load_acquire(&worker_state) == WORKER_RUNNING) {
        wait_while(&is_settled, 0);
    }
}

static void flush_here(void *arg)
{
    (void)arg;
    if (open_once() && otp_power_has_news()) {
        otp_outputs_end();
        otp_pipeline_drain();
        otp_pipeline_flush(otp_sys_monotonic_ns() + otp_engine.conf.shutdown_timeout_ns, true);
    }
}

/* The host's handlers must not run on that stack, and what our writing raises is not the host's. */
void otp_worker_flush_here(void)
{
    char *memory = memory_of_worker();
    struct otp_sys_hush hush;
    if (memory == NULL) {
        static const char text[] = "no memory is left to write the profile with: it is lost";
        otp_engine_log(OTP_LOG_ERROR, text, sizeof(text) - 1);
    } else if (otp_load_acquire(&worker_tid) == 0 && otp_sys_hush(&hush)) {
        otp_arch_call_on(memory + STACK_BYTES - 64, flush_here, NULL);
        otp_sys_unhush(&hush);
    }
}

void otp_worker_forget(void)
{
    is_open = false;
    next_flush = 0;
    before_ns = 0;
    asked_ns = 0;
    worker_tid = 0;
    is_held = 0;
    otp_store_release(&worker_state, WORKER_NONE);
    otp_store_release(&otp_worker_alive, 0);
}
