/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source: the files in proto/. Samples and lines had names in the singular before proto 1.9; by
 * name they cannot be confused, so JSON of those versions is read as well.
 */
#include "core/decode/json_schema.h"

#include <string.h>

#define END                                                                                        \
    {                                                                                              \
        .name = NULL                                                                               \
    }
#define ONE(kind_) .kind = OTP_JSON_##kind_
#define MANY(kind_) .kind = OTP_JSON_##kind_, .is_list = true
#define OF(message_) .kind = OTP_JSON_MESSAGE, .message = &(message_)
#define LIST_OF(message_) .kind = OTP_JSON_MESSAGE, .is_list = true, .message = &(message_)

static const struct otp_json_message any_value;
static const struct otp_json_message key_value;

static const struct otp_json_field array_fields[] = {{"values", 1, LIST_OF(any_value)}, END};
static const struct otp_json_message array_value = {array_fields};
static const struct otp_json_field kvlist_fields[] = {{"values", 1, LIST_OF(key_value)}, END};
static const struct otp_json_message kvlist_value = {kvlist_fields};

static const struct otp_json_field any_fields[] = {{"stringValue", 1, ONE(STRING)},
                                                   {"boolValue", 2, ONE(BOOL)},
                                                   {"intValue", 3, ONE(INT)},
                                                   {"doubleValue", 4, ONE(DOUBLE)},
                                                   {"arrayValue", 5, OF(array_value)},
                                                   {"kvlistValue", 6, OF(kvlist_value)},
                                                   {"bytesValue", 7, ONE(BYTES)},
                                                   {"stringValueStrindex", 8, ONE(INT)},
                                                   END};
static const struct otp_json_message any_value = {any_fields};

static const struct otp_json_field key_value_fields[] = {
    {"key", 1, ONE(STRING)}, {"value", 2, OF(any_value)}, {"keyStrindex", 3, ONE(INT)}, END};
static const struct otp_json_message key_value = {key_value_fields};

static const struct otp_json_field resource_fields[] = {
    {"attributes", 1, LIST_OF(key_value)}, {"droppedAttributesCount", 2, ONE(UINT)}, END};
static const struct otp_json_message resource = {resource_fields};

static const struct otp_json_field scope_fields[] = {{"name", 1, ONE(STRING)},
                                                     {"version", 2, ONE(STRING)},
                                                     {"attributes", 3, LIST_OF(key_value)},
                                                     {"droppedAttributesCount", 4, ONE(UINT)},
                                                     END};
static const struct otp_json_message scope = {scope_fields};

static const struct otp_json_field value_type_fields[] = {
    {"typeStrindex", 1, ONE(INT)}, {"unitStrindex", 2, ONE(INT)}, END};
static const struct otp_json_message value_type = {value_type_fields};

static const struct otp_json_field sample_fields[] = {{"stackIndex", 1, ONE(INT)},
                                                      {"attributeIndices", 2, MANY(INT)},
                                                      {"linkIndex", 3, ONE(INT)},
                                                      {"values", 4, MANY(INT)},
                                                      {"timestampsUnixNano", 5, MANY(FIXED64)},
                                                      END};
static const struct otp_json_message sample = {sample_fields};

static const struct otp_json_field profile_fields[] = {{"sampleType", 1, OF(value_type)},
                                                       {"samples", 2, LIST_OF(sample)},
                                                       {"sample", 2, LIST_OF(sample)},
                                                       {"timeUnixNano", 3, ONE(FIXED64)},
                                                       {"durationNano", 4, ONE(UINT)},
                                                       {"periodType", 5, OF(value_type)},
                                                       {"period", 6, ONE(INT)},
                                                       {"profileId", 7, ONE(ID)},
                                                       {"droppedAttributesCount", 8, ONE(UINT)},
                                                       {"originalPayloadFormat", 9, ONE(STRING)},
                                                       {"originalPayload", 10, ONE(BYTES)},
                                                       {"attributeIndices", 11, MANY(INT)},
                                                       END};
static const struct otp_json_message profile = {profile_fields};

static const struct otp_json_field scope_profiles_fields[] = {
    {"scope", 1, OF(scope)}, {"profiles", 2, LIST_OF(profile)}, {"schemaUrl", 3, ONE(STRING)}, END};
