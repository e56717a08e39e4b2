/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/headers.h"

#include <string.h>

#include "core/base/annot.h"
#include "core/base/utf8.h"

#define SHOWN_NAME_MAX 32U
#define SHOWN_REFUSALS 4U

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Writes text percent-decoded to out; false when a sequence is broken. */
static bool decode(struct otp_text text, char *out, size_t *out_len)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '%') {
            int high = i + 2 < text.len ? hex_value(text.data[i + 1]) : -1;
            int low = high >= 0 ? hex_value(text.data[i + 2]) : -1;
            if (low < 0) {
                return false;
            }
            c = (char)(high << 4 | low);
            i += 2;
        }
        out[len++] = c;
    }
    *out_len = len;
    return true;
}

/* Of a token: RFC 9110, 5.6.2. */
static bool is_name_char(char c)
{
    char lower = (char)(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

/* Made lower case in place. */
static bool make_name(char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!is_name_char(s[i])) {
            return false;
        }
        s[i] = s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] | 0x20) : s[i];
    }
    return len > 0;
}

static bool is_value(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];
        if ((c < ' ' && c != '\t') || c == 0x7f) {
            return false;
        }
    }
    return true;
}

static bool is_reserved(struct otp_text name)
{
    static const char *const names[] = {
        "connection",       "content-encoding",
        "content-length",   "content-type",
        "expect",           "host",
        "keep-alive",       "te",
        "trailer",          "transfer-encoding",
        "upgrade",          "user-agent",
        "grpc-encoding",    "grpc-timeout",
        "proxy-connection",
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(names); i++) {
        if (name.len == strlen(names[i]) && memcmp(name.data, names[i], name.len) == 0) {
            return true;
        }
    }
    return false;
}

/* An entry before and behind its first "="; without one all of it is value. */
static void split(struct otp_text entry, struct otp_text *name, struct otp_text *value)
{
    const char *equals = memchr(entry.data, '=', entry.len);
    size_t len = equals == NULL ? 0 : (size_t)(equals - entry.data);
    size_t skipped = equals == NULL ? 0 : len + 1;
    *name = otp_text_trim(otp_text_make(entry.data, len));
    *value = otp_text_trim(otp_text_make(entry.data + skipped, entry.len - skipped));
}

/* NULL, or why the entry cannot be used. */
static const char *add(struct otp_headers *h, struct otp_text entry, size_t *used)
{
    struct otp_text name;
    struct otp_text value;
    size_t name_len;
    size_t value_len;

    if (memchr(entry.data, '=', entry.len) == NULL) {
        return "it has no =";
    }
    if (h->count == OTP_HEADERS_MAX) {
        return "there are too many";
    }
    split(entry, &name, &value);
    char *to = h->store + *used;
    if (!decode(name, to, &name_len) || !make_name(to, name_len)) {
        return "that is no name of a header";
    }
    if (is_reserved(otp_text_make(to, name_len))) {
        return "it belongs to the request itself";
    }
    if (!decode(value, to + name_len, &value_len)) {
        return "the value is not percent-encoded";
    }
    if (!is_value(to + name_len, value_len)) {
        return "the value has a character that no header may have";
    }
    h->items[h->count].name = otp_text_make(to, name_len);
    h->items[h->count].value = otp_text_trim(otp_text_make(to + name_len, value_len));
    h->count++;
    *used += name_len + value_len;
    return NULL;
}

/*
 * Of a name what is like one, where a colon or a blank ends it: "Authorization: Bearer x==" has all
 * of the secret before its "=". What ends otherwise may itself be a piece of a secret.
 */
static void refuse(struct otp_headers *h, size_t number, struct otp_text entry, const char *reason,
                   struct otp_line *why)
{
    struct otp_text name;
    struct otp_text value;
    split(entry, &name, &value);
    size_t len = 0;
    while (len < name.len && is_name_char(name.data[len])) {
        len++;
    }
    if (len < name.len && name.data[len] != ':' && name.data[len] != ' ') {
        len = 0;
    }
    h->refused++;
    if (h->refused > SHOWN_REFUSALS) {
        return;
    }
    otp_line_str(why, h->refused > 1 ? "; header " : "header ");
    otp_line_u64(why, number);
    if (len > 0) {
        otp_line_str(why, " \"");
        otp_utf8_show(why, otp_text_make(name.data, len), SHOWN_NAME_MAX);
        otp_line_str(why, len < name.len ? "...\"" : "\"");
    }
    otp_line_str(why, " is ignored: ");
    otp_line_str(why, reason);
}

static void tell_rest(const struct otp_headers *h, struct otp_line *why)
{
    if (h->refused > SHOWN_REFUSALS) {
        otp_line_str(why, "; so are others: ");
        otp_line_u64(why, h->refused - SHOWN_REFUSALS);
    }
}

bool otp_headers_parse(struct otp_headers *h, struct otp_heap *heap, struct otp_text list,
                       struct otp_line *why)
{
    size_t used = 0;
    size_t begin = 0;
    size_t number = 0;

    memset(h, 0, sizeof(*h));
    h->heap = heap;
    if (list.len == 0) {
        return true;
    }
    h->store = otp_heap_alloc(heap, list.len);
    h->store_len = list.len;
    while (h->store != NULL && begin <= list.len) {
        size_t end = begin;
        while (end < list.len && list.data[end] != ',') {
            end++;
        }
        struct otp_text entry = otp_text_trim(otp_text_make(list.data + begin, end - begin));
        const char *reason = entry.len > 0 ? add(h, entry, &used) : NULL;
        number++;
        if (reason != NULL) {
            refuse(h, number, entry, reason, why);
        }
        begin = end + 1;
    }
    tell_rest(h, why);
    return h->store != NULL;
}

void otp_headers_fini(struct otp_headers *h)
{
    if (h->store != NULL) {
        memset(h->store, 0, h->store_len);
        __asm__ volatile("" : : "r"(h->store) : "memory"); /* the clearing may not be left out */
        otp_heap_free(h->heap, h->store);
    }
    memset(h, 0, sizeof(*h));
}
