/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/decode_help.h"

#include <stdlib.h>
#include <string.h>

void dec_free(struct dec_bytes *b)
{
    free(b->data);
    memset(b, 0, sizeof(*b));
}

void dec_raw(struct dec_bytes *b, const void *data, size_t len)
{
    if (b->capacity - b->len < len) {
        b->capacity = b->capacity * 2 + len + 64;
        b->data = realloc(b->data, b->capacity);
        if (b->data == NULL) {
            abort();
        }
    }
    if (len > 0) {
        memcpy(b->data + b->len, data, len);
        b->len += len;
    }
}

void dec_varint(struct dec_bytes *b, uint64_t v)
{
    do {
        uint8_t byte = (uint8_t)(v & 0x7fU);
        v >>= 7;
        byte = v > 0 ? byte | 0x80 : byte;
        dec_raw(b, &byte, 1);
    } while (v > 0);
}

void dec_number(struct dec_bytes *b, uint32_t field, uint64_t v)
{
    dec_varint(b, (uint64_t)field << 3);
    dec_varint(b, v);
}

void dec_fixed64(struct dec_bytes *b, uint32_t field, uint64_t v)
{
    dec_varint(b, (uint64_t)field << 3 | 1);
    for (int i = 0; i < 8; i++) {
        uint8_t byte = (uint8_t)(v >> (8 * i));
        dec_raw(b, &byte, 1);
    }
}

void dec_field(struct dec_bytes *b, uint32_t field, const void *data, size_t len)
{
    dec_varint(b, (uint64_t)field << 3 | 2);
    dec_varint(b, len);
    dec_raw(b, data, len);
}

void dec_text(struct dec_bytes *b, uint32_t field, const char *text)
{
    dec_field(b, field, text, strlen(text));
}

void dec_message(struct dec_bytes *b, uint32_t field, struct dec_bytes *nested)
{
    dec_field(b, field, nested->data, nested->len);
    dec_free(nested);
}

void dec_packed(struct dec_bytes *b, uint32_t field, const uint64_t *v, size_t count)
{
    struct dec_bytes list = {.data = NULL};

    for (size_t i = 0; i < count; i++) {
        dec_varint(&list, v[i]);
    }
    dec_message(b, field, &list);
}

/* A list of one number. */
static void add_list(struct dec_bytes *b, uint32_t field, uint64_t v, bool unpacked)
{
    if (unpacked) {
        dec_number(b, field, v);
    } else {
        dec_packed(b, field, &v, 1);
    }
}

static void add_time(struct dec_bytes *b, uint64_t v, bool unpacked)
{
    struct dec_bytes list = {.data = NULL};

    if (unpacked) {
        dec_fixed64(b, 5, v);
        return;
    }
    dec_fixed64(&list, 1, v);
    dec_field(b, 5, list.data + 1, 8); /* without the tag */
    dec_free(&list);
}

static struct dec_bytes sample(const struct dec_shape *s, uint32_t i)
{
    bool is_old = s->version != OTP_PROTO_1_10;
    struct dec_bytes b = {.data = NULL};

    dec_number(&b, 1, i + 1);
    if (s->with_values && is_old) {
        add_list(&b, 2, 100 + i, s->unpacked);
    }
    if (s->with_attrs) {
        add_list(&b, is_old ? 3 : 2, 1, s->unpacked);
    }
    if (s->with_link) {
        dec_number(&b, is_old ? 4 : 3, 1);
    }
    if (s->with_values && !is_old) {
        add_list(&b, 4, 100 + i, s->unpacked);
    }
    if (s->with_times) {
        add_time(&b, DEC_TIME + i, s->unpacked);
    }
    return b;
}

static struct dec_bytes profile(const struct dec_shape *s)
{
    uint32_t shift = s->version == OTP_PROTO_1_8 ? 1 : 0;
    struct dec_bytes b = {.data = NULL};
    struct dec_bytes types = {.data = NULL};
    uint64_t attr = 2;

    dec_number(&types, 1, 1);
    dec_number(&types, 2, 2);
    dec_message(&b, 1, &types);
    for (uint32_t i = 0; i < DEC_SAMPLES; i++) {
        struct dec_bytes one = sample(s, i);
        dec_message(&b, 2, &one);
    }
    dec_fixed64(&b, 3, DEC_TIME);
    dec_number(&b, 4, DEC_DURATION);
    dec_number(&b, 6, 10000000);
    dec_text(&b, 7 + shift, "0123456789abcdef");
    dec_number(&b, 8 + shift, 5);
    dec_packed(&b, 11 + shift, &attr, 1);
    return b;
}

