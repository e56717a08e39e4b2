/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the OTLP builder: an order of entries and samples in which neighbours are alike, so
 * that what packs the message finds more of it again. What the message says is the same.
 */
#ifndef OTP_ENCODE_OTLP_ORDER_H
#define OTP_ENCODE_OTLP_ORDER_H

#include "core/encode/otlp_plan.h"

/*
 * Changes the numbers of the locations and stacks of a plan that has them, and gives its profiles
 * an order of their samples; deterministic. Where there is no memory for it an order stays as it
 * is. Context: worker.
 */
void otp_order(struct otp_plan *p);

#endif
