/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/outcome.h"

#include <string.h>

#include "core/base/fmt.h"
#include "core/base/reader.h"
#include "core/base/utf8.h"

#define SECOND_NS UINT64_C(1000000000)
#define WAIT_MAX_S UINT64_C(86400)
#define VARINT_BYTES_MAX 10U

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* One field of a protobuf message. */
struct field {
    uint64_t number;
    uint64_t value;       /* of a varint */
    struct otp_text text; /* of bytes */
};

static bool read_varint(struct otp_reader *r, uint64_t *out)
{
    *out = 0;
    for (unsigned i = 0; i < VARINT_BYTES_MAX; i++) {
        uint8_t byte = otp_reader_u8(r);
        *out |= (uint64_t)(byte & 0x7fU) << (7 * i);
        if (byte < 0x80) {
            return !r->failed;
        }
    }
    return false;
}

/* The next field; false at the end and at the first thing that makes no sense. */
static bool next_field(struct otp_reader *r, struct field *f)
{
    uint64_t key;
    memset(f, 0, sizeof(*f));
    if (otp_reader_left(r) == 0 || !read_varint(r, &key)) {
        return false;
    }
    f->number = key >> 3;
    switch (key & 7) {
    case WIRE_VARINT:
        return read_varint(r, &f->value);
    case WIRE_FIXED64:
        return otp_reader_bytes(r, 8) != NULL;
    case WIRE_FIXED32:
        return otp_reader_bytes(r, 4) != NULL;
    case WIRE_BYTES:
        if (!read_varint(r, &f->value)) {
            return false;
        }
        f->text.data = otp_reader_bytes(r, f->value);
        f->text.len = f->text.data == NULL ? 0 : (size_t)f->value;
        return f->text.data != NULL;
    default:
        return false;
    }
}

static void keep_text(struct otp_outcome *out, struct otp_text text)
{
    size_t end = otp_utf8_cut(text, OTP_OUTCOME_TEXT_MAX - 1);
    size_t len = 0;
    for (size_t pos = 0; pos < end;) {
        unsigned shown = otp_utf8_step_printable(text.data + pos, end - pos);
        unsigned whole = otp_utf8_step(text.data + pos, end - pos);
        if (shown > 0) {
            memcpy(out->text + len, text.data + pos, shown);
            len += shown;
        } else {
            out->text[len++] = text.data[pos] == '\n' ? ' ' : '?';
        }
        pos += whole > 0 ? whole : 1;
    }
    out->text[len] = '\0';
}

static struct otp_reader reader_of(struct otp_text text)
{
    struct otp_reader r;
    otp_reader_init(&r, text.data, text.len);
    return r;
}

/* ExportProfilesServiceResponse.partial_success = 1 {rejected_profiles = 1, error_message = 2}. */
static void read_response(struct otp_text body, struct otp_outcome *out)
{
    struct otp_reader r = reader_of(body);
    struct field f;
    while (next_field(&r, &f)) {
        struct otp_reader inner = reader_of(f.text);
        struct field g;
        while (f.number == 1 && next_field(&inner, &g)) {
            if (g.number == 1) {
                out->rejected = g.value;
            } else if (g.number == 2) {
                keep_text(out, g.text);
            }
        }
    }
    out->has_warning = out->rejected > 0 || out->text[0] != '\0';
}

/* google.protobuf.Duration {seconds = 1, nanos = 2}. */
static void read_duration(struct otp_text text, struct otp_outcome *out)
{
    struct otp_reader r = reader_of(text);
    struct field f;
    out->has_wait = true;
    out->wait_ns = 0;
    while (next_field(&r, &f)) {
        if (f.number == 1) {
            out->wait_ns += (f.value < WAIT_MAX_S ? f.value : WAIT_MAX_S) * SECOND_NS;
        } else if (f.number == 2) {
            out->wait_ns += f.value < SECOND_NS ? f.value : 0;
        }
    }
}

static bool ends_with(struct otp_text text, const char *end)
{
    size_t len = strlen(end);
    return text.len >= len && memcmp(text.data + text.len - len, end, len) == 0;
}

