/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of a thread that throws, instruction by instruction: the processor's trap flag gives a
 * signal after each instruction of libgcc's unwinder, while it goes from one landing pad to the
 * next. Each stack must be whole, and below its top be that of before the throw.
 */
#define _GNU_SOURCE /* register names of ucontext */
#include <check.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

/* The file itself: its inner steps are called. */
#include "core/capture/unwind_hot.c"

#include "tests/unit/run.h"
#include "tests/unit/trap_help.h"

#ifdef OTP_SANITIZER
#define MOST 6000U
#else
#define MOST 4000000U
#endif
#define OWN_MOST 3U /* frames of the program above what is as before: clean-up, landing pad */

extern const char __executable_start[]; /* by the linker, as the next */
extern const char etext[];

struct walked {
    uint64_t seen;   /* instructions */
    uint64_t landed; /* of which the frame on top of the rest was about to be left */
    uint64_t wrong;  /* not whole, or not as before */
    uint32_t common; /* frames from the outermost on that were as before, last time */
    uint32_t levels; /* how often there were fewer of them */
    char first[300]; /* that was wrong */
};

static struct walked by_rules;
static struct walked by_libunwind;
static uint64_t before[OTP_DEPTH_MAX + 1];
static uint32_t before_depth; /* 0: not yet known */
static jmp_buf over;
static volatile bool is_over; /* no more to be looked at */
static volatile unsigned long sink;

static bool is_of_program(uint64_t word)
{
    uintptr_t addr = otp_frame_addr(word);
    return addr >= (uintptr_t)__executable_start && addr < (uintptr_t)etext;
}

static uint32_t common_with_before(const uint64_t *frames, uint32_t depth)
{
    uint32_t n = 0;
    while (n < depth && n < before_depth && frames[depth - 1 - n] == before[before_depth - 1 - n]) {
        n++;
    }
    return n;
}

static void judge(struct walked *w, const struct otp_unwind *u, uint32_t depth)
{
    uint32_t common = common_with_before(u->frames, depth);
    uint32_t own = 0;
    for (uint32_t i = 0; i + common < depth; i++) {
        own += is_of_program(u->frames[i]) ? 1 : 0;
    }
    bool is_good = !u->is_cut && common > 0 && common <= w->common && own <= OWN_MOST;
    w->seen++;
    if (is_good && common < w->common) {
        w->levels++;
        w->common = common;
    }
    if (!is_good && w->wrong++ == 0) {
        snprintf(w->first, sizeof(w->first),
                 "at %#lx, called by %#lx, %#lx: %u frames, cut %d, %u as before (%u), %u more",
                 (unsigned long)u->frames[0], (unsigned long)u->frames[1],
                 (unsigned long)u->frames[2], depth, u->is_cut, common, w->common, own);
    }
}

static void walk(void *arg)
{
    struct otp_unwind *u = arg;
    uint32_t depth = otp_unwind_run(u);
    if (before_depth == 0) {
        memcpy(before, u->frames, depth * sizeof(before[0]));
        before_depth = depth;
        by_rules.common = depth;
        by_libunwind.common = depth;
        return;
    }
    by_rules.landed += u->passed;
    judge(&by_rules, u, depth);
    start(u, u->thread, (uintptr_t)u->context.uc_mcontext.gregs[REG_RSP]);
    u->is_cut = false;
    u->depth = u->passed;
    if (__builtin_setjmp(u->escape) == 0) {
        walk_libunwind(u);
    } else {
        u->is_cut = true;
    }
    by_libunwind.landed += u->passed;
    judge(&by_libunwind, u, u->depth);
}

static void on_trap(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
    if (is_over || by_rules.seen >= MOST) {
        trap_end(context);
        return;
    }
    trap_walk(context, walk);
}

/* ---- what is thrown through ---- */

static struct _Unwind_Exception the_exception;

/* Ends the search at the outermost frame, where there is nothing more to clean up. */
static _Unwind_Reason_Code stops(int version, _Unwind_Action actions, uint64_t kind,
                                 struct _Unwind_Exception *e, struct _Unwind_Context *c, void *arg)
{
    (void)version;
    (void)kind;
    (void)e;
    if ((actions & _UA_END_OF_STACK) != 0 || _Unwind_GetCFA(c) > (uintptr_t)arg) {
        longjmp(over, 1);
    }
    return _URC_NO_REASON;
}

static void cleans(const unsigned long *n)
{
    sink += *n;
}
#define CLEANED __attribute__((cleanup(cleans))) unsigned long

/* One kind of frame each: small, with rbp as its base, realigned, large. */
NOINLINE static unsigned long throws(void *stop_at, bool is_traced)
{
    CLEANED n = sink;
    if (is_traced) {
        __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
    }
    _Unwind_ForcedUnwind(&the_exception, stops, stop_at);
    return n;
}

