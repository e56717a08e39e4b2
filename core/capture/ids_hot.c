/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/ids.h"

#include <stddef.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"
#include "core/base/sys.h"
#include "core/capture/capture.h"

#define CPU 1U

static const char *const types[OTP_IDS_TYPES] = {"samples",     "cpu",           "alloc_objects",
                                                 "alloc_space", "inuse_objects", "inuse_space"};
static uint8_t ids[OTP_IDS_TYPES][16];
static uint32_t sequence; /* odd: being changed; 0: none were drawn yet */

void otp_ids_draw(void)
{
    uint8_t fresh[OTP_IDS_TYPES][16];
    otp_sys_random(fresh, sizeof(fresh));
    for (unsigned i = 0; i < OTP_IDS_TYPES; i++) {
        fresh[i][0] |= 0x80; /* never all zero, which means none */
    }
    (void)otp_add_acq_rel(&sequence, 1);
    memcpy(ids, fresh, sizeof(ids));
    (void)otp_add_acq_rel(&sequence, 1); /* pairs: IDS */
}

void otp_ids_after_fork(void)
{
    (void)otp_add_acq_rel(&sequence, sequence & 1);
    otp_ids_draw();
}

/* Whether such a profile is written. With timestamps one that only counts them is not. */
static bool is_written(uint32_t n)
{
    if (n > CPU) {
        return n < OTP_IDS_TYPES && otp_settings.is_heap_on;
    }
    return otp_settings.is_cpu_on && (n == CPU || !otp_settings.has_timestamps);
}

bool otp_ids_get(const char *type, void *id)
{
    uint32_t n = type == NULL ? CPU : 0;
    while (type != NULL && n < OTP_IDS_TYPES && strcmp(types[n], type) != 0) {
        n++;
    }
    bool is_on = otp_capture_is_on() && is_written(n);
    /* A handler may have interrupted the drawing in its own thread, and must not wait for it. */
    for (int tries = 0; is_on && tries < 1000; tries++) {
        uint8_t copy[sizeof(ids[n])];
        uint32_t before = otp_load_acquire(&sequence); /* pairs: IDS */
        memcpy(copy, ids[n], sizeof(copy));
        otp_signal_fence(); /* the processor keeps loads in order */
        if (before != 0 && (before & 1) == 0 && otp_load_relaxed(&sequence) == before) {
            if (id != NULL) {
                memcpy(id, copy, sizeof(copy));
            }
            return true;
        }
    }
    return false;
}

void otp_ids_at(uint32_t n, uint8_t out_id[16])
{
    memcpy(out_id, ids[n % OTP_IDS_TYPES], sizeof(ids[0]));
}
