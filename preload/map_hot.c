/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names by which a host takes memory away that may hold a thread's alternate stack. All that they
 * cost is a comparison, until such a stack is met.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/annot.h"
#include "core/base/real.h"
#include "core/capture/altstack.h"

/* Of the kernel; its headers would declare the functions below, too. */
#define MAY_WRITE 2 /* PROT_WRITE */
#define IS_FIXED 16 /* MAP_FIXED */
#define GOES_TO 2   /* MREMAP_FIXED */

OTP_EXPORT int munmap(void *addr, size_t bytes);
OTP_EXPORT int mprotect(void *addr, size_t bytes, int rights);
OTP_EXPORT void *mremap(void *addr, size_t bytes, size_t new_bytes, int flags, void *new_addr);
OTP_EXPORT void *mmap(void *addr, size_t bytes, int rights, int flags, int fd, off_t offset);
OTP_EXPORT void *mmap64(void *addr, size_t bytes, int rights, int flags, int fd, off_t offset);

_Static_assert(sizeof(off_t) == 8, "mmap and mmap64 are the same");

static bool lose(const void *addr, size_t bytes)
{
    uintptr_t low = (uintptr_t)addr;
    return OTP_UNLIKELY(bytes != 0 && otp_altstack_is_beyond(low)) && otp_altstack_lose(low, bytes);
}

/* When the kernel has refused the call, nothing is lost. */
static void after(const void *addr, size_t bytes, bool is_lost, bool is_done)
{
    if (OTP_UNLIKELY(is_lost) && !is_done) {
        otp_altstack_keep((uintptr_t)addr, bytes);
    }
}

int munmap(void *addr, size_t bytes)
{
    otp_real_init();
    bool is_lost = lose(addr, bytes);
    int r = otp_real.munmap(addr, bytes);
    after(addr, bytes, is_lost, r == 0);
    return r;
}

int mprotect(void *addr, size_t bytes, int rights)
{
    otp_real_init();
    bool is_lost = (rights & MAY_WRITE) == 0 && lose(addr, bytes);
    int r = otp_real.mprotect(addr, bytes, rights);
    after(addr, bytes, is_lost, r == 0);
    return r;
}

/* What is at addr, where it stays or moves from, is all back when it is there with the same size.
 */
void *mremap(void *addr, size_t bytes, size_t new_bytes, int flags, void *new_addr)
{
    otp_real_init();
    bool is_lost = lose(addr, bytes);
    if ((flags & GOES_TO) != 0) {
        (void)lose(new_addr, new_bytes);
    }
    void *r = otp_real.mremap(addr, bytes, new_bytes, flags, new_addr);
    bool is_there = r == addr || r == (void *)-1;
    after(addr, r == addr && new_bytes < bytes ? new_bytes : bytes, is_lost, !is_there);
    return r;
}

static void *map(void *addr, size_t bytes, int rights, int flags, int fd, off_t offset)
{
    otp_real_init();
    bool is_lost = (flags & IS_FIXED) != 0 && lose(addr, bytes);
    void *r = otp_real.mmap(addr, bytes, rights, flags, fd, offset);
    after(addr, bytes, is_lost, r != (void *)-1);
    return r;
}

void *mmap(void *addr, size_t bytes, int rights, int flags, int fd, off_t offset)
{
    return map(addr, bytes, rights, flags, fd, offset);
}

void *mmap64(void *addr, size_t bytes, int rights, int flags, int fd, off_t offset)
{
    return map(addr, bytes, rights, flags, fd, offset);
}
