/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* MREMAP_MAYMOVE */
#include "core/base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base/atomic.h"

#define SIGNAL_SET_BYTES 8
#define TRIES 3 /* of a call that cannot be left out */
#define REFUSED_STEP_NS UINT64_C(1000000)

/*
 * The kernel orders who gives a mapping back before who gets its addresses next. The thread
 * sanitizer sees the kernel do nothing, and needs to be told.
 */
static void order_mappings(void)
{
#ifdef OTP_SANITIZER
    static uint32_t turns;
    (void)otp_add_acq_rel(&turns, 1);
#endif
}

void *otp_sys_map(size_t bytes)
{
    long r = OTP_SYS6(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    order_mappings();
    return r < 0 && r > -4096 ? NULL : (void *)r;
}

void *otp_sys_remap(void *addr, size_t bytes, size_t new_bytes)
{
    order_mappings();
    long r = OTP_SYS4(SYS_mremap, addr, bytes, new_bytes, MREMAP_MAYMOVE);
    order_mappings();
    return r < 0 && r > -4096 ? NULL : (void *)r;
}

void otp_sys_unmap(void *addr, size_t bytes)
{
    order_mappings();
    (void)OTP_SYS2(SYS_munmap, addr, bytes);
}

int otp_sys_open(const char *path, int flags, unsigned mode)
{
    return (int)OTP_SYS4(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

void otp_sys_close(int fd)
{
    (void)OTP_SYS1(SYS_close, fd);
}

long otp_sys_read_full(int fd, void *buf, size_t len)
{
    size_t done = 0;
    while (done < len) {
        long n = OTP_SYS3(SYS_read, fd, (char *)buf + done, len - done);
        if (n == -EINTR) {
            continue;
        }
        if (n < 0) {
            return n;
        }
        if (n == 0) {
            break;
        }
        done += (size_t)n;
    }
    return (long)done;
}

long otp_sys_pread_full(int fd, void *buf, size_t len, uint64_t off)
{
    size_t done = 0;
    while (done < len) {
        long n = OTP_SYS4(SYS_pread64, fd, (char *)buf + done, len - done, off + done);
        if (n == -EINTR) {
            continue;
        }
        if (n < 0) {
            return n;
        }
        if (n == 0) {
            break;
        }
        done += (size_t)n;
    }
    return (long)done;
}

int otp_sys_write_full(int fd, const void *buf, size_t len)
{
    size_t done = 0;
    while (done < len) {
        long n = OTP_SYS3(SYS_write, fd, (const char *)buf + done, len - done);
        if (n == -EINTR) {
            continue;
        }
        if (n < 0) {
            return (int)n;
        }
        if (n == 0) {
            return -EIO;
        }
        done += (size_t)n;
    }
    return 0;
}

int64_t otp_sys_file_size(int fd)
{
    struct stat st;
    long r = OTP_SYS2(SYS_fstat, fd, &st);
    if (r < 0) {
        return r;
    }
    return S_ISREG(st.st_mode) ? st.st_size : -EINVAL;
}

static uint64_t clock_ns(int id)
{
    struct timespec ts = {0};
    for (int i = 0; i < TRIES && OTP_SYS2(SYS_clock_gettime, id, &ts) < 0; i++) {
    }
    return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

uint64_t otp_sys_realtime_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

uint64_t otp_sys_monotonic_ns(void)
{
    static uint64_t refused_ns;
    uint64_t ns = clock_ns(CLOCK_MONOTONIC);
    return OTP_LIKELY(ns != 0) ? ns : otp_add_relaxed(&refused_ns, REFUSED_STEP_NS) + 1;
}

uint64_t otp_sys_thread_cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

bool otp_sys_block_signals(uint64_t *out_before)
{
    uint64_t all = ~UINT64_C(0);
    return OTP_SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all, out_before, SIGNAL_SET_BYTES) == 0;
}

void otp_sys_restore_signals(uint64_t before)
{
    for (int i = 0; i < TRIES; i++) {
        if (OTP_SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, SIGNAL_SET_BYTES) == 0) {
            return;
        }
    }
}

bool otp_sys_hush(struct otp_sys_hush *h)
{
    if (!otp_sys_block_signals(&h->before)) {
        return false;
    }
    h->pending = 0; /* where the kernel does not tell */
    (void)OTP_SYS2(SYS_rt_sigpending, &h->pending, SIGNAL_SET_BYTES);
    return true;
}

void otp_sys_unhush(const struct otp_sys_hush *h)
{
    uint64_t raised = UINT64_C(1) << (SIGPIPE - 1) | UINT64_C(1) << (SIGXFSZ - 1);
    struct timespec none = {0};
    raised &= ~h->pending;
    for (int i = 0; i < TRIES && raised != 0; i++) {
        if (OTP_SYS4(SYS_rt_sigtimedwait, &raised, 0, &none, SIGNAL_SET_BYTES) == -EAGAIN) {
            break;
        }
    }
    otp_sys_restore_signals(h->before);
}

int otp_sys_getpid(void)
{
    return (int)OTP_SYS0(SYS_getpid);
}

int otp_sys_gettid(void)
{
    return (int)OTP_SYS0(SYS_gettid);
}

void otp_sys_random(void *buf, size_t len)
{
    static uint64_t salt;
    long n = OTP_SYS3(SYS_getrandom, buf, len, 1 /* GRND_NONBLOCK */);
    if (n == (long)len) {
        return;
    }
    int fd = otp_sys_open("/dev/urandom", O_RDONLY, 0);
    if (fd >= 0) {
        n = otp_sys_read_full(fd, buf, len);
        otp_sys_close(fd);
        if (n == (long)len) {
            return;
        }
    }
    /* splitmix64 over clocks, pid and an address: good enough for ids where nothing better is. */
    uint64_t x = otp_sys_monotonic_ns() ^ (uint64_t)(uintptr_t)buf ^ otp_sys_realtime_ns();
    x ^= (uint64_t)otp_sys_gettid() << 32 ^ ++salt;
    for (size_t i = 0; i < len; i++) {
        x += 0x9e3779b97f4a7c15U;
        uint64_t z = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        ((unsigned char *)buf)[i] = (unsigned char)(z >> 56);
    }
}
