/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute values as they were read, as a visitor wants to be told them. */
#ifndef OTP_OTELPROF_ATTR_OF_H
#define OTP_OTELPROF_ATTR_OF_H

#include <stdbool.h>

#include "core/decode/model.h"
#include "core/encode/pool.h"
#include "core/encode/visitor.h"

/*
 * Fills kind and value of *out (key and unit stay as they are). Texts are borrowed from the
 * message, items of lists and maps come from the arena. A part that is nested deeper than a visitor
 * takes becomes empty, and *out_cut is set. False: no memory.
 */
bool otp_attr_of_value(struct otp_arena *arena, const struct otp_profiles *m,
                       const struct otp_value *v, struct otp_attr *out, bool *out_cut);
/* The attributes of a resource or scope, in an array of the arena; NULL: no memory. */
struct otp_attr *otp_attrs_of_keyvalues(struct otp_arena *arena, const struct otp_profiles *m,
                                        struct otp_slice keyvalues, bool *out_cut);
/* An attribute of the dictionary with its key and unit. */
bool otp_attr_of_entry(struct otp_arena *arena, const struct otp_profiles *m, int32_t index,
                       struct otp_attr *out, bool *out_cut);
/* True when both say the same, keys and units included; order inside maps counts. */
bool otp_attr_equal(const struct otp_attr *a, const struct otp_attr *b);

#endif
