/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical form of an attribute value: its AnyValue in protobuf, with clean texts, map entries
 * in the order of their keys' bytes and each key once. Equal values have equal bytes.
 */
#ifndef OTP_ENCODE_VALUE_H
#define OTP_ENCODE_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/encode/visitor.h"

struct otp_value_limits {
    struct otp_heap *heap; /* for working space */
    size_t max_string;     /* bytes of each text in it */
};

/*
 * Appends the content of a's AnyValue to out (key and unit of a do not count). Scalars come out as
 * they are. OTP_NO_MEMORY; OTP_TOO_LARGE when nested deeper than OTP_ATTR_MAX_DEPTH. Context:
 * worker.
 */
enum otp_status otp_value_encode(const struct otp_value_limits *limits, const struct otp_attr *a,
                                 struct otp_buf *out);

/*
 * The next item of a list in its canonical form; *pos is 0 at first. *out gets text or number; an
 * item that is neither comes as OTP_ATTR_EMPTY. False at the end, and for a value that is no list.
 * Context: worker.
 */
bool otp_value_next_item(const void *value, size_t len, size_t *pos, struct otp_attr *out);

#endif
