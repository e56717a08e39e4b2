/* SPDX-License-Identifier: Apache-2.0 */
/* OTEL_RESOURCE_ATTRIBUTES. */
#ifndef OTP_RESOURCE_USER_H
#define OTP_RESOURCE_USER_H

#include <stdbool.h>

#include "core/base/text.h"
#include "core/resource/resource.h"

/*
 * Sets the attributes of a key=value list, percent-encoded, blanks around keys and values cut; of
 * two with the same key the last one counts. telemetry.sdk.* and an empty service.name are passed
 * over. When one is not understood, or when they do not fit, r becomes empty, one line is reported
 * and the answer is false: so this comes first, on an empty r. Source: the resource section of the
 * OpenTelemetry specification. Context: any.
 */
bool otp_resource_add_user(struct otp_resource *r, struct otp_text list, otp_resource_report report,
                           void *arg);

#endif
