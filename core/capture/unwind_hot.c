/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* register names of ucontext */
#include "core/capture/unwind.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <link.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/counters.h"
#include "core/base/sys.h"
#include "core/capture/capture.h"
#include "core/capture/landing.h"
#include "core/capture/libunwind_glue.h"
#include "core/capture/object.h"
#include "core/base/probe.h"
#include "core/capture/rules.h"
#include "core/capture/scratch.h"

#define PAGE OTP_PAGE
#define CACHED_RANGES 8U
#define POOL_BYTES 8192U
#define MAX_PROBES 64U
#define SIGNAL_FRAME_BYTES 320U /* kernel frame up to the last register */
#define MAX_GUESSED_FRAME ((uintptr_t)1 << 20)
#define MAX_RETRIES 16U /* complex frames after which the rest is tried by rules */

struct otp_unwind {
    ucontext_t context; /* registers at the start; libunwind keeps pointers into it */
    unw_cursor_t cursor;
    const struct otp_thread *thread;
    uintptr_t low; /* readable: [low, high) */
    uintptr_t high;
    uint32_t probes;       /* pages of stack asked for so far */
    struct otp_probe code; /* pages of code asked for */
    bool is_signal_start;
    bool is_cut;         /* the stack ended where it could not go on */
    bool is_stack_known; /* low and high are the bounds of the thread's stack, not of what was asked
                          */
    uint32_t range_count;
    struct otp_object_range ranges[CACHED_RANGES]; /* objects of this stack */
    uint32_t passed; /* frames told before the walk: 1 for a function that is about to leave */
    uint32_t depth;  /* frames so far, while libunwind is at work */
    void *escape[5]; /* where libunwind is left for when it gives up */
    uint32_t pool_used;
    unsigned char pool[POOL_BYTES] OTP_ALIGNED(16);
    uint64_t frames[OTP_DEPTH_MAX + 1];
};

_Static_assert(sizeof(struct otp_unwind) < 24 * 1024, "leaves 40 KiB of stack");

/* rt_sigreturn as every libc's signal restorer calls it: mov $15, %rax; syscall. */
static const unsigned char signal_return[9] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

struct otp_unwind *otp_unwind_at(void *scratch_base)
{
    return scratch_base;
}

void *otp_unwind_stack_top(void *scratch_base)
{
    return (char *)scratch_base + OTP_SCRATCH_BYTES - 64;
}

const uint64_t *otp_unwind_frames(const struct otp_unwind *u)
{
    return u->frames;
}

static bool is_readable(struct otp_unwind *u, uintptr_t addr, size_t len)
{
    if (OTP_LIKELY(addr >= u->low && addr < u->high && len <= u->high - addr)) {
        return true;
    }
    if (addr >= (uintptr_t)u && len <= OTP_SCRATCH_BYTES &&
        addr - (uintptr_t)u <= OTP_SCRATCH_BYTES - len) {
        return true;
    }
    uintptr_t first = addr & ~(PAGE - 1);
    uintptr_t last = (addr + len - 1) & ~(PAGE - 1);
    if (addr < PAGE || last < first || ++u->probes > MAX_PROBES) {
        return false;
    }
    for (uintptr_t page = first; page <= last; page += PAGE) {
        if (!otp_probe_page(page)) {
            return false;
        }
    }
    /* Grow the known range when the page continues it, else let it start anew here. */
    if (u->high == first && !u->is_stack_known) {
        u->high = last + PAGE;
    } else if (!u->is_stack_known) {
        u->low = first;
        u->high = last + PAGE;
    }
    return true;
}

int otp_unw_access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val, int write, void *arg)
{
    struct otp_unwind *u = otp_scratch_own_base();
    (void)as;
    (void)arg;
    if (write != 0 || !is_readable(u, addr, sizeof(*val))) {
        return -UNW_EINVAL;
    }
    memcpy(val, (const void *)addr, sizeof(*val));
    return 0;
}

/* Looks pc up among the objects of this stack first, then asks. */
static bool find_range(struct otp_unwind *u, uintptr_t pc, struct otp_object_range *out)
{
    for (uint32_t i = 0; i < u->range_count; i++) {
        if (pc >= u->ranges[i].start && pc < u->ranges[i].end) {
            *out = u->ranges[i];
            return true;
        }
    }
    if (!otp_object_find(pc, out)) {
        return false;
    }
    if (u->range_count < CACHED_RANGES) {
        u->ranges[u->range_count++] = *out;
    }
    return true;
}

