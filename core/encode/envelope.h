/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around the profiles of a message: resource and instrumentation scope. */
#ifndef OTP_ENCODE_ENVELOPE_H
#define OTP_ENCODE_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/base/text.h"
#include "core/encode/dict.h"
#include "core/encode/envelope_options.h"
#include "core/encode/visitor.h"

/* Resource and scope, interned. */
struct otp_envelope {
    uint32_t *resource_attrs; /* attrs, each key once */
    size_t resource_attr_count;
    uint32_t *scope_attrs;
    size_t scope_attr_count;
    uint32_t resource_schema_url; /* strings, as the following */
    uint32_t scope_name;
    uint32_t scope_version;
    uint32_t scope_schema_url;
};

/* Fills e. After an error otp_envelope_fini may be called. OTP_NO_MEMORY, OTP_FULL; OTP_TOO_LARGE
 * for an attribute nested too deeply. Context: worker. */
enum otp_status otp_envelope_init(struct otp_envelope *e, struct otp_dict *d,
                                  const struct otp_envelope_options *o);
/* Frees the arrays, which came from d's heap. */
void otp_envelope_fini(struct otp_envelope *e, struct otp_dict *d);
/* True when both name the same resource, in the same words and order. */
bool otp_envelope_same_resource(const struct otp_envelope *a, const struct otp_envelope *b);

/*
 * Numbers of strings by entry of the store's pool, for attributes that refer to the string table;
 * NULL: attributes have plain keys and values, which not all receivers of today could do without.
 */
typedef uint32_t (*otp_envelope_number)(const void *arg, uint32_t string);
struct otp_envelope_writer {
    const struct otp_dict *dict;
    struct otp_buf *out;
    otp_envelope_number number;
    const void *number_arg;
};

/* Append the fields of a Resource, and of an InstrumentationScope. */
void otp_envelope_write_resource(const struct otp_envelope_writer *w, const struct otp_envelope *e);
void otp_envelope_write_scope(const struct otp_envelope_writer *w, const struct otp_envelope *e);
/* Appends a text field unless the string is empty. */
void otp_envelope_write_text(const struct otp_envelope_writer *w, uint32_t field, uint32_t string);
/* Appends a KeyValue field for each attribute. */
void otp_envelope_write_attrs(const struct otp_envelope_writer *w, uint32_t field,
                              const uint32_t *attrs, size_t count);
/* Appends an attribute's AnyValue as a field. */
void otp_envelope_write_value(const struct otp_envelope_writer *w, uint32_t field, uint32_t attr);

#endif
