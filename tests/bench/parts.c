/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Costs of single parts of capture, measured in this process with the core linked in: the live
 * table with many objects in it, unwinding, the ledger. Prints `name value` lines, values in
 * nanoseconds of thread CPU time per operation, the best of several rounds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/hotmem.h"
#include "core/base/real.h"
#include "core/capture/alloc.h"
#include "core/capture/capture.h"
#include "core/capture/scratch.h"
#include "core/capture/unwind.h"
#include "core/ledger/ledger.h"
#include "core/ledger/live.h"

#define ROUNDS 7
#define PAGE 4096U

static double now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void require(bool is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "parts: %s\n", what);
        exit(1);
    }
}

static uintptr_t nth_addr(uint64_t n)
{
    return (uintptr_t)(UINT64_C(0x7f0000000000) + n * PAGE);
}

static struct otp_account *some_account(void)
{
    static const uint64_t frames[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    return otp_ledger_account(frames, 20, 0, 0);
}

/* Fills the table up to count objects, then times look-ups of absent and of present addresses. */
static uint64_t measure_live(uint64_t filled, uint64_t count)
{
    struct otp_live item = {.account = some_account(), .bytes = 1, .objects = 1};
    for (; filled < count; filled++) {
        if (!otp_live_insert(nth_addr(filled), &item)) {
            fprintf(stderr, "parts: the live table takes no more than %llu\n",
                    (unsigned long long)filled);
            exit(1);
        }
    }
    double miss = 1e18;
    double cycle = 1e18;
    for (int r = 0; r < ROUNDS; r++) {
        const uint64_t n = 200000;
        struct otp_live out;
        uint64_t found = 0;
        double begin = now_ns();
        for (uint64_t i = 0; i < n; i++) {
            found += otp_live_remove(nth_addr((UINT64_C(1) << 32) + i * 7919), &out);
        }
        double took = (now_ns() - begin) / (double)n;
        miss = took < miss ? took : miss;
        if (found != 0) {
            fprintf(stderr, "parts: an absent address was found\n");
            exit(1);
        }
        uint64_t span = count == 0 ? 1 : count;
        begin = now_ns();
        for (uint64_t i = 0; i < n; i++) {
            uintptr_t addr = count == 0 ? nth_addr(7) : nth_addr(i * 7919 % span);
            if (otp_live_remove(addr, &out)) {
                otp_ledger_sub(out.account, out.objects, out.bytes);
            }
            (void)otp_live_insert(addr, &item);
        }
        took = (now_ns() - begin) / (double)n;
        cycle = took < cycle ? took : cycle;
        if (count == 0) {
            (void)otp_live_remove(nth_addr(7), &out);
        }
    }
    printf("live_miss_%llu %.1f\n", (unsigned long long)count, miss);
    printf("live_remove_insert_%llu %.1f\n", (unsigned long long)count, cycle);
    return filled;
}

struct walk {
    struct otp_unwind *unwind;
    uint32_t depth;
};

static void run_walk(void *arg)
{
    struct walk *w = arg;
    w->depth = otp_unwind_run(w->unwind);
}

/* The registers of the caller of this function, as an interposed function would get them. */
__attribute__((noinline)) static void time_walk(int depth)
{
    struct otp_regs regs[2];
    uint32_t slot = otp_scratch_claim();
    void *base = otp_scratch_base(slot);
    struct walk w = {.unwind = otp_unwind_at(base)};
    double best = 1e18;
    struct otp_thread *t = otp_thread_current();
    ucontext_t uc;
    memset(regs, 0, sizeof(regs));
    getcontext(&uc);
    for (int r = 0; r < ROUNDS; r++) {
        const int n = 20000;
        double begin = now_ns();
        for (int i = 0; i < n; i++) {
            otp_unwind_from_signal(w.unwind, t, &uc);
            otp_arch_call_on(otp_unwind_stack_top(base), run_walk, &w);
        }
        double took = (now_ns() - begin) / n;
        best = took < best ? took : best;
    }
    otp_scratch_release(slot);
    if (w.depth < (uint32_t)depth) {
        fprintf(stderr, "parts: %u frames of %d\n", w.depth, depth);
        exit(1);
    }
    printf("unwind_%d %.1f\n", depth, best);
    printf("unwind_frame_%d %.2f\n", depth, best / w.depth);
}

__attribute__((noinline)) static int descend(int left, int depth)
{
    volatile int pad[4] = {left};
    if (left == 0) {
        time_walk(depth);
        return 0;
    }
    return descend(left - 1, depth) + pad[0];
}

static void fill_stack(uint64_t *frames, uint64_t stacks, uint64_t n)
{
    for (size_t f = 0; f < 30; f++) {
        frames[f] = f == 0 ? stacks * 1000000 + n % stacks : f * 7;
    }
}

static void measure_ledger(void)
{
    uint64_t frames[30];
    for (uint64_t stacks = 10; stacks <= 1000000; stacks *= 10) {
        double best = 1e18;
        for (int r = 0; r < ROUNDS; r++) {
            const uint64_t n = stacks < 20000 ? 20000 : stacks;
            double begin = now_ns();
            for (uint64_t i = 0; i < n; i++) {
                fill_stack(frames, stacks, i);
                struct otp_account *a = otp_ledger_account(frames, 30, 0, 0);
                require(a != NULL, "the ledger is full");
                otp_ledger_add(a, 1, 1);
            }
            double took = (now_ns() - begin) / (double)n;
            best = took < best ? took : best;
        }
        printf("ledger_%llu %.1f\n", (unsigned long long)stacks, best);
    }
}

int main(void)
{
    static const int depths[] = {5, 10, 20, 30, 40, 80};
    static const uint64_t counts[] = {0, 1000, 10000, 100000, 1000000};
    otp_real_init();
    otp_hotmem_set_limit((size_t)2 << 30);
    otp_settings.max_depth = 128;
    otp_settings.heap_interval = 524288;
    if (!otp_scratch_init()) {
        return 1;
    }
    otp_unwind_init();
    uint64_t filled = 0;
    for (size_t i = 0; i < OTP_ARRAY_LEN(counts); i++) {
        filled = measure_live(filled, counts[i]);
    }
    for (size_t i = 0; i < OTP_ARRAY_LEN(depths); i++) {
        (void)descend(depths[i], depths[i]);
    }
    measure_ledger();
    return 0;
}