/* What libunwind gets where it would walk the loaded objects: the one that holds its address, if
 * any. */
int otp_unw_iterate_phdr(int (*callback)(struct dl_phdr_info *info, size_t size, void *data),
                         void *data)
{
    struct otp_unwind *u = otp_scratch_own_base();
    uintptr_t pc;
    struct otp_object_range range;
    memcpy(&pc, data, sizeof(pc)); /* the callback's data begins with the address asked for */
    if (!find_range(u, pc, &range) || range.eh_frame_hdr == 0) {
        return 0;
    }
    ElfW(Phdr) headers[2];
    memset(headers, 0, sizeof(headers));
    headers[0].p_type = PT_LOAD;
    headers[0].p_vaddr = range.start;
    headers[0].p_memsz = range.end - range.start;
    headers[1].p_type = PT_GNU_EH_FRAME;
    headers[1].p_vaddr = range.eh_frame_hdr;
    struct dl_phdr_info info;
    memset(&info, 0, sizeof(info));
    info.dlpi_name = "";
    info.dlpi_phdr = headers;
    info.dlpi_phnum = 2;
    return callback(&info, sizeof(info), data);
}

/* Objects of libunwind's pools live for one step at most: cut from a small piece that is then
 * reused. */
void *otp_unw_pool_alloc(size_t bytes)
{
    struct otp_unwind *u = otp_scratch_own_base();
    size_t rounded = (bytes + 15) & ~(size_t)15;
    if (rounded > POOL_BYTES - u->pool_used) {
        return NULL;
    }
    void *p = u->pool + u->pool_used;
    u->pool_used += (uint32_t)rounded;
    return p;
}

static void start(struct otp_unwind *u, const struct otp_thread *t, uintptr_t sp)
{
    u->thread = t;
    u->probes = 0;
    memset(&u->code, 0, sizeof(u->code));
    u->range_count = 0;
    u->low = 0;
    u->high = 0;
    u->is_stack_known = t != NULL && sp >= t->stack_low && sp < t->stack_high;
    if (u->is_stack_known) {
        u->low = sp;
        u->high = t->stack_high;
    }
}

void otp_unwind_from_signal(struct otp_unwind *u, const struct otp_thread *t, const ucontext_t *uc)
{
    memcpy(u->context.uc_mcontext.gregs, uc->uc_mcontext.gregs,
           sizeof(u->context.uc_mcontext.gregs));
    u->is_signal_start = true;
    start(u, t, (uintptr_t)uc->uc_mcontext.gregs[REG_RSP]);
}

void otp_unwind_from_call(struct otp_unwind *u, const struct otp_thread *t,
                          const struct otp_regs *regs)
{
    greg_t *g = u->context.uc_mcontext.gregs;
    memset(g, 0, sizeof(u->context.uc_mcontext.gregs));
    g[REG_R15] = (greg_t)regs->r15;
    g[REG_R14] = (greg_t)regs->r14;
    g[REG_R13] = (greg_t)regs->r13;
    g[REG_R12] = (greg_t)regs->r12;
    g[REG_RBX] = (greg_t)regs->rbx;
    g[REG_RBP] = (greg_t)regs->rbp;
    g[REG_RIP] = (greg_t)regs->return_address;
    g[REG_RSP] = (greg_t)otp_regs_sp(regs);
    u->is_signal_start = false;
    start(u, t, otp_regs_sp(regs));
}

/* Whether pc is at the code by which signal handlers return. */
static bool is_signal_frame(struct otp_unwind *u, uintptr_t pc)
{
    return otp_probe_is_readable(&u->code, pc, sizeof(signal_return)) &&
           memcmp((const void *)pc, signal_return, sizeof(signal_return)) == 0;
}

/* The word for the code at addr. Small numbers without an object are markers: no code is in the
 * first page. */
static uint64_t frame_word(uint32_t object, uintptr_t addr)
{
    return object == OTP_OBJECT_NONE && addr < PAGE ? 0 : otp_frame_make(object, addr);
}

