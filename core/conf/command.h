/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be asked over the control socket, as text: start, stop, flush, status, set NAME=VALUE.
 * Library and tool share it.
 */
#ifndef OTP_CONF_COMMAND_H
#define OTP_CONF_COMMAND_H

#include <stdbool.h>

#include "core/base/fmt.h"
#include "core/base/text.h"
#include "core/conf/conf.h"

/* Name of the socket in the abstract namespace; the process's id follows, and for the second to the
 * eighth name ".1" to ".7". */
#define OTP_COMMAND_SOCKET "otelprof."
#define OTP_COMMAND_SOCKETS 8
/* The longest request and the longest answer, in bytes. */
#define OTP_COMMAND_MAX 256U
#define OTP_COMMAND_ANSWER_MAX 8192U

enum otp_command_kind {
    OTP_COMMAND_START,
    OTP_COMMAND_STOP,
    OTP_COMMAND_FLUSH,
    OTP_COMMAND_STATUS,
    OTP_COMMAND_SET
};

/*
 * Understands a request, whatever its bytes are. A setting is stored in conf, which is untouched
 * otherwise. False: *out_why says what is wrong. Context: any.
 */
bool otp_command_parse(struct otp_text request, struct otp_conf *conf, enum otp_command_kind *out,
                       const char **out_why);
/* Adds a request to a line of the log. Context: any. */
void otp_command_show(struct otp_line *line, struct otp_text request);

#endif
