/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process context says of thread contexts (OTEP 4947): which kind they are of, and the
 * names of their attributes, which are written as numbers there. The list of names only grows.
 *
 * Context of everything here: worker.
 */
#ifndef OTP_RESOURCE_THREAD_KEYS_H
#define OTP_RESOURCE_THREAD_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/text.h"

/* Reads the process context again. */
void otp_thread_keys_refresh(void);
/* From now on one unknown index may make us read it again. */
void otp_thread_keys_expire(void);
/* The name of attribute idx, for as long as the next refresh; false: it has none. arg is not used.
 */
bool otp_thread_keys_name(void *arg, uint8_t idx, struct otp_text *out);
/* True when the process says that its thread contexts are of a kind that we do not know. */
bool otp_thread_keys_are_foreign(void);

#endif