/* Where a frame's code is looked up: a return address stands for the call before it. */
static uintptr_t code_addr(uintptr_t pc, bool is_exact)
{
    return is_exact || pc == 0 ? pc : pc - 1;
}

static uint32_t object_number(struct otp_unwind *u, uintptr_t addr)
{
    struct otp_object_range range;
    return find_range(u, addr, &range) ? range.number : OTP_OBJECT_NONE;
}

static bool is_own(uintptr_t pc)
{
    return pc >= otp_settings.own_start && pc < otp_settings.own_end;
}

/* One step up; false at the end of the stack or when it cannot go on. */
static bool step(struct otp_unwind *u, bool is_signal, bool is_unsafe)
{
    unw_word_t before = 0;
    unw_word_t after = 0;
    (void)unw_get_reg(&u->cursor, UNW_REG_SP, &before);
    u->pool_used = 0;
    /* Expressions read memory without asking: that of a signal frame reads from the frame itself.
     */
    bool is_safe = is_signal ? is_readable(u, before, SIGNAL_FRAME_BYTES) : !is_unsafe;
    int r = is_safe ? unw_step(&u->cursor) : -UNW_EINVAL;
    if (r == 0) {
        return false;
    }
    if (r < 0 || unw_get_reg(&u->cursor, UNW_REG_SP, &after) < 0 ||
        (after <= before && !is_signal)) {
        u->is_cut = true;
        return false;
    }
    if (is_signal) {
        uint32_t probes = u->probes;
        uint32_t ranges = u->range_count;
        start(u, u->thread, after); /* the interrupted code may have been on another stack */
        u->probes = probes;
        u->range_count = ranges;
    }
    return true;
}

static void find_rule(struct otp_unwind *u, uintptr_t addr, struct otp_known_rule *out)
{
    if (OTP_LIKELY(otp_rules_find(addr, out))) {
        return;
    }
    struct otp_object_range range;
    memset(out, 0, sizeof(*out));
    if (find_range(u, addr, &range)) {
        out->object = range.number;
        out->rule = otp_cfi_rule(&range, addr);
        otp_rules_add(addr, out);
    }
}

/* The registers that simple rules need. */
struct walk {
    uintptr_t pc;
    uintptr_t sp;
    uintptr_t bp;
    bool is_exact;
    uint32_t depth;
};

static bool read_word(struct otp_unwind *u, uintptr_t addr, uintptr_t *out)
{
    if (!is_readable(u, addr, sizeof(*out))) {
        return false;
    }
    memcpy(out, (const void *)addr, sizeof(*out));
    return true;
}

static bool read_landing_word(void *u, uintptr_t addr, uintptr_t *out)
{
    return read_word(u, addr, out);
}

/* Whether a function goes on in another frame; w is then there. cfa: of its own frame, w->pc: its
 * saved return address, saved: where its caller's rbp is. */
static bool land(struct otp_unwind *u, struct walk *w, uintptr_t cfa, uintptr_t saved)
{
    struct otp_known_rule caller;
    find_rule(u, code_addr(w->pc, false), &caller);
    struct otp_landing_frame frame = {.low = w->sp,
                                      .cfa = cfa,
                                      .saved_bp = saved,
                                      .is_caller_by_bp = caller.rule.kind != OTP_RULE_SIMPLE ||
                                                         caller.rule.is_cfa_from_rbp};
    struct otp_landing landing;
    if (cfa - w->sp > OTP_LANDING_FRAME_MAX || !is_readable(u, w->sp, cfa - w->sp) ||
        !otp_landing_of_frame(&frame, read_landing_word, u, &landing)) {
        return false;
    }
    w->pc = landing.pc;
    w->sp = landing.sp;
    w->bp = landing.bp;
    w->is_exact = true;
    return true;
}

/* Whether other registers than rsp and rbp are asked for. */
static bool needs_registers(const struct otp_rule *rule)
{
    return rule->kind == OTP_RULE_IN_REGISTERS || rule->kind == OTP_RULE_IN_MEMORY;
}

