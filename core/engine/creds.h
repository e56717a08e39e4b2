/* SPDX-License-Identifier: Apache-2.0 */
/* The worker is no thread of libc's, so setuid and its like do not reach it: it follows by itself.
 */
#ifndef OTP_ENGINE_CREDS_H
#define OTP_ENGINE_CREDS_H

/*
 * Takes on the user, groups and group of the process's first thread, if they differ: a thread of a
 * process that has dropped its privileges must not keep them. Context: worker.
 */
void otp_creds_follow(void);

#endif
