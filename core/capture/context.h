/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sample knows besides its stack: name and id of the thread, numbered. Each distinct pair
 * has one number for ever, so that a sample carries four bytes.
 */
#ifndef OTP_CAPTURE_CONTEXT_H
#define OTP_CAPTURE_CONTEXT_H

#include <stdint.h>

#define OTP_THREAD_NAME_MAX 16  /* as the kernel keeps it, NUL included */
#define OTP_CONTEXT_NAME_MAX 48 /* as the program may give it */

struct otp_context {
    int32_t thread_id; /* 0: not part of it */
    char thread_name[OTP_CONTEXT_NAME_MAX];
};

/* Number of a context, made when new; 0 when the table is full. name may be NULL. Context: hot. */
uint32_t otp_context_number(const char *name, int32_t thread_id);
/* The context of a number; NULL for 0. Context: any. */
const struct otp_context *otp_context_get(uint32_t number);

#endif