/* google.protobuf.Any {type_url = 1, value = 2} with google.rpc.RetryInfo {retry_delay = 1}. */
static void read_detail(struct otp_text text, struct otp_outcome *out)
{
    struct otp_reader r = reader_of(text);
    struct field f;
    struct otp_text value = {0};
    bool is_retry_info = false;
    while (next_field(&r, &f)) {
        is_retry_info =
            is_retry_info || (f.number == 1 && ends_with(f.text, "/google.rpc.RetryInfo"));
        value = f.number == 2 ? f.text : value;
    }
    r = reader_of(value);
    if (is_retry_info) {
        out->has_wait = true;
    }
    while (is_retry_info && next_field(&r, &f)) {
        if (f.number == 1) {
            read_duration(f.text, out);
        }
    }
}

/* google.rpc.Status {code = 1, message = 2, details = 3}. */
static void read_status(struct otp_text body, struct otp_outcome *out)
{
    struct otp_reader r = reader_of(body);
    struct field f;
    while (next_field(&r, &f)) {
        if (f.number == 2) {
            keep_text(out, f.text);
        } else if (f.number == 3) {
            read_detail(f.text, out);
        }
    }
}

/* What stands behind "name" and a colon in a JSON text that is known to be small and flat. */
static struct otp_text json_value(struct otp_text body, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i + len + 2 < body.len; i++) {
        if (body.data[i] != '"' || body.data[i + len + 1] != '"' ||
            memcmp(body.data + i + 1, name, len) != 0) {
            continue;
        }
        size_t pos = i + len + 2;
        while (pos < body.len && strchr(" \t\r\n:\"", body.data[pos]) != NULL &&
               body.data[pos] != '\0') {
            pos++;
            if (body.data[pos - 1] == '"') {
                break;
            }
        }
        size_t end = pos;
        while (end < body.len && strchr("\"\\,}", body.data[end]) == NULL) {
            end++;
        }
        return otp_text_make(body.data + pos, end - pos);
    }
    return otp_text_make(body.data, 0);
}

static void read_json_response(struct otp_text body, struct otp_outcome *out)
{
    struct otp_text rejected = json_value(body, "rejectedProfiles");
    keep_text(out, json_value(body, "errorMessage"));
    (void)otp_fmt_parse_u64(rejected.data, rejected.len, &out->rejected);
    out->has_warning = out->rejected > 0 || out->text[0] != '\0';
}

static bool is_retried_http(unsigned code)
{
    return code == 429 || code == 502 || code == 503 || code == 504;
}

void otp_outcome_of_http(const struct otp_reply *reply, struct otp_outcome *out)
{
    memset(out, 0, sizeof(*out));
    out->code = reply->code;
    out->kind = reply->code / 100 == 2         ? OTP_OUTCOME_DELIVERED
                : is_retried_http(reply->code) ? OTP_OUTCOME_RETRY
                                               : OTP_OUTCOME_REFUSED;
    if (reply->body.len == 0) {
        return;
    }
    if (out->kind == OTP_OUTCOME_DELIVERED) {
        if (reply->is_json) {
            read_json_response(reply->body, out);
        } else {
            read_response(reply->body, out);
        }
        return;
    }
    if (reply->is_json) {
        keep_text(out, json_value(reply->body, "message"));
    } else {
        read_status(reply->body, out);
    }
    out->has_wait = false; /* over HTTP a header says it */
    out->wait_ns = 0;
}

/* The codes of the protocol's table that may be tried again; 8 needs RetryInfo. */
static bool is_retried_grpc(unsigned code, bool has_wait)
{
    switch (code) {
    case 1:  /* CANCELLED */
    case 4:  /* DEADLINE_EXCEEDED */
    case 10: /* ABORTED */
    case 11: /* OUT_OF_RANGE */
    case 14: /* UNAVAILABLE */
    case 15: /* DATA_LOSS */
        return true;
    case 8: /* RESOURCE_EXHAUSTED */
        return has_wait;
    default:
        return false;
    }
}

void otp_outcome_of_grpc(const struct otp_reply *reply, struct otp_text message,
                         struct otp_text details, struct otp_outcome *out)
{
    memset(out, 0, sizeof(*out));
    out->code = reply->code;
    out->is_grpc = true;
    if (reply->code == 0) {
        out->kind = OTP_OUTCOME_DELIVERED;
        read_response(reply->body, out);
        return;
    }
    read_status(details, out);
    if (message.len > 0) {
        keep_text(out, message);
    }
    out->kind =
        is_retried_grpc(reply->code, out->has_wait) ? OTP_OUTCOME_RETRY : OTP_OUTCOME_REFUSED;
}
