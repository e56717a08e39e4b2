/* SPDX-License-Identifier: Apache-2.0 */
#include "core/resource/user.h"

#include <string.h>

#include "core/base/fmt.h"
#include "core/base/utf8.h"
#include "core/resource/store.h"

#define SHOWN_BYTES 64U
/* What is left over is for the attributes that are found out. */
#define USER_ATTRS_MAX 96U
#define USER_BYTES_MAX ((size_t)20 << 10)
#define RESERVED_PREFIX "telemetry.sdk."

/* Cuts the next non-empty item off the list; false at its end. */
static bool next_item(struct otp_text *list, struct otp_text *out)
{
    while (list->len > 0) {
        const char *comma = memchr(list->data, ',', list->len);
        size_t len = comma == NULL ? list->len : (size_t)(comma - list->data);
        size_t taken = comma == NULL ? len : len + 1;
        *out = otp_text_trim(otp_text_make(list->data, len));
        *list = otp_text_make(list->data + taken, list->len - taken);
        if (out->len > 0) {
            return true;
        }
    }
    return false;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Appends the decoded text to the store. */
static bool decode(struct otp_resource *r, struct otp_text text, struct otp_text *out)
{
    char *to = r->store + r->used;
    size_t len = 0;

    if (text.len > sizeof(r->store) - r->used) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '%') {
            if (text.len - i < 3 || hex_value(text.data[i + 1]) < 0 ||
                hex_value(text.data[i + 2]) < 0) {
                return false;
            }
            c = (char)(hex_value(text.data[i + 1]) << 4 | hex_value(text.data[i + 2]));
            i += 2;
        }
        to[len++] = c;
    }
    *out = otp_text_make(to, len);
    r->used += len;
    return memchr(to, '\0', len) == NULL && otp_utf8_is_valid(*out);
}

static bool is_reserved(struct otp_text key, struct otp_text value)
{
    static const char service[] = "service.name";
    size_t prefix = strlen(RESERVED_PREFIX);
    return (key.len >= prefix && memcmp(key.data, RESERVED_PREFIX, prefix) == 0) ||
           (value.len == 0 && key.len == sizeof(service) - 1 &&
            memcmp(key.data, service, key.len) == 0);
}

/* Sets the attribute of one item; NULL, or what is wrong with it. */
static const char *add_item(struct otp_resource *r, struct otp_text item)
{
    const char *equals = memchr(item.data, '=', item.len);
    struct otp_text key;
    struct otp_text value;

    if (equals == NULL) {
        return "has no =";
    }
    size_t key_len = (size_t)(equals - item.data);
    if (!decode(r, otp_text_trim(otp_text_make(item.data, key_len)), &key) || key.len == 0 ||
        !decode(r, otp_text_trim(otp_text_make(equals + 1, item.len - key_len - 1)), &value)) {
        return "is not understood";
    }
    if (is_reserved(key, value)) {
        return NULL;
    }
    struct otp_resource_attr *a = otp_resource_add(r, key);
    if (a == NULL || r->count > USER_ATTRS_MAX || r->used > USER_BYTES_MAX) {
        return "is one too many";
    }
    a->text = value;
    return NULL;
}

static void complain(otp_resource_report report, void *arg, struct otp_text item, const char *why)
{
    struct otp_line line = {0};
    otp_line_str(&line, "OTEL_RESOURCE_ATTRIBUTES: \"");
    otp_utf8_show(&line, item, SHOWN_BYTES);
    otp_line_str(&line, "\" ");
    otp_line_str(&line, why);
    otp_line_str(&line, " (allowed: key=value, with commas between them, percent-encoded), using"
                        " none of the attributes");
    if (report != NULL) {
        report(arg, line.text, line.len);
    }
}

bool otp_resource_add_user(struct otp_resource *r, struct otp_text list, otp_resource_report report,
                           void *arg)
{
    struct otp_text item;

    while (next_item(&list, &item)) {
        const char *why = add_item(r, item);
        if (why != NULL) {
            complain(report, arg, item, why);
            r->count = 0;
            r->used = 0;
            return false;
        }
    }
    return true;
}
