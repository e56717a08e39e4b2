/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of OTELPROF_OUTPUT. */
#ifndef OTP_CONF_OUTPUTS_H
#define OTP_CONF_OUTPUTS_H

#include <stdbool.h>

#include "core/base/text.h"
#include "core/conf/conf.h"

/*
 * Reads one output of the list, trimmed. The text of out_output is a part of text. False when it is
 * none of the known kinds or its address makes no sense. Context: any.
 */
bool otp_conf_parse_output(struct otp_text text, struct otp_output *out_output);

/* Does the text begin as an output, or is its first one a word for one? If not, it may be meant as
 * a path. Context: any. */
bool otp_conf_is_output(struct otp_text text);

#endif
