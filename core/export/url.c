/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/url.h"

#include <stddef.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/fmt.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool begins_with(struct otp_text text, const char *prefix)
{
    size_t len = strlen(prefix);
    for (size_t i = 0; i < len; i++) {
        if (i >= text.len || lower(text.data[i]) != prefix[i]) {
            return false;
        }
    }
    return true;
}

static bool is_clean(struct otp_text text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c <= ' ' || c >= 0x7f || strchr("\"<>\\^`{|}", c) != NULL) {
            return false;
        }
    }
    return true;
}

/* HOST, HOST:PORT, [HOST] or [HOST]:PORT. */
static bool split_authority(struct otp_text text, struct otp_url *out)
{
    const char *bracket =
        text.len > 0 && text.data[0] == '[' ? memchr(text.data, ']', text.len) : NULL;
    size_t host_len = 0;
    uint64_t port;

    out->authority = text;
    if (bracket != NULL) {
        host_len = (size_t)(bracket - text.data) + 1;
        out->host = otp_text_make(text.data + 1, host_len - 2);
    } else {
        while (host_len < text.len && text.data[host_len] != ':') {
            host_len++;
        }
        out->host = otp_text_make(text.data, host_len);
    }
    struct otp_text rest = otp_text_make(text.data + host_len, text.len - host_len);
    out->port = 0;
    if (out->host.len == 0 || rest.len == 0) {
        return out->host.len > 0;
    }
    if (rest.data[0] != ':' || !otp_fmt_parse_u64(rest.data + 1, rest.len - 1, &port) ||
        port == 0 || port > UINT16_MAX) {
        return false;
    }
    out->port = (uint16_t)port;
    return true;
}

bool otp_url_parse(struct otp_text text, struct otp_url *out)
{
    static const struct {
        const char *prefix;
        enum otp_scheme scheme;
    } schemes[] = {
        {"http://", OTP_SCHEME_HTTP},
        {"https://", OTP_SCHEME_HTTPS},
        {"grpc://", OTP_SCHEME_GRPC},
        {"grpcs://", OTP_SCHEME_GRPCS},
    };
    size_t begin = 0;

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < OTP_ARRAY_LEN(schemes); i++) {
        if (begins_with(text, schemes[i].prefix)) {
            begin = strlen(schemes[i].prefix);
            out->scheme = schemes[i].scheme;
        }
    }
    size_t end = begin;
    while (end < text.len && text.data[end] != '/' && text.data[end] != '?' &&
           text.data[end] != '#') {
        end++;
    }
    struct otp_text authority = otp_text_make(text.data + begin, end - begin);
    size_t path_end = end;
    while (path_end < text.len && text.data[path_end] != '#') {
        path_end++;
    }
    out->path = otp_text_make(text.data + end, path_end - end);
    return is_clean(text) && memchr(authority.data, '@', authority.len) == NULL &&
           split_authority(authority, out);
}
