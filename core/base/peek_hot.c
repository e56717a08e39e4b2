/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/peek.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "core/base/atomic.h"
#include "core/base/sys.h"
#include "core/base/probe.h"

static uint32_t is_refused; /* the kernel, or a sandbox, does not offer the call */

static bool look_and_read(const struct otp_peek *pieces, unsigned count)
{
    struct otp_probe probe = {0};
    for (unsigned i = 0; i < count; i++) {
        if (!otp_probe_is_readable(&probe, pieces[i].from, pieces[i].len)) {
            return false;
        }
        memcpy(pieces[i].to, (const void *)pieces[i].from, pieces[i].len);
    }
    return true;
}

bool otp_peek(const struct otp_peek *pieces, unsigned count)
{
    struct iovec to[OTP_PEEKS_MAX];
    struct iovec from[OTP_PEEKS_MAX];
    long sum = 0;
    if (OTP_UNLIKELY(otp_load_relaxed(&is_refused) != 0)) {
        return look_and_read(pieces, count);
    }
    for (unsigned i = 0; i < count; i++) {
        to[i] = (struct iovec){.iov_base = pieces[i].to, .iov_len = pieces[i].len};
        from[i] = (struct iovec){.iov_base = (void *)pieces[i].from, .iov_len = pieces[i].len};
        sum += (long)pieces[i].len;
    }
    long n = OTP_SYS6(SYS_process_vm_readv, otp_sys_getpid(), to, count, from, count, 0);
    if (OTP_UNLIKELY(n == -ENOSYS || n == -EPERM)) {
        otp_store_relaxed(&is_refused, 1);
        return look_and_read(pieces, count);
    }
    return n == sum;
}
