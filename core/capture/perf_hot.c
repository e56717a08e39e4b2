/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/perf.h"

#include <stddef.h>

#include "core/base/atomic.h"
#include "core/capture/perf_table.h"
#include "core/capture/timer.h"

uint64_t otp_perf_cookies[OTP_PERF_FDS];

struct otp_thread *otp_perf_thread(const siginfo_t *info)
{
    if (info->si_code < POLL_IN || info->si_code > POLL_HUP || info->si_fd < 0 ||
        info->si_fd >= OTP_PERF_FDS) {
        return NULL;
    }
    return otp_timer_thread(otp_load_acquire(&otp_perf_cookies[info->si_fd])); /* pairs: PERF-FD */
}