/* Moves to the caller by a rule; false: the memory does not fit the rule. */
static bool apply(struct otp_unwind *u, const struct otp_rule *rule, struct walk *w)
{
    if (OTP_UNLIKELY(needs_registers(rule))) {
        return false; /* which are known of the innermost frame only: pass_tail */
    }
    bool is_realigned = rule->kind == OTP_RULE_REALIGNED;
    bool is_kept = rule->kind == OTP_RULE_KEPT;
    uintptr_t cfa = (is_realigned || rule->is_cfa_from_rbp ? w->bp : w->sp) +
                    (uintptr_t)(intptr_t)rule->cfa_offset;
    if ((is_realigned || is_kept) && !read_word(u, cfa, &cfa)) {
        return false;
    }
    cfa += (uintptr_t)(intptr_t)rule->cfa_add;
    if (cfa <= w->sp || !read_word(u, cfa - 8, &w->pc)) {
        return false;
    }
    uintptr_t saved = (is_realigned ? w->bp : cfa) + (uintptr_t)(intptr_t)rule->rbp_offset;
    if (OTP_UNLIKELY(rule->kind == OTP_RULE_LANDS) && land(u, w, cfa, saved)) {
        return true;
    }
    if ((is_realigned || rule->is_rbp_saved) && !read_word(u, saved, &w->bp)) {
        return false;
    }
    w->sp = cfa;
    w->is_exact = false;
    return true;
}

/* Adds a frame; false when the stack is deeper than wanted, after its marker. */
static bool push(struct otp_unwind *u, uint32_t *depth, uintptr_t pc, uint64_t word)
{
    if (is_own(pc)) {
        return true;
    }
    if (*depth == otp_settings.max_depth) {
        u->frames[(*depth)++] = OTP_FRAME_TRUNCATED;
        return false;
    }
    u->frames[(*depth)++] = word;
    return true;
}

/*
 * Code in no object at all is made at run time, by compilers that keep frame pointers nearly
 * always. True when rbp points to what looks like one: a stack address further up, then a return
 * address.
 */
static bool guess_rule(struct otp_unwind *u, struct otp_known_rule *known, const struct walk *w)
{
    uintptr_t caller_bp;
    if (known->object != OTP_OBJECT_NONE || w->depth >= otp_settings.max_depth || w->bp < w->sp ||
        w->bp % 8 != 0 || w->bp - w->sp > MAX_GUESSED_FRAME || !read_word(u, w->bp, &caller_bp) ||
        (caller_bp != 0 && caller_bp <= w->bp)) {
        return false;
    }
    known->rule = (struct otp_rule){.kind = OTP_RULE_SIMPLE,
                                    .is_cfa_from_rbp = true,
                                    .is_rbp_saved = true,
                                    .cfa_offset = 16,
                                    .rbp_offset = -16};
    return true;
}

/*
 * Walks by simple rules as far as the end of the stack. False when a frame needs more; what it has
 * pushed from w->depth on is then to be forgotten.
 */
static bool walk_simple(struct otp_unwind *u, struct walk w, uint32_t *out_depth)
{
    for (;;) {
        struct otp_known_rule known;
        uintptr_t addr = code_addr(w.pc, w.is_exact);
        find_rule(u, addr, &known);
        if (known.rule.kind == OTP_RULE_COMPLEX && !guess_rule(u, &known, &w)) {
            return false;
        }
        if (!push(u, &w.depth, w.pc, frame_word(known.object, addr)) ||
            known.rule.kind == OTP_RULE_END) {
            break;
        }
        if (!apply(u, &known.rule, &w)) {
            return false;
        }
        if (w.pc == 0) {
            break;
        }
    }
    *out_depth = w.depth;
    return true;
}

/* After a frame that only libunwind could pass, the rest may be simple again. */
static bool try_simple_rest(struct otp_unwind *u, bool is_exact, uint32_t *depth)
{
    unw_word_t pc = 0;
    unw_word_t sp = 0;
    unw_word_t bp = 0;
    if (unw_get_reg(&u->cursor, UNW_REG_IP, &pc) < 0 ||
        unw_get_reg(&u->cursor, UNW_REG_SP, &sp) < 0 ||
        unw_get_reg(&u->cursor, UNW_X86_64_RBP, &bp) < 0 || pc == 0) {
        return false;
    }
    struct walk w = {.pc = pc, .sp = sp, .bp = bp, .is_exact = is_exact, .depth = *depth};
    return walk_simple(u, w, depth);
}

