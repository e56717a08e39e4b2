/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw system calls: no errno, no cancellation point, no name that a host program could have
 * interposed. Each returns the kernel's answer: >= 0, or a negative errno value.
 * Context: hot, as far as the kernel call itself may be made there.
 */
#ifndef OTP_BASE_SYS_H
#define OTP_BASE_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "core/base/annot.h"

OTP_INLINE long otp_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
    long ret;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}

#define OTP_SYS0(nr) otp_syscall6((nr), 0, 0, 0, 0, 0, 0)
#define OTP_SYS1(nr, a) otp_syscall6((nr), (long)(a), 0, 0, 0, 0, 0)
#define OTP_SYS2(nr, a, b) otp_syscall6((nr), (long)(a), (long)(b), 0, 0, 0, 0)
#define OTP_SYS3(nr, a, b, c) otp_syscall6((nr), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define OTP_SYS4(nr, a, b, c, d)                                                                   \
    otp_syscall6((nr), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define OTP_SYS5(nr, a, b, c, d, e)                                                                \
    otp_syscall6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define OTP_SYS6(nr, a, b, c, d, e, f)                                                             \
    otp_syscall6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Anonymous private pages, zeroed and not yet backed by memory; NULL on failure. */
void *otp_sys_map(size_t bytes);
/* Makes pages got from otp_sys_map fewer or more, possibly at another address; NULL on failure. */
void *otp_sys_remap(void *addr, size_t bytes, size_t new_bytes);
/* Returns pages got from otp_sys_map. */
void otp_sys_unmap(void *addr, size_t bytes);
/* open(2) relative to the current folder, O_CLOEXEC always added; descriptor or -errno. */
int otp_sys_open(const char *path, int flags, unsigned mode);
/* close(2), result ignored: there is nothing to do about it. */
void otp_sys_close(int fd);
/* Reads until len bytes are there, the end or an error; count or -errno. EINTR is retried. */
long otp_sys_read_full(int fd, void *buf, size_t len);
/* Like otp_sys_read_full at a file offset. */
long otp_sys_pread_full(int fd, void *buf, size_t len, uint64_t off);
/* Writes all of buf; 0 or -errno. EINTR is retried. */
int otp_sys_write_full(int fd, const void *buf, size_t len);
/* File size in bytes of an open descriptor, or -errno. Not a regular file: -EINVAL. */
int64_t otp_sys_file_size(int fd);
/* Wall clock, nanoseconds since the epoch (CLOCK_REALTIME). */
uint64_t otp_sys_realtime_ns(void);
/* CLOCK_MONOTONIC in nanoseconds. Where the kernel refuses it moves on with each call, so that a
 * wait for a deadline ends. */
uint64_t otp_sys_monotonic_ns(void);
/* CPU time of the calling thread in nanoseconds; 0: the kernel refuses. */
uint64_t otp_sys_thread_cpu_ns(void);
/*
 * Blocks all signals of the calling thread and tells its mask until now. False: the kernel refuses
 * (a filter of system calls), nothing has changed. Context: hot.
 */
OTP_MUST_CHECK bool otp_sys_block_signals(uint64_t *out_before);
/* Puts the mask back that otp_sys_block_signals has told. Context: hot. */
void otp_sys_restore_signals(uint64_t before);

/* Signals of a thread while we write in it. */
struct otp_sys_hush {
    uint64_t before;  /* its mask */
    uint64_t pending; /* what the host has waiting anyway */
};
/*
 * Writing to a pipe without a reader raises SIGPIPE, beyond a limit SIGXFSZ: between these two
 * calls neither reaches the host, whose thread this is. False: it must not be written. Context:
 * init.
 */
OTP_MUST_CHECK bool otp_sys_hush(struct otp_sys_hush *h);
void otp_sys_unhush(const struct otp_sys_hush *h);
/* Kernel ids. */
int otp_sys_getpid(void);
int otp_sys_gettid(void);
/* len random bytes (getrandom, else /dev/urandom, else clock and address noise). */
void otp_sys_random(void *buf, size_t len);

#endif
