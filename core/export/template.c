/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A template is expanded in two parts: what stands before the format's extension, then the mark
 * that makes the name unique, then the extension. Values from outside are made harmless on the way:
 * they cannot add a folder, hide a file or break a line.
 */
#include "core/export/template.h"

#include <string.h>

#include "core/base/civil.h"
#include "core/base/fmt.h"
#include "core/base/sys.h"
#include "core/base/utf8.h"

#define MARK_MAX 49U         /* .FLUSH.PID.RANDOM: 1 + 20 + 1 + 10 + 1 + 16 */
#define COUNTED_ATTEMPTS 32U /* after these the names are random */

/* A path in the making. */
struct path {
    char *out;
    size_t room;
    size_t len;
    size_t component; /* where the component begins that is being written */
    size_t excess;    /* most bytes by which a component passes its limit */
    bool is_full;
};

static bool ends_with(struct otp_text text, const char *end)
{
    size_t len = strlen(end);
    return text.len >= len && memcmp(text.data + text.len - len, end, len) == 0;
}

/* Bytes of the known extension at the end of name; 0: none. */
static size_t read_extension(struct otp_text name, enum otp_format *out_format,
                             enum otp_compression *out_compression)
{
    static const struct {
        const char *text;
        enum otp_format format;
        enum otp_compression own;
    } formats[] = {
        {".otlp", OTP_FORMAT_OTLP, OTP_COMPRESSION_NONE},
        {".jsonl", OTP_FORMAT_JSONL, OTP_COMPRESSION_NONE},
        {".pb", OTP_FORMAT_PPROF, OTP_COMPRESSION_GZIP},
        {".otep239", OTP_FORMAT_OTEP239, OTP_COMPRESSION_GZIP},
    };
    enum otp_compression compression = ends_with(name, ".gz")    ? OTP_COMPRESSION_GZIP
                                       : ends_with(name, ".zst") ? OTP_COMPRESSION_ZSTD
                                                                 : OTP_COMPRESSION_NONE;
    size_t packed = compression == OTP_COMPRESSION_GZIP   ? 3
                    : compression == OTP_COMPRESSION_ZSTD ? 4
                                                          : 0;
    struct otp_text stem = otp_text_make(name.data, name.len - packed);

    *out_format = OTP_FORMAT_OTLP;
    *out_compression = compression;
    for (size_t i = 0; i < OTP_ARRAY_LEN(formats); i++) {
        if (ends_with(stem, formats[i].text)) {
            *out_format = formats[i].format;
            *out_compression = packed > 0 ? compression : formats[i].own;
            return strlen(formats[i].text) + packed;
        }
    }
    return packed;
}

bool otp_format_of_name(struct otp_text name, enum otp_format *out_format,
                        enum otp_compression *out_compression)
{
    size_t len = read_extension(name, out_format, out_compression);
    /* .gz and .zst alone are shorter than any format's extension, but for .pb. */
    return len > 4 || (len == 3 && ends_with(name, ".pb"));
}

/* The letter of the sequence at text[i], 0 when there is none or it means nothing. */
static char sequence_at(struct otp_text text, size_t i)
{
    if (text.data[i] != '%' || i + 1 >= text.len || memchr("epht%n", text.data[i + 1], 6) == NULL) {
        return '\0';
    }
    return text.data[i + 1];
}

struct otp_text otp_template_unknown(struct otp_text text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (sequence_at(text, i) != '\0') {
            i++;
        } else if (text.data[i] == '%') {
            return otp_text_make(text.data + i, text.len - i < 2 ? text.len - i : 2);
        }
    }
    return otp_text_make(text.data, 0);
}

bool otp_template_has_flush(struct otp_text text)
{
    for (size_t i = 0; i < text.len; i++) {
        char letter = sequence_at(text, i);
        if (letter == 'n') {
            return true;
        }
        i += letter != '\0' ? 1 : 0;
    }
    return false;
}

static void put(struct path *p, const char *bytes, size_t len)
{
    if (len >= p->room - p->len) { /* one byte is for the NUL */
        p->is_full = true;
        return;
    }
    memcpy(p->out + p->len, bytes, len);
    p->len += len;
}

/* Notes by how much the component that ends here passes its limit. */
static void end_component(struct path *p, size_t limit)
{
    size_t len = p->len - p->component;
    if (len > limit && len - limit > p->excess) {
        p->excess = len - limit;
    }
    p->component = p->len;
}

static void put_number(struct path *p, uint64_t v)
{
    char digits[OTP_FMT_NUMBER_MAX];
    put(p, digits, otp_fmt_u64(digits, v));
}

/* A text from outside: what could mean something to a shell user's eye or the kernel becomes '_'.
 */