/* libunwind calls abort on tables that make no sense to it: then the stack ends there. */
void otp_unw_abort(void)
{
    struct otp_unwind *u = otp_scratch_own_base();
    __builtin_longjmp(u->escape, 1);
}

static bool register_of(struct otp_unwind *u, unw_regnum_t reg, uintptr_t *out)
{
    unw_word_t v = 0;
    bool is_known = unw_get_reg(&u->cursor, reg, &v) >= 0;
    *out = v;
    return is_known;
}

/* Whether the function at the cursor goes on in another frame; w is then there. */
static bool will_land(struct otp_unwind *u, const struct otp_rule *rule, struct walk *w)
{
    return rule->kind == OTP_RULE_LANDS && register_of(u, UNW_REG_IP, &w->pc) &&
           register_of(u, UNW_REG_SP, &w->sp) && register_of(u, UNW_X86_64_RBP, &w->bp) &&
           apply(u, rule, w) && w->is_exact;
}

/* After the step from it, which has restored the other registers: a cursor anew, over there. */
static bool go_on_at(struct otp_unwind *u, const struct walk *w)
{
    static const struct {
        unw_regnum_t from;
        int to;
    } kept[] = {{UNW_X86_64_RBX, REG_RBX},
                {UNW_X86_64_R12, REG_R12},
                {UNW_X86_64_R13, REG_R13},
                {UNW_X86_64_R14, REG_R14},
                {UNW_X86_64_R15, REG_R15}};
    uintptr_t values[OTP_ARRAY_LEN(kept)];
    greg_t *g = u->context.uc_mcontext.gregs;
    for (size_t i = 0; i < OTP_ARRAY_LEN(kept); i++) {
        if (!register_of(u, kept[i].from, &values[i])) {
            values[i] = 0;
        }
    }
    for (size_t i = 0; i < OTP_ARRAY_LEN(kept); i++) {
        g[kept[i].to] = (greg_t)values[i];
    }
    g[REG_RIP] = (greg_t)w->pc;
    g[REG_RSP] = (greg_t)w->sp;
    g[REG_RBP] = (greg_t)w->bp;
    return unw_init_local2(&u->cursor, &u->context, UNW_INIT_SIGNAL_FRAME) >= 0;
}

/* One step up from a frame that has that rule; *is_exact becomes whether the next pc is code to
 * come, and not behind a call. */
static bool step_known(struct otp_unwind *u, const struct otp_rule *rule, bool is_signal,
                       bool *is_exact)
{
    struct walk w = {.is_exact = false};
    bool lands = will_land(u, rule, &w);
    *is_exact = is_signal || lands;
    if (!step(u, is_signal, rule->is_unsafe)) {
        return false;
    }
    if (lands && !go_on_at(u, &w)) {
        u->is_cut = true;
        return false;
    }
    return true;
}

/* Steps by libunwind, trying to go on by rules after each frame that was not simple. */
static void walk_libunwind(struct otp_unwind *u)
{
    bool is_exact = u->is_signal_start;
    if (unw_init_local2(&u->cursor, &u->context, is_exact ? UNW_INIT_SIGNAL_FRAME : 0) < 0) {
        u->is_cut = true;
        return;
    }
    for (unsigned steps = 0;; steps++) {
        unw_word_t pc = 0;
        if (unw_get_reg(&u->cursor, UNW_REG_IP, &pc) < 0 || (pc == 0 && steps > 0)) {
            break;
        }
        bool is_signal = (steps > 0 || !u->is_signal_start) && is_signal_frame(u, pc);
        uintptr_t addr = code_addr(pc, is_exact || is_signal);
        if (!push(u, &u->depth, pc, frame_word(object_number(u, addr), addr))) {
            break;
        }
        struct otp_known_rule known;
        find_rule(u, addr, &known);
        if (!step_known(u, &known.rule, is_signal, &is_exact)) {
            break;
        }
        if (known.rule.kind == OTP_RULE_COMPLEX && steps < MAX_RETRIES &&
            try_simple_rest(u, is_exact, &u->depth)) {
            break;
        }
    }
}

/* By DWARF's number. */
static uintptr_t register_at_start(const struct otp_unwind *u, unsigned number)
{
    static const uint8_t numbers[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                        REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                        REG_R12, REG_R13, REG_R14, REG_R15};
    return (uintptr_t)u->context.uc_mcontext.gregs[numbers[number]];
}

