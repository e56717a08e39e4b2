/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around the profiles of a message, as a teller says it. */
#ifndef OTP_ENCODE_ENVELOPE_OPTIONS_H
#define OTP_ENCODE_ENVELOPE_OPTIONS_H

#include <stddef.h>

#include "core/base/text.h"
#include "core/encode/visitor.h"

/* Resource and instrumentation scope. All may be empty. Units of attributes have no place there;
 * the last of equal keys counts. */
struct otp_envelope_options {
    const struct otp_attr *resource_attrs;
    size_t resource_attr_count;
    struct otp_text resource_schema_url;
    struct otp_text scope_name;
    struct otp_text scope_version;
    const struct otp_attr *scope_attrs;
    size_t scope_attr_count;
    struct otp_text scope_schema_url;
};

#endif
