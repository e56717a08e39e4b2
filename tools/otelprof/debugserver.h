/* SPDX-License-Identifier: Apache-2.0 */
/* Files from debuginfod servers, by libdebuginfod if it is installed. */
#ifndef OTP_OTELPROF_DEBUGSERVER_H
#define OTP_OTELPROF_DEBUGSERVER_H

#include <stdbool.h>
#include <stddef.h>

struct otp_debugserver;

/* What was told about servers: DEBUGINFOD_URLS. */
bool otp_debugserver_is_wanted(void);
/* NULL: *out_why says why there is none. */
struct otp_debugserver *otp_debugserver_open(const char **out_why);
void otp_debugserver_close(struct otp_debugserver *s);
/*
 * Path of the debug information, else of the executable of that build id, in the library's cache:
 * the caller's, from malloc. NULL: no server has it; *out_status is what the library said,
 * negative.
 */
char *otp_debugserver_fetch(struct otp_debugserver *s, const unsigned char *build_id, size_t len,
                            int *out_status);

#endif
