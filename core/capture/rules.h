/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that were read before, for all threads. A slot is a key and a value; a reader takes the
 * value only between two equal readings of the key, and a writer makes the key "busy" while it
 * writes (pairs: RULE-KEY). The key holds the unload epoch, so what was learnt before a dlclose is
 * not found after it.
 */
#ifndef OTP_CAPTURE_RULES_H
#define OTP_CAPTURE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/capture/cfi.h"

struct otp_known_rule {
    struct otp_rule rule;
    uint32_t object; /* number of the object that holds the address */
};

/* Sizes the table, which takes at most so many bytes. Before its first use. Context: init. */
void otp_rules_set_limit(size_t bytes);
/* Looks addr up; false: not known. Context: hot. */
bool otp_rules_find(uintptr_t addr, struct otp_known_rule *out);
/* Remembers a rule for addr. Context: hot. */
void otp_rules_add(uintptr_t addr, const struct otp_known_rule *known);

#endif
