/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/headers.h"

#include <string.h>

#include "core/base/annot.h"

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

/* A token of RFC 9110, 5.6.2; made lower case in place. */
static bool make_name(char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool is_upper = s[i] >= 'A' && s[i] <= 'Z';
        s[i] = is_upper ? (char)(s[i] | 0x20) : s[i];
        bool is_alnum = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9');
        if (!is_alnum && (s[i] == '\0' || strchr("!#$%&'*+-.^_`|~", s[i]) == NULL)) {
            return false;
        }
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

static bool add(struct otp_headers *h, struct otp_text entry, size_t *used)
{
    const char *equals = memchr(entry.data, '=', entry.len);
    size_t name_len;
    size_t value_len;

    if (equals == NULL || h->count == OTP_HEADERS_MAX) {
        return false;
    }
    struct otp_text name = otp_text_trim(otp_text_make(entry.data, (size_t)(equals - entry.data)));
    struct otp_text value =
        otp_text_trim(otp_text_make(equals + 1, entry.len - (size_t)(equals - entry.data) - 1));
    char *to = h->store + *used;
    if (!decode(name, to, &name_len) || !make_name(to, name_len) ||
        is_reserved(otp_text_make(to, name_len)) || !decode(value, to + name_len, &value_len) ||
        !is_value(to + name_len, value_len)) {
        return false;
    }
    h->items[h->count].name = otp_text_make(to, name_len);
    h->items[h->count].value = otp_text_trim(otp_text_make(to + name_len, value_len));
    h->count++;
    *used += name_len + value_len;
    return true;
}

bool otp_headers_parse(struct otp_headers *h, struct otp_heap *heap, struct otp_text list)
{
    size_t used = 0;
    size_t begin = 0;

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
        if (entry.len > 0 && !add(h, entry, &used)) {
            h->refused++;
        }
        begin = end + 1;
    }
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