static const struct otp_json_message scope_profiles = {scope_profiles_fields};

static const struct otp_json_field resource_profiles_fields[] = {
    {"resource", 1, OF(resource)},
    {"scopeProfiles", 2, LIST_OF(scope_profiles)},
    {"schemaUrl", 3, ONE(STRING)},
    END};
static const struct otp_json_message resource_profiles = {resource_profiles_fields};

static const struct otp_json_field mapping_fields[] = {
    {"memoryStart", 1, ONE(UINT)},      {"memoryLimit", 2, ONE(UINT)},
    {"fileOffset", 3, ONE(UINT)},       {"filenameStrindex", 4, ONE(INT)},
    {"attributeIndices", 5, MANY(INT)}, END};
static const struct otp_json_message mapping = {mapping_fields};

static const struct otp_json_field line_fields[] = {
    {"functionIndex", 1, ONE(INT)}, {"line", 2, ONE(INT)}, {"column", 3, ONE(INT)}, END};
static const struct otp_json_message line = {line_fields};

static const struct otp_json_field location_fields[] = {
    {"mappingIndex", 1, ONE(INT)}, {"address", 2, ONE(UINT)},          {"lines", 3, LIST_OF(line)},
    {"line", 3, LIST_OF(line)},    {"attributeIndices", 4, MANY(INT)}, END};
static const struct otp_json_message location = {location_fields};

static const struct otp_json_field function_fields[] = {{"nameStrindex", 1, ONE(INT)},
                                                        {"systemNameStrindex", 2, ONE(INT)},
                                                        {"filenameStrindex", 3, ONE(INT)},
                                                        {"startLine", 4, ONE(INT)},
                                                        END};
static const struct otp_json_message function = {function_fields};

static const struct otp_json_field link_fields[] = {
    {"traceId", 1, ONE(ID)}, {"spanId", 2, ONE(ID)}, END};
static const struct otp_json_message link_message = {link_fields};

static const struct otp_json_field attribute_fields[] = {
    {"keyStrindex", 1, ONE(INT)}, {"value", 2, OF(any_value)}, {"unitStrindex", 3, ONE(INT)}, END};
static const struct otp_json_message attribute = {attribute_fields};

static const struct otp_json_field stack_fields[] = {{"locationIndices", 1, MANY(INT)}, END};
static const struct otp_json_message stack = {stack_fields};

static const struct otp_json_field dictionary_fields[] = {
    {"mappingTable", 1, LIST_OF(mapping)},   {"locationTable", 2, LIST_OF(location)},
    {"functionTable", 3, LIST_OF(function)}, {"linkTable", 4, LIST_OF(link_message)},
    {"stringTable", 5, MANY(STRING)},        {"attributeTable", 6, LIST_OF(attribute)},
    {"stackTable", 7, LIST_OF(stack)},       END};
static const struct otp_json_message dictionary = {dictionary_fields};

static const struct otp_json_field data_fields[] = {
    {"resourceProfiles", 1, LIST_OF(resource_profiles)}, {"dictionary", 2, OF(dictionary)}, END};
const struct otp_json_message otp_json_profiles_data = {data_fields};

/* Equal letter by letter, where `_x` in the text is `X` in the name. */
static bool is_name(const char *name, struct otp_text text)
{
    size_t i = 0;
    for (; *name != '\0' && i < text.len; name++, i++) {
        char c = text.data[i];
        if (c == '_' && i + 1 < text.len && text.data[i + 1] >= 'a' && text.data[i + 1] <= 'z') {
            c = (char)(text.data[++i] - 'a' + 'A');
        }
        if (c != *name) {
            return false;
        }
    }
    return *name == '\0' && i == text.len;
}

const struct otp_json_field *otp_json_find(const struct otp_json_message *m, struct otp_text name)
{
    for (const struct otp_json_field *f = m->fields; f->name != NULL; f++) {
        /* Most names differ in their first letter; with an underscore it is another one. */
        if (name.len > 0 && name.data[0] != '_' && name.data[0] != f->name[0]) {
            continue;
        }
        if (is_name(f->name, name)) {
            return f;
        }
    }
    return NULL;
}
