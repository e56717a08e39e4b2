/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that is inside capture says so before it looks anything up, and takes a scratch stack in
 * between, by an exchange that makes this visible to everybody. So who was seen outside after
 * something was taken away cannot find it any more.
 */
#include "core/base/atomic.h"
#include "core/capture/thread.h"

static uint32_t round_number;

void otp_quiet_begin(void)
{
    (void)otp_add_acq_rel(&round_number, 1); /* locked: a full barrier */
}

bool otp_quiet_is_over(void)
{
    bool is_over = true;
    struct otp_thread *t;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        if (otp_load_acquire(&t->state) == OTP_THREAD_FREE || t->quiet_round == round_number) {
            continue;
        }
        if (otp_load_acquire(&t->busy) == 0) {
            t->quiet_round = round_number;
        } else {
            is_over = false;
        }
    }
    return is_over;
}
