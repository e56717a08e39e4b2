/* SPDX-License-Identifier: Apache-2.0 */
/* AnyValue and KeyValue on the wire, for those who read what the model keeps encoded. Source:
 * proto/otlp_common.proto. */
#ifndef OTP_DECODE_ANY_VALUE_H
#define OTP_DECODE_ANY_VALUE_H

#include "core/decode/model.h"
#include "core/decode/wire.h"

/* Numbers of KeyValue's fields; those of AnyValue's are enum otp_value_kind. */
enum { OTP_KEYVALUE_KEY = 1, OTP_KEYVALUE_VALUE, OTP_KEYVALUE_KEY_STRINDEX };

/* How the field of that number is encoded in AnyValue. Context: any. */
static inline enum otp_wire_type otp_value_wire_type(uint32_t kind)
{
    if (kind == OTP_VALUE_DOUBLE) {
        return OTP_WIRE_I64;
    }
    return kind == OTP_VALUE_BOOL || kind == OTP_VALUE_INT || kind == OTP_VALUE_STRINDEX
               ? OTP_WIRE_VARINT
               : OTP_WIRE_LEN;
}

#endif