static void add_attribute(struct dec_bytes *dictionary, uint32_t key, const char *text)
{
    struct dec_bytes b = {.data = NULL};
    struct dec_bytes value = {.data = NULL};

    dec_number(&b, 1, key);
    dec_text(&value, 1, text);
    dec_message(&b, 2, &value);
    dec_message(dictionary, 6, &b);
}

static void add_code(struct dec_bytes *dictionary)
{
    struct dec_bytes mapping = {.data = NULL};

    dec_number(&mapping, 1, 0x1000);
    dec_number(&mapping, 2, 0x9000);
    dec_number(&mapping, 4, 5);
    dec_field(dictionary, 1, "", 0);
    dec_message(dictionary, 1, &mapping);
    dec_field(dictionary, 2, "", 0);
    dec_field(dictionary, 3, "", 0);
    dec_field(dictionary, 7, "", 0);
    for (uint32_t i = 0; i < DEC_SAMPLES; i++) {
        struct dec_bytes location = {.data = NULL};
        struct dec_bytes line = {.data = NULL};
        struct dec_bytes function = {.data = NULL};
        struct dec_bytes stack = {.data = NULL};
        uint64_t frames[2] = {i + 1, 1};
        dec_number(&line, 1, i + 1);
        dec_number(&line, 2, 10 + i);
        dec_number(&location, 1, 1);
        dec_number(&location, 2, 0x2000 + i);
        dec_message(&location, 3, &line);
        dec_message(dictionary, 2, &location);
        dec_number(&function, 1, 6 + i);
        dec_message(dictionary, 3, &function);
        dec_packed(&stack, 1, frames, 2);
        dec_message(dictionary, 7, &stack);
    }
}

static struct dec_bytes dictionary(void)
{
    static const char *const strings[] = {
        "",     "cpu",  "nanoseconds", "thread.name", "note", "/usr/bin/program",
        "main", "work", "rest"};
    struct dec_bytes b = {.data = NULL};
    struct dec_bytes link = {.data = NULL};

    add_code(&b);
    dec_text(&link, 1, "0123456789abcdef");
    dec_text(&link, 2, "01234567");
    dec_field(&b, 4, "", 0);
    dec_message(&b, 4, &link);
    for (size_t i = 0; i < OTP_ARRAY_LEN(strings); i++) {
        dec_text(&b, 5, strings[i]);
    }
    dec_field(&b, 6, "", 0);
    add_attribute(&b, 3, "worker");
    add_attribute(&b, 4, "a note");
    return b;
}

struct dec_bytes dec_profile(const struct dec_shape *shape)
{
    struct dec_bytes all = {.data = NULL};
    struct dec_bytes resource_profiles = {.data = NULL};
    struct dec_bytes scope_profiles = {.data = NULL};
    struct dec_bytes resource = {.data = NULL};
    struct dec_bytes keyvalue = {.data = NULL};
    struct dec_bytes value = {.data = NULL};
    struct dec_bytes scope = {.data = NULL};
    struct dec_bytes one = profile(shape);
    struct dec_bytes tables = dictionary();

    dec_text(&scope, 1, "tester");
    dec_message(&scope_profiles, 1, &scope);
    dec_message(&scope_profiles, 2, &one);
    dec_text(&value, 1, "a service");
    dec_text(&keyvalue, 1, "service.name");
    dec_message(&keyvalue, 2, &value);
    dec_message(&resource, 1, &keyvalue);
    dec_message(&resource_profiles, 1, &resource);
    dec_message(&resource_profiles, 2, &scope_profiles);
    if (shape->dictionary_last) {
        dec_message(&all, 1, &resource_profiles);
        dec_message(&all, 2, &tables);
    } else {
        dec_message(&all, 2, &tables);
        dec_message(&all, 1, &resource_profiles);
    }
    return all;
}

enum otp_status dec_add(struct otp_profile_set *set, const void *data, size_t len, bool with_notes,
                        struct otp_input_fault *out_fault)
{
    struct otp_input in = {.name = "test",
                           .bytes = malloc(len > 0 ? len : 1),
                           .size = len,
                           .with_notes = with_notes,
                           .with_verify = true};

    if (in.bytes == NULL) {
        abort();
    }
    memcpy(in.bytes, data, len);
    return otp_profile_set_add(set, &in, out_fault);
}
