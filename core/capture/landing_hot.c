/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* register names of ucontext */
#include "core/capture/landing.h"

#include <stddef.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/probe.h"

#define TAIL_BEFORE 4U /* bytes of code looked at, before pc and from it on */
#define TAIL_BEHIND 7U

/* What libc's switch of contexts ends with; see otp_landing_of_switch. */
#define SWITCH_BEFORE 7U
#define SWITCH_BEHIND 48U
#define LOAD_MAX 7
#define PUSH_RCX 0x51U
#define REG_NUMBER_RCX 1U

struct load {
    unsigned base; /* registers by the processor's numbers */
    unsigned to;
    uint32_t offset;
};

/* ucontext_t: where rip, rsp and rbp are. */
#define CONTEXT_RIP ((uint32_t)offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]))
#define CONTEXT_RSP ((uint32_t)offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]))
#define CONTEXT_FRAME ((uint32_t)offsetof(ucontext_t, uc_mcontext.gregs[REG_RBP]))

/* struct _Unwind_Context: offsets from its cfa, which stands behind 18 pointers to registers. */
#define CONTEXT_REGISTERS 144U
#define CONTEXT_RBP (CONTEXT_REGISTERS - 6U * 8U) /* below the cfa */
#define CONTEXT_RA 8U
#define CONTEXT_LSDA 16U
#define CONTEXT_FLAGS 48U
#define CONTEXT_VERSION 56U
#define CONTEXT_ARGS_SIZE 64U
#define CONTEXT_BEHIND 72U
#define FLAG_SIGNAL (UINT64_C(1) << 63)
#define FLAG_EXTENDED (UINT64_C(1) << 62)
#define MAX_ARGS_SIZE 65536U

/* Ends of such functions. Moves the stack pointer: mov %rcx, %rsp or add %rcx, %rsp. */
static const uint8_t moves[2][3] = {{0x48, 0x89, 0xcc}, {0x48, 0x01, 0xcc}};
/* Goes on: pop %rcx; jmp *%rcx, or ret. */
static const uint8_t goes_on[2][3] = {{0x59, 0xff, 0xe1}, {0xc3}};
static const uint8_t goes_on_len[2] = {3, 1};

/* How far the thread is in such an end. */
enum step { STEP_NONE, STEP_MOVE, STEP_ADD, STEP_TAKE, STEP_JUMP };

/* code: TAIL_BEFORE bytes before pc, then TAIL_BEHIND from it on. */
static enum step step_of(const uint8_t *code)
{
    const uint8_t *pc = code + TAIL_BEFORE;
    for (unsigned m = 0; m < 2; m++) {
        for (unsigned g = 0; g < 2; g++) {
            if (memcmp(pc, moves[m], 3) == 0 && memcmp(pc + 3, goes_on[g], goes_on_len[g]) == 0) {
                return m == 0 ? STEP_MOVE : STEP_ADD;
            }
            if (memcmp(pc - 3, moves[m], 3) == 0 && memcmp(pc, goes_on[g], goes_on_len[g]) == 0) {
                return STEP_TAKE;
            }
        }
        if (memcmp(pc - 4, moves[m], 3) == 0 && memcmp(pc - 1, goes_on[0], 3) == 0) {
            return STEP_JUMP;
        }
    }
    return STEP_NONE;
}

/* Most code can be told by its first byte. */
static bool may_be_tail(uintptr_t pc)
{
    uint8_t first = *(const uint8_t *)pc;
    return first == 0x48 || first == 0x59 || first == 0xff || first == 0xc3;
}

static bool may_be_switch(uintptr_t pc)
{
    uint8_t first = *(const uint8_t *)pc;
    return first == 0x48 || first == 0x4c || first == PUSH_RCX;
}