static void put_harmless(struct path *p, struct otp_text text, size_t max)
{
    size_t end = otp_utf8_cut(text, max);
    size_t pos = 0;

    if (text.len == 0) {
        put(p, "unknown", 7);
        return;
    }
    while (pos < end) {
        const char *c = text.data + pos;
        unsigned len = otp_utf8_step_printable(c, end - pos);
        bool is_first = p->len == p->component;
        bool is_good = len > 0 && *c != '/' && !(is_first && (*c == '-' || *c == '.'));
        unsigned whole = otp_utf8_step(c, end - pos);
        put(p, is_good ? c : "_", is_good ? len : 1);
        pos += whole > 0 ? whole : 1;
    }
}

static void put_time(struct path *p, uint64_t ns)
{
    struct otp_civil c = otp_civil_of(ns / 1000000000U);
    char text[] = "YYYYmmddTHHMMSSZ";
    otp_civil_digits(text, c.year, 4);
    otp_civil_digits(text + 4, c.month, 2);
    otp_civil_digits(text + 6, c.day, 2);
    otp_civil_digits(text + 9, c.hour, 2);
    otp_civil_digits(text + 11, c.minute, 2);
    otp_civil_digits(text + 13, c.second, 2);
    put(p, text, sizeof(text) - 1);
}

static void put_sequence(struct path *p, char letter, const struct otp_template_values *v,
                         size_t program_max)
{
    switch (letter) {
    case 'e':
        put_harmless(p, v->program, program_max);
        break;
    case 'h':
        put_harmless(p, v->host, OTP_NAME_MAX);
        break;
    case 'p':
        put_number(p, v->pid);
        break;
    case 't':
        put_time(p, v->start_ns);
        break;
    case 'n':
        put_number(p, v->flush);
        break;
    default:
        put(p, "%", 1);
        break;
    }
}

static void put_template(struct path *p, struct otp_text text, const struct otp_template_values *v,
                         size_t program_max)
{
    for (size_t i = 0; i < text.len; i++) {
        char letter = sequence_at(text, i);
        if (letter != '\0') {
            put_sequence(p, letter, v, program_max);
            i++;
            continue;
        }
        if (text.data[i] == '/') {
            end_component(p, OTP_NAME_MAX);
        }
        put(p, text.data + i, 1);
        if (text.data[i] == '/') {
            p->component = p->len;
        }
    }
}

/* .FLUSH, .FLUSH.PID, then .FLUSH.PID.2 and so on, then .FLUSH.PID.RANDOM */
static void put_mark(struct path *p, const struct otp_template_values *v, unsigned attempt)
{
    if (attempt >= 1) {
        put(p, ".", 1);
        put_number(p, v->flush);
    }
    if (attempt >= 2) {
        put(p, ".", 1);
        put_number(p, v->pid);
    }
    if (attempt >= 3 && attempt < COUNTED_ATTEMPTS) {
        put(p, ".", 1);
        put_number(p, attempt - 1);
    } else if (attempt >= COUNTED_ATTEMPTS) {
        unsigned char noise[8];
        char digits[2 * sizeof(noise)];
        otp_sys_random(noise, sizeof(noise));
        otp_fmt_hex_bytes(digits, noise, sizeof(noise));
        put(p, ".", 1);
        put(p, digits, sizeof(digits));
    }
}

enum otp_status otp_template_expand(struct otp_text text, const struct otp_template_values *values,
                                    unsigned attempt, char *out, size_t room)
{
    enum otp_format format;
    enum otp_compression compression;
    size_t extension_len = read_extension(text, &format, &compression);
    struct otp_text stem = otp_text_make(text.data, text.len - extension_len);
    size_t program_max = values->program.len > OTP_NAME_MAX ? OTP_NAME_MAX : values->program.len;
    struct path p;

    if (room == 0 || text.len == 0) {
        return OTP_TOO_LARGE;
    }
    for (;;) {
        p = (struct path){.out = out, .room = room};
        put_template(&p, stem, values, program_max);
        /* Room for any mark, so that the folder does not depend on the attempt. */
        size_t last = OTP_NAME_MAX - MARK_MAX;
        end_component(&p, last > extension_len ? last - extension_len : 0);
        if (p.excess == 0 || program_max == 0) {
            break;
        }
        program_max -= p.excess < program_max ? p.excess : program_max;
    }
    put_mark(&p, values, attempt);
    put(&p, text.data + stem.len, extension_len);
    out[p.len] = '\0';
    const char *name = strrchr(out, '/');
    size_t name_len = strlen(name == NULL ? out : name + 1);
    return p.is_full || name_len > OTP_NAME_MAX || name_len == 0 ? OTP_TOO_LARGE : OTP_OK;
}
