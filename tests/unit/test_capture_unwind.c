/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk by rules against libunwind, instruction by instruction: a workload runs with the
 * processor's trap flag set, so that a signal comes after each instruction, in prologues,
 * epilogues, stubs and leaves; both ways must see the same frames there.
 */
#define _GNU_SOURCE /* register names of ucontext */
#include <check.h>
#include <pthread.h>
#include <regex.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The file itself: its inner steps are compared. */
#include "core/capture/unwind_hot.c"

#include "tests/unit/run.h"
#include "tests/unit/trap_help.h"

/* Instructions; with a sanitizer inside, each is a long way. */
#ifdef OTP_SANITIZER
#define MOST 6000U
#else
#define MOST 400000U
#endif

static struct {
    uint64_t seen;      /* instructions */
    uint64_t by_rules;  /* of which rules alone reached the end of the stack */
    uint64_t different; /* and of which libunwind saw other frames */
    uint64_t frames;
    uint64_t open;   /* libunwind did not reach main */
    char first[400]; /* difference */
} result;

static uint64_t other[OTP_DEPTH_MAX + 1];
static uint32_t other_depth;
static ucontext_t *the_context;

/* libunwind alone; what it says of a pc becomes a frame word as in the walk by rules. */
static void walk_pure(struct otp_unwind *u)
{
    bool is_exact = true;
    other_depth = 0;
    if (unw_init_local2(&u->cursor, &u->context, UNW_INIT_SIGNAL_FRAME) < 0) {
        return;
    }
    for (;;) {
        unw_word_t pc = 0;
        if (unw_get_reg(&u->cursor, UNW_REG_IP, &pc) < 0 || pc == 0 ||
            other_depth == OTP_DEPTH_MAX) {
            return;
        }
        bool is_signal = other_depth > 0 && is_signal_frame(u, pc);
        uintptr_t addr = code_addr(pc, is_exact || is_signal);
        other[other_depth++] = frame_word(object_number(u, addr), addr);
        is_exact = is_signal;
        u->pool_used = 0;
        if (unw_step(&u->cursor) <= 0) {
            return;
        }
    }
}

static void describe(const struct otp_unwind *u, uint32_t depth)
{
    uint32_t i = 0;
    while (i < depth && i < other_depth && u->frames[i] == other[i]) {
        i++;
    }
    snprintf(result.first, sizeof(result.first),
             "at %#lx, frame %u: rules %u frames, %#lx; libunwind %u frames, %#lx",
             (unsigned long)the_context->uc_mcontext.gregs[REG_RIP], i, depth,
             i < depth ? (unsigned long)u->frames[i] : 0, other_depth,
             i < other_depth ? (unsigned long)other[i] : 0);
}

static void compare(void *arg)
{
    struct otp_unwind *u = arg;
    const greg_t *g = u->context.uc_mcontext.gregs;
    struct walk w = {.pc = (uintptr_t)g[REG_RIP],
                     .sp = (uintptr_t)g[REG_RSP],
                     .bp = (uintptr_t)g[REG_RBP],
                     .is_exact = true};
    uint32_t depth = 0;
    bool is_done = walk_simple(u, w, &depth);
    result.seen++;
    if (!is_done) {
        return;
    }
    result.by_rules++;
    result.frames += depth;
    start(u, u->thread, w.sp);
    walk_pure(u);
    if (depth != other_depth || memcmp(u->frames, other, depth * sizeof(other[0])) != 0) {
        if (result.different++ == 0) {
            describe(u, depth);
        }
    }
}

static void on_trap(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
    the_context = context;
    trap_walk(context, compare);
    if (result.seen >= MOST) {
        trap_end(context);
    }
}

/* ---- what is walked ---- */

static volatile unsigned long sink;

static int by_value(const void *a, const void *b)
{
    const unsigned *x = a;
    const unsigned *y = b;
    return *x < *y ? -1 : *x > *y;
}

NOINLINE static unsigned long recurse(unsigned n, unsigned long seed)
{
    volatile char room[40];
    room[n % sizeof(room)] = (char)seed;
    return n == 0 ? seed : recurse(n - 1, seed * 31 + (unsigned long)room[n % sizeof(room)]) + n;
}

NOINLINE static unsigned long grows(size_t n)
{
    char *room = __builtin_alloca(n);
    memset(room, (int)n, n);
    return (unsigned long)room[n / 2] + strlen("a string") + recurse(2, n);
}

NOINLINE static unsigned long big_frame(unsigned n)
{
    volatile char room[3900];
    room[n % sizeof(room)] = 1;
    sink += (unsigned long)room[(n * 7) % sizeof(room)];
    return grows(100 + n);
}

NOINLINE static unsigned long many_arguments(int a, int b, int c, int d, int e, int f, int g, int h,
                                             double x)
{
    return (unsigned long)(a + b + c + d + e + f + g + h) + (unsigned long)x + recurse(1, 5);
}

NOINLINE static void walks_tree(const void *node, VISIT which, int depth)
{
    (void)which;
    sink += (unsigned long)depth + **(const unsigned *const *)node;
}

