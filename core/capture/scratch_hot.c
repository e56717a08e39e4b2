/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/scratch.h"

#include "core/base/atomic.h"
#include "core/base/hotmem.h"
#include "core/capture/arch.h"

static uintptr_t first_base;
static uint32_t stack_count;
static uint32_t taken_bits; /* those that do not exist are always taken */

_Static_assert(OTP_SCRATCH_COUNT == 32, "one bit each");

static uint32_t count_for(size_t limit)
{
    size_t count = limit / OTP_SCRATCH_PART / OTP_SCRATCH_BYTES;
    count = count < OTP_SCRATCH_COUNT ? count : OTP_SCRATCH_COUNT;
    return count > OTP_SCRATCH_COUNT_MIN ? (uint32_t)count : OTP_SCRATCH_COUNT_MIN;
}

/* Gives back what lies before and behind the aligned part of a mapping of one stack more. */
static void trim(uintptr_t map, uintptr_t base)
{
    size_t before = base - map;
    if (before > 0) {
        otp_hotmem_unmap((void *)map, before);
    }
    otp_hotmem_unmap((void *)(base + stack_count * OTP_SCRATCH_BYTES), OTP_SCRATCH_BYTES - before);
}

bool otp_scratch_init(void)
{
    if (first_base != 0) {
        return true;
    }
    stack_count = count_for(otp_hotmem_limit());
    uintptr_t p = (uintptr_t)otp_hotmem_map((stack_count + 1) * OTP_SCRATCH_BYTES);
    if (p == 0) {
        return false;
    }
    first_base = (p + OTP_SCRATCH_BYTES - 1) & ~(OTP_SCRATCH_BYTES - 1);
    trim(p, first_base);
    otp_scratch_forget(0);
    return true;
}

uint32_t otp_scratch_claim(void)
{
    uint32_t bits = otp_load_relaxed(&taken_bits);
    while (bits != UINT32_MAX) {
        uint32_t i = (uint32_t)__builtin_ctz(~bits);
        if (otp_cas_acq_rel(&taken_bits, &bits, bits | 1U << i)) { /* pairs: SCRATCH */
            return i + 1;
        }
    }
    return 0;
}

void otp_scratch_release(uint32_t taken)
{
    if (taken != 0) {
        (void)__atomic_fetch_and(&taken_bits, ~(1U << (taken - 1)),
                                 __ATOMIC_RELEASE); /* pairs: SCRATCH */
    }
}

void otp_scratch_forget(uint32_t taken)
{
    uint32_t kept = taken != 0 ? 1U << (taken - 1) : 0;
    otp_store_relaxed(&taken_bits, kept | (stack_count == 32 ? 0 : UINT32_MAX << stack_count));
}

void *otp_scratch_base(uint32_t taken)
{
    return (void *)(first_base + (taken - 1) * OTP_SCRATCH_BYTES);
}

void *otp_scratch_own_base(void)
{
    return (void *)(otp_arch_sp() & ~(OTP_SCRATCH_BYTES - 1));
}

bool otp_scratch_holds(uintptr_t sp)
{
    return sp - first_base < stack_count * OTP_SCRATCH_BYTES;
}