/* So many bytes before pc and from it on, those of pages that cannot be read as 0. */
static void read_code(uintptr_t pc, size_t before, size_t behind, uint8_t *code)
{
    uintptr_t from = pc - before;
    uintptr_t to = pc + behind;
    uintptr_t page = pc & ~(OTP_PAGE - 1);
    uintptr_t low = from >= page || otp_probe_page(page - OTP_PAGE) ? from : page;
    uintptr_t next = page + OTP_PAGE;
    uintptr_t high = to <= next || otp_probe_page(next) ? to : next;
    memset(code, 0, before + behind);
    memcpy(code + (low - from), (const void *)low, high - low);
}

bool otp_landing_of_tail(const greg_t *regs, otp_landing_read read, void *arg,
                         struct otp_landing *out)
{
    uintptr_t pc = (uintptr_t)regs[REG_RIP];
    if (OTP_LIKELY(pc < OTP_PAGE || !may_be_tail(pc))) {
        return false;
    }
    uint8_t code[TAIL_BEFORE + TAIL_BEHIND];
    read_code(pc, TAIL_BEFORE, TAIL_BEHIND, code);
    enum step step = step_of(code);
    if (OTP_LIKELY(step == STEP_NONE)) {
        return false;
    }
    uintptr_t rcx = (uintptr_t)regs[REG_RCX];
    uintptr_t rsp = (uintptr_t)regs[REG_RSP];
    *out = (struct otp_landing){.pc = rcx, .sp = rsp, .bp = (uintptr_t)regs[REG_RBP]};
    if (step == STEP_JUMP) {
        return true;
    }
    uintptr_t at = step == STEP_TAKE ? rsp : step == STEP_MOVE ? rcx : rsp + rcx;
    out->sp = at + 8;
    return at >= rsp && read(arg, at, &out->pc);
}

/* mov OFFSET(%BASE), %REGISTER of 64 bits; its length, 0: something else. */
static size_t load_at(const uint8_t *code, struct load *out)
{
    uint8_t mode = code[2] >> 6;
    out->base = code[2] & 7U;
    out->to = (code[2] >> 3 & 7U) | ((code[0] & 4U) != 0 ? 8U : 0);
    if ((code[0] != 0x48 && code[0] != 0x4c) || code[1] != 0x8b || out->base == 4 ||
        (mode != 1 && mode != 2)) {
        return 0;
    }
    out->offset = code[3]; /* positive */
    if (mode == 2) {
        memcpy(&out->offset, code + 3, sizeof(out->offset));
    }
    return mode == 1 ? 4 : 7;
}

/*
 * The rest of such a piece of code, which may begin anywhere: loads from a context, the last of
 * which is that of rip into rcx, then push %rcx. code: SWITCH_BEFORE bytes before pc, then
 * SWITCH_BEHIND.
 */
static bool is_switch(const uint8_t *code, struct load *last)
{
    const uint8_t *end = code + SWITCH_BEFORE + SWITCH_BEHIND;
    const uint8_t *at = code + SWITCH_BEFORE;
    unsigned base = 0;
    if (*at == PUSH_RCX) {
        return load_at(at - SWITCH_BEFORE, last) == SWITCH_BEFORE && last->to == REG_NUMBER_RCX;
    }
    for (bool is_first = true; end - at > LOAD_MAX; is_first = false) {
        size_t len = load_at(at, last);
        if (len == 0 || (!is_first && last->base != base)) {
            return false;
        }
        base = last->base;
        at += len;
        if (*at == PUSH_RCX) {
            return last->to == REG_NUMBER_RCX;
        }
    }
    return false;
}

bool otp_landing_of_switch(const greg_t *regs, otp_landing_read read, void *arg,
                           struct otp_landing *out)
{
    static const uint8_t numbers[8] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX,
                                       REG_RSP, REG_RBP, REG_RSI, REG_RDI}; /* of the processor */
    uintptr_t pc = (uintptr_t)regs[REG_RIP];
    if (OTP_LIKELY(pc < OTP_PAGE || !may_be_switch(pc))) {
        return false;
    }
    uint8_t code[SWITCH_BEFORE + SWITCH_BEHIND];
    struct load last;
    read_code(pc, SWITCH_BEFORE, SWITCH_BEHIND, code);
    if (OTP_LIKELY(!is_switch(code, &last) || last.offset != CONTEXT_RIP)) {
        return false;
    }
    uintptr_t context = (uintptr_t)regs[numbers[last.base]];
    return read(arg, context + CONTEXT_RSP, &out->sp) && out->sp == (uintptr_t)regs[REG_RSP] &&
           read(arg, context + CONTEXT_RIP, &out->pc) &&
           read(arg, context + CONTEXT_FRAME, &out->bp);
}

