/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information boiled down: for one address, how the caller's frame is found from stack
 * pointer and frame pointer alone. That covers nearly all compiled code; the rest is left to
 * libunwind.
 */
#ifndef OTP_CAPTURE_CFI_H
#define OTP_CAPTURE_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "core/capture/object.h"

enum otp_rule_kind {
    OTP_RULE_COMPLEX = 0,   /* cannot be told so simply, or nothing is known */
    OTP_RULE_SIMPLE = 1,    /* the fields below; return address at cfa - 8 */
    OTP_RULE_END = 2,       /* the stack ends here: the return address is undefined */
    OTP_RULE_REALIGNED = 3, /* cfa is at rbp + cfa_offset, caller's rbp at rbp + rbp_offset */
    OTP_RULE_KEPT = 4,      /* cfa is the word at register + cfa_offset, plus cfa_add: assembly that
                               keeps the old rsp in an aligned frame */
    OTP_RULE_LANDS = 5, /* as simple, of a function that may go on in another frame (landing.h): it
                          saves the registers that hand an exception over, rax and rdx */
    OTP_RULE_IN_REGISTERS = 6, /* all of the caller is in registers, as in longjmp: which ones is in
                                  cfa_offset, see OTP_RULE_REGISTER */
    OTP_RULE_IN_MEMORY = 7     /* all of it is where a register points to, as in setcontext: rbp
                                  at that + rbp_offset; see OTP_RULE_BASE for the rest */
};

/* What is kept at an offset, and the number added to it, are within these many bits, the first with
 * its sign; else the frame is none of the kind. */
#define OTP_RULE_KEPT_OFFSET_BITS 13
#define OTP_RULE_KEPT_ADD_BITS 9

/* Of a rule of registers: DWARF number of that which holds the caller's rip (0), rsp (1) or rbp
 * (2).
 */
#define OTP_RULE_REGISTER(rule, which) ((unsigned)(rule)->cfa_offset >> (4 * (which)) & 15U)

/* Of a rule of memory: DWARF number of the register, and how far behind it the caller's rip (0) and
 * rsp (1) are, in bytes: words, so many at most. */
#define OTP_RULE_BASE(rule) ((unsigned)(rule)->cfa_offset & 15U)
#define OTP_RULE_BEHIND(rule, which)                                                               \
    (((unsigned)(rule)->cfa_offset >> (4 + 8 * (which)) & 255U) * 8U)
#define OTP_RULE_BEHIND_MAX 255

struct otp_rule {
    enum otp_rule_kind kind;
    bool is_unsafe; /* complex, and reads memory in a way that nobody could check: stop here */
    bool is_cfa_from_rbp; /* else from rsp */
    bool is_rbp_saved;    /* else the caller's rbp is still in rbp */
    int32_t cfa_offset;   /* cfa = register + this */
    int32_t cfa_add;      /* of OTP_RULE_KEPT, 0 in others */
    int32_t rbp_offset;   /* the caller's rbp is at cfa + this */
};

/*
 * Reads the rule for addr (inside the object) from the object's .eh_frame in memory. Never reads
 * outside the object, nor from pages that cannot be read. Source: LSB Core, "Exception Frames";
 * DWARF 4, 6.4. Context: hot.
 */
struct otp_rule otp_cfi_rule(const struct otp_object_range *object, uintptr_t addr);

#endif
