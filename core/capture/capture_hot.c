/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/capture.h"

#include <linux/futex.h>

#include "core/base/atomic.h"
#include "core/base/sys.h"
#include "core/capture/cost.h"

struct otp_capture_settings otp_settings;
uint32_t otp_capture_state;
uint32_t otp_worker_alive;
uint32_t otp_wake_word;
uint32_t otp_unload_epoch;
uint64_t otp_samples_taken;
uint64_t otp_cost_clock_ns;
uint64_t otp_cost_event_ns;

void otp_capture_wake(void)
{
    (void)otp_add_acq_rel(&otp_wake_word, 1);
    (void)OTP_SYS3(SYS_futex, &otp_wake_word, FUTEX_WAKE_PRIVATE, 1);
}

void otp_capture_note_sample(void)
{
    (void)otp_add_relaxed(&otp_samples_taken, 1);
    if (OTP_UNLIKELY(otp_load_relaxed(&otp_worker_alive) == 0)) {
        otp_settings.need_worker();
    }
}