/* Whether a context of libgcc is at addr, the place of its cfa. All up to end can be read. */
static bool is_context(uintptr_t addr, uintptr_t end)
{
    const uint8_t *at = (const uint8_t *)addr;
    uint64_t flags;
    uint64_t version;
    if (end - addr < CONTEXT_BEHIND) {
        return false;
    }
    memcpy(&flags, at + CONTEXT_FLAGS, sizeof(flags));
    memcpy(&version, at + CONTEXT_VERSION, sizeof(version));
    return (flags & ~FLAG_SIGNAL) == FLAG_EXTENDED && version == 0;
}

static uintptr_t word_at(uintptr_t addr)
{
    uintptr_t v;
    memcpy(&v, (const void *)addr, sizeof(v));
    return v;
}

/*
 * By what is written where: registers are copied in the order of their numbers, rbp before the
 * return address; at last the place of the return address over there gets the handler. Over there
 * may be the caller itself. own: the function's context of itself; other: perhaps that of the frame
 * with the handler.
 */
static bool is_installed(const struct otp_landing_frame *f, uintptr_t own, uintptr_t other,
                         otp_landing_read read, void *arg)
{
    uintptr_t cfa = word_at(other);
    uintptr_t handler = word_at(other + CONTEXT_RA);
    uintptr_t saved_return = word_at(f->cfa - 8);
    uintptr_t there;
    if (!read(arg, cfa - 8, &there)) {
        return false;
    }
    if (saved_return != word_at(own + CONTEXT_RA)) {
        return there == handler || (saved_return == there && cfa != f->cfa);
    }
    uintptr_t bp_at = word_at(other - CONTEXT_RBP);
    uintptr_t bp;
    return f->is_caller_by_bp && cfa != f->cfa && bp_at != f->saved_bp && read(arg, bp_at, &bp) &&
           bp == word_at(f->saved_bp);
}

/* The places of the two contexts in a frame: own is that of the function itself, other may be of a
 * frame further out that has handlers. */
static bool find_contexts(const struct otp_landing_frame *f, uintptr_t low, uintptr_t *own,
                          uintptr_t *other)
{
    *own = 0;
    *other = 0;
    for (uintptr_t at = low + CONTEXT_REGISTERS; at < f->cfa; at += 8) {
        if (!is_context(at, f->cfa)) {
            continue;
        }
        uintptr_t cfa = word_at(at);
        bool has_handlers = word_at(at + CONTEXT_LSDA) != 0;
        if (cfa == f->cfa && !has_handlers) {
            *own = at;
        } else if (cfa >= f->cfa && cfa % 8 == 0 && has_handlers) {
            *other = at;
        }
    }
    return *own != 0 && *other != 0;
}

bool otp_landing_of_frame(const struct otp_landing_frame *f, otp_landing_read read, void *arg,
                          struct otp_landing *out)
{
    uintptr_t low = (f->low + 7) & ~(uintptr_t)7;
    uintptr_t own;
    uintptr_t other;
    if (f->cfa - low > OTP_LANDING_FRAME_MAX || f->cfa % 8 != 0 || f->saved_bp < low ||
        f->saved_bp > f->cfa - 8 || !find_contexts(f, low, &own, &other) ||
        !is_installed(f, own, other, read, arg)) {
        return false;
    }
    uint64_t args_size = word_at(other + CONTEXT_ARGS_SIZE);
    out->pc = word_at(other + CONTEXT_RA);
    out->sp = word_at(other) + (args_size < MAX_ARGS_SIZE ? args_size : 0);
    out->bp = word_at(f->saved_bp);
    return out->pc >= OTP_PAGE;
}