/* Assembly that keeps the old stack pointer in an aligned frame, as cryptographic code does. */
void keeps_stack_pointer(void);
void called_from_assembly(void);
extern const char kept_call[];
__asm__(".text\n"
        ".globl keeps_stack_pointer, kept_call\n"
        ".type keeps_stack_pointer, @function\n"
        "keeps_stack_pointer:\n"
        ".cfi_startproc\n"
        "mov %rsp, %rax\n"
        ".cfi_def_cfa_register %rax\n"
        "push %rbx\n"
        ".cfi_offset %rbx, -16\n"
        "push %rbp\n"
        ".cfi_offset %rbp, -24\n"
        "sub $0x150, %rsp\n"
        "and $-64, %rsp\n"
        "mov %rax, 152(%rsp)\n"
        ".cfi_escape 0x0f, 6, 0x77, 0x98, 1, 6, 0x23, 8\n" /* breg7 152, deref, plus_uconst 8 */
        "mov $7, %rbp\n"
        "call called_from_assembly\n"
        "kept_call:\n"
        "mov 152(%rsp), %rsi\n"
        ".cfi_def_cfa %rsi, 8\n"
        "mov -16(%rsi), %rbp\n"
        ".cfi_restore %rbp\n"
        "mov -8(%rsi), %rbx\n"
        ".cfi_restore %rbx\n"
        "lea (%rsi), %rsp\n"
        ".cfi_def_cfa_register %rsp\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size keeps_stack_pointer, . - keeps_stack_pointer\n");

void called_from_assembly(void)
{
    sink += recurse(3, 11);
}

NOINLINE static void workload(void)
{
    unsigned numbers[24];
    char text[200];
    keeps_stack_pointer();
    for (unsigned i = 0; i < 24; i++) {
        numbers[i] = i * 2654435761U % 1000;
    }
    qsort(numbers, 24, sizeof(numbers[0]), by_value);
    sink += recurse(20, 7) + big_frame(3) + many_arguments(1, 2, 3, 4, 5, 6, 7, 8, 9.5);
    snprintf(text, sizeof(text), "%d %s %.6g %lx", 42, "text", 3.14159, sink);
    char *copy = strdup(text);
    sink += strtoul(text, NULL, 10) + (unsigned long)(strstr(copy, "text") - copy) +
            (unsigned long)strcmp(copy, text);
    free(copy);
    regex_t r;
    if (regcomp(&r, "(te[x-z]t|[0-9]+) 3\\.1", REG_EXTENDED) == 0) {
        sink += (unsigned long)regexec(&r, text, 0, NULL, 0);
        regfree(&r);
    }
    void *root = NULL;
    for (unsigned i = 0; i < 24; i++) {
        tsearch(&numbers[i], &root, by_value);
    }
    twalk(root, walks_tree);
    for (unsigned i = 0; i < 24; i++) {
        tdelete(&numbers[i], &root, by_value);
    }
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    time_t now = ts.tv_sec;
    struct tm tm;
    sink += strftime(text, sizeof(text), "%A %B %Y", gmtime_r(&now, &tm));
}

static void is_the_kept_rule(const struct otp_rule *rule)
{
    ck_assert_int_eq(rule->kind, OTP_RULE_KEPT);
    ck_assert(!rule->is_cfa_from_rbp);
    ck_assert(rule->is_rbp_saved);
    ck_assert_int_eq(rule->cfa_offset, 152);
    ck_assert_int_eq(rule->cfa_add, 8);
    ck_assert_int_eq(rule->rbp_offset, -24);
}

START_TEST(test_a_kept_stack_pointer_is_a_rule)
{
    uintptr_t addr = (uintptr_t)kept_call - 1;
    struct otp_object_range range;
    struct otp_known_rule known = {.object = 1};
    otp_real_init();
    ck_assert(otp_object_find(addr, &range));
    known.rule = otp_cfi_rule(&range, addr);
    is_the_kept_rule(&known.rule);
    otp_rules_add(addr, &known);
    memset(&known, 0, sizeof(known));
    ck_assert(otp_rules_find(addr, &known));
    is_the_kept_rule(&known.rule);
}
END_TEST

START_TEST(test_rules_see_what_libunwind_sees)
{
    trap_begin(on_trap);
    memset(&result, 0, sizeof(result));
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
    workload();
    __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
    printf("unwind: %lu instructions, %lu by rules, %lu frames, %lu different\n", result.seen,
           result.by_rules, result.frames, result.different);
    ck_assert_uint_ge(result.seen, 5000);
    ck_assert_uint_ge(result.by_rules * 100, result.seen * 95);
    ck_assert_uint_ge(result.frames, result.by_rules * 8);
    ck_assert_msg(result.different == 0, "%lu different, the first %s", result.different,
                  result.first);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("capture_unwind");
    TCase *t = tcase_create("all");
    tcase_add_test(t, test_a_kept_stack_pointer_is_a_rule);
    tcase_add_test(t, test_rules_see_what_libunwind_sees);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    return unit_run(s);
}
