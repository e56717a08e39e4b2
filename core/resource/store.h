/* SPDX-License-Identifier: Apache-2.0 */
/* Adding attributes to a resource. Context of everything here: any. */
#ifndef OTP_RESOURCE_STORE_H
#define OTP_RESOURCE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/text.h"
#include "core/resource/resource.h"

/* The attribute of that key, a new empty text when there is none; NULL: full. Borrows the key. */
struct otp_resource_attr *otp_resource_add(struct otp_resource *r, struct otp_text key);
/* Takes the attribute of that key out, when there is one. */
void otp_resource_remove(struct otp_resource *r, const char *key);
/*
 * Sets a text, copied and made valid UTF-8, unless the value is empty, the key is there already or
 * there is no room. The key is borrowed.
 */
void otp_resource_set(struct otp_resource *r, const char *key, struct otp_text value);
/* The same for a number. */
void otp_resource_set_int(struct otp_resource *r, const char *key, int64_t value);

#endif