NOINLINE static unsigned long has_base(void *stop_at, bool is_traced, size_t room_bytes)
{
    char *room = __builtin_alloca(room_bytes);
    memset(room, 1, room_bytes);
    CLEANED n = (unsigned long)room[room_bytes / 2];
    n += throws(stop_at, is_traced);
    return n + (unsigned long)room[1];
}

NOINLINE static unsigned long is_small(void *stop_at, bool is_traced)
{
    CLEANED n = 3;
    return has_base(stop_at, is_traced, 100 + sink % 2) + n;
}

NOINLINE static unsigned long is_realigned(void *stop_at, bool is_traced)
{
    volatile char room[64] __attribute__((aligned(64)));
    room[sink % 64] = 1;
    CLEANED n = (unsigned long)room[5];
    return is_small(stop_at, is_traced) + n + (unsigned long)room[6];
}

NOINLINE static unsigned long is_large(void *stop_at, bool is_traced)
{
    volatile char room[3900];
    room[sink % 3900] = 1;
    CLEANED n = (unsigned long)room[7];
    return is_realigned(stop_at, is_traced) + n + (unsigned long)room[8];
}

NOINLINE static void throws_through_all(bool is_traced)
{
    memset(&the_exception, 0, sizeof(the_exception));
    if (setjmp(over) == 0) {
        sink += is_large(__builtin_frame_address(0), is_traced);
    }
    is_over = true;
}

static void is_whole(const char *how, const struct walked *w)
{
    printf("landing, %s: %lu instructions, %lu in the end of a function that leaves, %u levels, "
           "%lu wrong\n",
           how, w->seen, w->landed, w->levels, w->wrong);
    ck_assert_msg(w->wrong == 0, "%s: %lu of %lu wrong, the first %s", how, w->wrong, w->seen,
                  w->first);
#ifndef OTP_SANITIZER
    ck_assert_uint_ge(w->seen, 5000);
    ck_assert_uint_ge(w->landed, 5 * 3); /* five landing pads, three instructions each */
    ck_assert_uint_ge(w->levels, 5);
#endif
}

START_TEST(test_stacks_are_whole_while_a_frame_is_left_for_another)
{
    trap_begin(on_trap);
    throws_through_all(false); /* binds what is bound at its first call */
    is_over = false;
    throws_through_all(true);
    is_whole("by rules", &by_rules);
    is_whole("by libunwind", &by_libunwind);
}
END_TEST

/* ---- contexts that take turns ---- */

#define TURNS 6U
#define OTHER_BYTES 65536U
#define IN_SECTION(name) __attribute__((noinline, section(name)))

extern const char __start_code_main[], __stop_code_main[]; /* by the linker, as the next */
extern const char __start_code_other[], __stop_code_other[];

static ucontext_t main_context;
static ucontext_t other_context;
static struct walked by_turns;

static bool has_frame_in(const struct otp_unwind *u, uint32_t depth, const char *low,
                         const char *high)
{
    for (uint32_t i = 0; i < depth; i++) {
        uintptr_t addr = otp_frame_addr(u->frames[i]);
        if (addr >= (uintptr_t)low && addr < (uintptr_t)high) {
            return true;
        }
    }
    return false;
}

/* The thread is in one of the two contexts, never in none or in both. */
static void walk_turn(void *arg)
{
    struct otp_unwind *u = arg;
    uint32_t depth = otp_unwind_run(u);
    bool is_main = has_frame_in(u, depth, __start_code_main, __stop_code_main);
    bool is_other = has_frame_in(u, depth, __start_code_other, __stop_code_other);
    by_turns.seen++;
    by_turns.landed += u->passed;
    by_turns.levels += is_other ? 1 : 0;
    if ((u->is_cut || is_main == is_other) && by_turns.wrong++ == 0) {
        snprintf(by_turns.first, sizeof(by_turns.first),
                 "at %#lx, called by %#lx: %u frames, cut %d, main %d, other %d",
                 (unsigned long)u->frames[0], (unsigned long)u->frames[1], depth, u->is_cut,
                 is_main, is_other);
    }
}

static void on_turn(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
    if (is_over) {
        trap_end(context);
        return;
    }
    trap_walk(context, walk_turn);
}

IN_SECTION("code_other") static void turns_other(void)
{
    for (;;) {
        swapcontext(&other_context, &main_context);
        sink++;
        setcontext(&main_context); /* leaves the other where it was */
    }
}

IN_SECTION("code_main") static void turns_main(void)
{
    static char stack[OTHER_BYTES];
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = sizeof(stack);
    makecontext(&other_context, turns_other, 0);
    for (volatile unsigned i = 0; i < TURNS; i++) {
        if (i == 2) { /* all is bound, and the other has begun */
            __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
        }
        swapcontext(&main_context, &other_context);
        sink++;
    }
    is_over = true;
}

