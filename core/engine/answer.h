/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to a request over the control socket: lines, first "ok" or "error: REASON", then for
 * status one "GROUP.NAME VALUE" each.
 */
#ifndef OTP_ENGINE_ANSWER_H
#define OTP_ENGINE_ANSWER_H

#include <stddef.h>

#include "core/base/text.h"
#include "core/conf/command.h"

struct otp_reply {
    size_t len;
    char text[OTP_COMMAND_ANSWER_MAX];
};

/* Does what is asked and writes the answer. Context: worker. */
void otp_answer(struct otp_text request, struct otp_reply *reply);

#endif
