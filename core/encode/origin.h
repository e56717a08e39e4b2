/* SPDX-License-Identifier: Apache-2.0 */
/* What of a resource tells the process. */
#ifndef OTP_ENCODE_ORIGIN_H
#define OTP_ENCODE_ORIGIN_H

#include <stddef.h>

#include "core/base/fmt.h"
#include "core/base/origin.h"
#include "core/encode/visitor.h"

/* The fields that are attributes of a resource; of equal keys the last one counts, and one of
 * another kind is none. Texts are borrowed from attrs and pid. Context: any. */
void otp_origin_of(const struct otp_attr *attrs, size_t count, char pid[OTP_FMT_NUMBER_MAX],
                   struct otp_origin *out);

#endif
