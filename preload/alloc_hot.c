/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator's names. Each looks at the countdown, and then either calls the real function,
 * last, so that the compiler makes it a jump, or jumps to the entry that samples.
 */
#include <stddef.h>

#include "core/base/annot.h"
#include "core/base/real.h"
#include "core/capture/alloc.h"
#include "core/capture/arch.h"

/* Declared here, since glibc's headers add attributes by which the compiler would know too much. */
OTP_EXPORT void *malloc(size_t size);
OTP_EXPORT void free(void *p);
OTP_EXPORT void *calloc(size_t count, size_t size);
OTP_EXPORT void *realloc(void *p, size_t size);
OTP_EXPORT void *memalign(size_t alignment, size_t size);
OTP_EXPORT void *aligned_alloc(size_t alignment, size_t size);
OTP_EXPORT int posix_memalign(void **out, size_t alignment, size_t size);
OTP_EXPORT void *valloc(size_t size);
OTP_EXPORT void *pvalloc(size_t size);
OTP_EXPORT size_t malloc_usable_size(void *p);

void *malloc(size_t size)
{
    if (OTP_LIKELY(otp_alloc_skip(size))) {
        return otp_real.malloc(size);
    }
    return otp_enter_malloc(size);
}

void free(void *p)
{
    if (OTP_UNLIKELY(!otp_free_skip(p))) {
        p = otp_alloc_release(p);
    }
    otp_real.free(p);
}

void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (OTP_LIKELY(!__builtin_mul_overflow(count, size, &bytes) && otp_alloc_skip(bytes))) {
        return otp_real.calloc(count, size);
    }
    return otp_enter_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    if (OTP_LIKELY(otp_free_skip(p) && otp_alloc_skip(size))) {
        return otp_real.realloc(p, size);
    }
    return otp_enter_realloc(p, size);
}

void *memalign(size_t alignment, size_t size)
{
    return otp_enter_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return otp_enter_aligned_alloc(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    return otp_enter_posix_memalign(out, alignment, size);
}

void *valloc(size_t size)
{
    return otp_enter_valloc(size);
}

void *pvalloc(size_t size)
{
    return otp_enter_pvalloc(size);
}

size_t malloc_usable_size(void *p)
{
    size_t usable = otp_real.malloc_usable_size(p);
    return OTP_LIKELY(otp_free_skip(p)) ? usable : otp_alloc_usable(p, usable);
}
