/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of OTLP Profiles by the names of their fields in JSON. For json*.c only. */
#ifndef OTP_DECODE_JSON_SCHEMA_H
#define OTP_DECODE_JSON_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"

enum otp_json_kind {
    OTP_JSON_STRING,
    OTP_JSON_BYTES, /* base64 */
    OTP_JSON_ID,    /* hex; base64 is understood too */
    OTP_JSON_BOOL,
    OTP_JSON_INT,  /* signed, 64 bits */
    OTP_JSON_UINT, /* 64 bits */
    OTP_JSON_FIXED64,
    OTP_JSON_DOUBLE,
    OTP_JSON_MESSAGE
};

struct otp_json_message;

struct otp_json_field {
    const char *name;
    uint32_t number;
    enum otp_json_kind kind;
    bool is_list;
    const struct otp_json_message *message; /* OTP_JSON_MESSAGE */
};

struct otp_json_message {
    const struct otp_json_field *fields; /* up to one without a name */
};

extern const struct otp_json_message otp_json_profiles_data;

/* The field of that name, in lowerCamelCase or as in the .proto file; NULL: there is none. */
const struct otp_json_field *otp_json_find(const struct otp_json_message *m, struct otp_text name);

#endif