START_TEST(test_stacks_are_whole_while_contexts_take_turns)
{
    trap_begin(on_turn);
    is_over = false;
    turns_main();
    ck_assert_msg(by_turns.wrong == 0, "%lu of %lu wrong, the first %s", by_turns.wrong,
                  by_turns.seen, by_turns.first);
    ck_assert_uint_ge(by_turns.seen, 200);
    ck_assert_uint_ge(by_turns.landed, 8 * 7); /* eight switches, some instructions each */
    ck_assert_uint_ge(by_turns.levels, 50);
}
END_TEST

/* ---- ends of functions, one by one ---- */

static bool read_any(void *arg, uintptr_t addr, uintptr_t *out)
{
    (void)arg;
    memcpy(out, (const void *)addr, sizeof(*out));
    return true;
}

struct tail {
    const char *what;
    uint8_t code[8];
    uint8_t at;  /* pc, in code */
    uint8_t rsp; /* words into the stack */
    uint8_t rcx;
    bool is_offset; /* rcx is added to rsp, else it is an address */
    bool is_tail;
    uint8_t sp; /* where it goes on */
};

static const struct tail tails[] = {
    {"mov, before pop and jmp", {0x48, 0x89, 0xcc, 0x59, 0xff, 0xe1}, 0, 1, 4, false, true, 5},
    {"pop", {0x48, 0x89, 0xcc, 0x59, 0xff, 0xe1}, 3, 4, 4, false, true, 5},
    {"jmp", {0x48, 0x89, 0xcc, 0x59, 0xff, 0xe1}, 4, 5, 0xff, false, true, 5},
    {"mov, before ret", {0x48, 0x89, 0xcc, 0xc3}, 0, 1, 4, false, true, 5},
    {"ret, after mov", {0x48, 0x89, 0xcc, 0xc3}, 3, 4, 4, false, true, 5},
    {"add, before ret", {0x48, 0x01, 0xcc, 0xc3}, 0, 1, 3, true, true, 5},
    {"ret, after add", {0x48, 0x01, 0xcc, 0xc3}, 3, 4, 4, false, true, 5},
    {"add, before pop and jmp", {0x48, 0x01, 0xcc, 0x59, 0xff, 0xe1}, 0, 1, 3, true, true, 5},
    {"a stack pointer that goes down", {0x48, 0x89, 0xcc, 0xc3}, 0, 4, 1, false, false, 0},
    {"mov alone", {0x48, 0x89, 0xcc, 0x90}, 0, 1, 4, false, false, 0},
    {"an ordinary ret", {0x90, 0x5d, 0x5b, 0xc3}, 3, 1, 4, false, false, 0},
    {"an ordinary jmp", {0x90, 0x90, 0x90, 0x90, 0xff, 0xe1}, 4, 1, 4, false, false, 0},
    {"mov to another register", {0x48, 0x89, 0xc8, 0xc3}, 0, 1, 4, false, false, 0},
};

START_TEST(test_ends_of_functions_that_leave)
{
    const struct tail *t = &tails[_i];
    static uint8_t code[32] __attribute__((aligned(32)));
    static uintptr_t stack[8];
    memset(code, 0x90, sizeof(code));
    memcpy(code + 8, t->code, sizeof(t->code));
    for (size_t i = 0; i < 8; i++) {
        stack[i] = 0x1000 * (i + 1);
    }
    greg_t regs[NGREG] = {0};
    bool is_in_rcx = t->rcx == 0xff;
    regs[REG_RIP] = (greg_t)(uintptr_t)(code + 8 + t->at);
    regs[REG_RSP] = (greg_t)(uintptr_t)&stack[t->rsp];
    regs[REG_RCX] = is_in_rcx      ? (greg_t)stack[4]
                    : t->is_offset ? (greg_t)(t->rcx * 8)
                                   : (greg_t)(uintptr_t)&stack[t->rcx];
    regs[REG_RBP] = 77;
    struct otp_landing landing;
    ck_assert_msg(otp_landing_of_tail(regs, read_any, NULL, &landing) == t->is_tail, "%s", t->what);
    if (t->is_tail) {
        ck_assert_msg(landing.pc == stack[4], "%s: %#lx", t->what, (unsigned long)landing.pc);
        ck_assert_msg(landing.sp == (uintptr_t)&stack[t->sp], "%s", t->what);
        ck_assert_uint_eq(landing.bp, 77);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("capture_landing");
    TCase *t = tcase_create("all");
    tcase_add_test(t, test_stacks_are_whole_while_a_frame_is_left_for_another);
    tcase_add_test(t, test_stacks_are_whole_while_contexts_take_turns);
    tcase_add_loop_test(t, test_ends_of_functions_that_leave, 0, (int)OTP_ARRAY_LEN(tails));
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    return unit_run(s);
}
