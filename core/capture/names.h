/* SPDX-License-Identifier: Apache-2.0 */
/* What only the kernel can tell of a thread, asked by the worker: whether it still exists, and its
 * name. */
#ifndef OTP_CAPTURE_NAMES_H
#define OTP_CAPTURE_NAMES_H

#include <stdbool.h>

#include "core/capture/thread.h"

/* Sees to it that t's samples carry the name that the kernel has. Context: worker. */
void otp_names_refresh(struct otp_thread *t);
/* True when the thread of a LIVE or ENDED record is gone. Context: worker. */
bool otp_names_is_gone(const struct otp_thread *t);

#endif