/* What the registers say where all of the caller is in them, or where one of them points to: a
 * place behind a call, as always. False: that cannot be read. */
static bool land_by_registers(struct otp_unwind *u, const struct otp_rule *rule,
                              struct otp_landing *out)
{
    if (rule->kind == OTP_RULE_IN_MEMORY) {
        uintptr_t base = register_at_start(u, OTP_RULE_BASE(rule));
        if (!read_word(u, base + OTP_RULE_BEHIND(rule, 0), &out->pc) ||
            !read_word(u, base + OTP_RULE_BEHIND(rule, 1), &out->sp) ||
            !read_word(u, base + (uintptr_t)(intptr_t)rule->rbp_offset, &out->bp)) {
            return false;
        }
    } else {
        out->pc = register_at_start(u, OTP_RULE_REGISTER(rule, 0));
        out->sp = register_at_start(u, OTP_RULE_REGISTER(rule, 1));
        out->bp = register_at_start(u, OTP_RULE_REGISTER(rule, 2));
    }
    u->is_signal_start = rule->kind == OTP_RULE_IN_MEMORY;
    if (out->sp < u->low || out->sp >= u->high) {
        start(u, u->thread, out->sp); /* on another stack */
    }
    return true;
}

/* At the end of a function that goes on in another frame: tells it, and begins the walk there. */
static void pass_tail(struct otp_unwind *u)
{
    greg_t *g = u->context.uc_mcontext.gregs;
    uintptr_t pc = (uintptr_t)g[REG_RIP];
    struct otp_known_rule known;
    struct otp_landing landing;
    u->passed = 0;
    if (!u->is_signal_start) {
        return;
    }
    find_rule(u, pc, &known); /* code of an object that is loaded can be read */
    bool lands = OTP_UNLIKELY(needs_registers(&known.rule))
                     ? land_by_registers(u, &known.rule, &landing)
                     : known.object != OTP_OBJECT_NONE &&
                           (otp_landing_of_tail(g, read_landing_word, u, &landing) ||
                            otp_landing_of_switch(g, read_landing_word, u, &landing));
    if (OTP_LIKELY(!lands)) {
        return;
    }
    (void)push(u, &u->passed, pc, frame_word(known.object, pc));
    g[REG_RIP] = (greg_t)landing.pc;
    g[REG_RSP] = (greg_t)landing.sp;
    g[REG_RBP] = (greg_t)landing.bp;
}

uint32_t otp_unwind_run(struct otp_unwind *u)
{
    const greg_t *g = u->context.uc_mcontext.gregs;
    pass_tail(u);
    struct walk w = {.pc = (uintptr_t)g[REG_RIP],
                     .sp = (uintptr_t)g[REG_RSP],
                     .bp = (uintptr_t)g[REG_RBP],
                     .is_exact = u->is_signal_start,
                     .depth = u->passed};
    uint32_t depth = 0;
    u->is_cut = false;
    if (OTP_LIKELY(walk_simple(u, w, &depth)) && depth > 0) {
        return depth;
    }
    start(u, u->thread, w.sp);
    if (u->passed == 0) {
        u->frames[0] = 0;
    }
    u->depth = u->passed;
    if (__builtin_setjmp(u->escape) == 0) {
        walk_libunwind(u);
    } else {
        u->is_cut = true;
    }
    return u->depth == 0 ? 1 : u->depth;
}

uint32_t otp_unwind_try(struct otp_unwind *u)
{
    const greg_t *g = u->context.uc_mcontext.gregs;
    struct walk w = {.pc = (uintptr_t)g[REG_RIP],
                     .sp = (uintptr_t)g[REG_RSP],
                     .bp = (uintptr_t)g[REG_RBP]};
    uint32_t depth = 0;
    u->passed = 0;
    u->is_cut = false;
    return walk_simple(u, w, &depth) ? depth : 0;
}

bool otp_unwind_was_cut(const struct otp_unwind *u)
{
    return u->is_cut;
}

void otp_unwind_init(void)
{
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_NONE);
    unw_get_accessors(unw_local_addr_space)->access_mem = otp_unw_access_mem;
}
