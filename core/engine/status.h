/* SPDX-License-Identifier: Apache-2.0 */
/* How the profiler is: what it samples, what it has lost, what waits, and what it costs. */
#ifndef OTP_ENGINE_STATUS_H
#define OTP_ENGINE_STATUS_H

#include "core/engine/answer.h"

/* Adds lines of a name and a value; names have a group in front of a point. Context: worker. */
void otp_status_write(struct otp_reply *r);

#endif
