/* SPDX-License-Identifier: Apache-2.0 */
#include "core/conf/outputs.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/conf/parse.h"

#define SOCKET_PATH_MAX 107U /* sun_path without its NUL */

/* One kind of output by how its text begins. */
struct scheme {
    const char *prefix;
    enum otp_output_kind kind;
    bool is_url; /* the text keeps its prefix */
};

static const struct scheme schemes[] = {
    {.prefix = "file:", .kind = OTP_OUTPUT_FILE},
    {.prefix = "unix:", .kind = OTP_OUTPUT_UNIX},
    {.prefix = "tcp:", .kind = OTP_OUTPUT_TCP},
    {.prefix = "http://", .kind = OTP_OUTPUT_HTTP, .is_url = true},
    {.prefix = "https://", .kind = OTP_OUTPUT_HTTPS, .is_url = true},
    {.prefix = "grpc://", .kind = OTP_OUTPUT_GRPC, .is_url = true},
    {.prefix = "grpcs://", .kind = OTP_OUTPUT_GRPC, .is_url = true},
};

bool otp_conf_output_supported(enum otp_output_kind kind)
{
    (void)kind; /* all that can be written down can be done */
    return true;
}

static bool is_word(struct otp_text text, const char *word)
{
    return otp_conf_same_word(text, otp_text_of(word));
}

static bool begins_with(struct otp_text text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && is_word(otp_text_make(text.data, len), prefix);
}

/* HOST:PORT; a host with colons stands in brackets. */
static bool is_host_and_port(struct otp_text text)
{
    struct otp_range ports = {.lowest = 1, .highest = 65535};
    size_t host_len = text.len;
    uint64_t port;

    while (host_len > 0 && text.data[host_len - 1] != ':') {
        host_len--;
    }
    if (host_len < 2) {
        return false;
    }
    host_len--;
    bool is_bracketed = host_len > 2 && text.data[0] == '[' && text.data[host_len - 1] == ']';
    if (!is_bracketed &&
        (memchr(text.data, ':', host_len) != NULL || memchr(text.data, '[', host_len) != NULL)) {
        return false;
    }
    return otp_conf_parse_number(otp_text_make(text.data + host_len + 1, text.len - host_len - 1),
                                 ports, &port);
}

/* Something between the scheme and the first slash. */
static bool has_host(struct otp_text url, size_t prefix_len)
{
    return url.len > prefix_len && url.data[prefix_len] != '/' && url.data[prefix_len] != ':';
}

static bool is_good_rest(const struct scheme *scheme, struct otp_text text, struct otp_text rest)
{
    switch (scheme->kind) {
    case OTP_OUTPUT_FILE:
        return rest.len > 0 && rest.data[rest.len - 1] != '/';
    case OTP_OUTPUT_UNIX:
        return rest.len > 0 && rest.len <= SOCKET_PATH_MAX && !is_word(rest, "@");
    case OTP_OUTPUT_TCP:
        return is_host_and_port(rest);
    case OTP_OUTPUT_NONE:
    case OTP_OUTPUT_OTLP:
        return false;
    case OTP_OUTPUT_HTTP:
    case OTP_OUTPUT_HTTPS:
    case OTP_OUTPUT_GRPC:
    default:
        return has_host(text, strlen(scheme->prefix));
    }
}

bool otp_conf_is_output(struct otp_text text)
{
    struct otp_text rest = text;
    struct otp_text first;

    if (otp_conf_next_item(&rest, &first) && (is_word(first, "none") || is_word(first, "otlp"))) {
        return true;
    }
    for (size_t i = 0; i < OTP_ARRAY_LEN(schemes); i++) {
        if (begins_with(text, schemes[i].prefix)) {
            return true;
        }
    }
    return false;
}

bool otp_conf_parse_output(struct otp_text text, struct otp_output *out_output)
{
    if (is_word(text, "none") || is_word(text, "otlp")) {
        out_output->kind = is_word(text, "none") ? OTP_OUTPUT_NONE : OTP_OUTPUT_OTLP;
        out_output->text = text;
        return true;
    }
    for (size_t i = 0; i < OTP_ARRAY_LEN(schemes); i++) {
        const struct scheme *scheme = &schemes[i];
        size_t prefix_len = strlen(scheme->prefix);
        if (!begins_with(text, scheme->prefix)) {
            continue;
        }
        struct otp_text rest = otp_text_make(text.data + prefix_len, text.len - prefix_len);
        if (scheme->kind == OTP_OUTPUT_TCP && begins_with(rest, "//")) {
            rest = otp_text_make(rest.data + 2, rest.len - 2);
        }
        if (!is_good_rest(scheme, text, rest)) {
            return false;
        }
        out_output->kind = scheme->kind;
        out_output->text = scheme->is_url ? text : rest;
        return true;
    }
    return false;
}
