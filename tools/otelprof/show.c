/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/show.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/civil.h"
#include "core/base/utf8.h"

const char *const otp_table_names[OTP_TABLES] = {"",      "mappings", "locations",  "functions",
                                                 "links", "strings",  "attributes", "stacks"};

struct step {
    double size;
    const char *suffix;
};

enum otp_unit otp_show_unit(struct otp_text unit, int64_t *out_factor)
{
    static const struct {
        const char *name;
        enum otp_unit kind;
        int64_t factor;
    } units[] = {
        {"nanoseconds", OTP_UNIT_NS, 1},
        {"ns", OTP_UNIT_NS, 1},
        {"microseconds", OTP_UNIT_NS, 1000},
        {"us", OTP_UNIT_NS, 1000},
        {"milliseconds", OTP_UNIT_NS, 1000000},
        {"ms", OTP_UNIT_NS, 1000000},
        {"seconds", OTP_UNIT_NS, 1000000000},
        {"s", OTP_UNIT_NS, 1000000000},
        {"bytes", OTP_UNIT_BYTES, 1},
        {"byte", OTP_UNIT_BYTES, 1},
        {"By", OTP_UNIT_BYTES, 1},
        {"kilobytes", OTP_UNIT_BYTES, 1024},
        {"megabytes", OTP_UNIT_BYTES, 1024 * 1024},
        {"count", OTP_UNIT_COUNT, 1},
        {"1", OTP_UNIT_COUNT, 1},
        {"", OTP_UNIT_COUNT, 1},
    };

    *out_factor = 1;
    for (size_t i = 0; i < OTP_ARRAY_LEN(units); i++) {
        if (strlen(units[i].name) == unit.len && memcmp(units[i].name, unit.data, unit.len) == 0) {
            *out_factor = units[i].factor;
            return units[i].kind;
        }
    }
    return OTP_UNIT_OTHER;
}

/* The largest step that value reaches, with three or four digits. */
static void show_steps(char *out, double value, const struct step *steps)
{
    double size = value < 0 ? -value : value;

    while (size < steps->size && steps[1].suffix != NULL) {
        steps++;
    }
    double shown = value / steps->size;
    double shown_size = size / steps->size;
    int digits = steps[1].suffix == NULL || shown_size >= 999.5 ? 0 : shown_size >= 99.95 ? 1 : 2;
    (void)snprintf(out, OTP_SHOW_MAX, "%.*f%s", digits, shown, steps->suffix);
}

char *otp_show_value(char *out, int64_t value, struct otp_text unit)
{
    static const struct step times[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}, {0, NULL}};
    static const struct step sizes[] = {{1099511627776.0, "TiB"},
                                        {1073741824.0, "GiB"},
                                        {1048576.0, "MiB"},
                                        {1024.0, "KiB"},
                                        {1, "B"},
                                        {0, NULL}};
    int64_t factor;
    enum otp_unit kind = otp_show_unit(unit, &factor);

    if (value == 0 || kind == OTP_UNIT_COUNT) {
        (void)snprintf(out, OTP_SHOW_MAX, "%" PRId64, value);
    } else if (kind == OTP_UNIT_NS) {
        show_steps(out, (double)value * (double)factor, times);
    } else if (kind == OTP_UNIT_BYTES) {
        show_steps(out, (double)value * (double)factor, sizes);
    } else {
        (void)snprintf(out, OTP_SHOW_MAX, "%" PRId64 " %.*s", value,
                       (int)(unit.len > 20 ? 20 : unit.len), unit.data);
    }
    return out;
}

char *otp_show_percent(char *out, int64_t part, int64_t whole)
{
    double percent = whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
    (void)snprintf(out, OTP_SHOW_MAX, "%.2f%%", percent);
    return out;
}

char *otp_show_time(char *out, uint64_t unix_ns)
{
    struct otp_civil c = otp_civil_of(unix_ns / 1000000000U);
    (void)snprintf(out, OTP_SHOW_MAX, "%04u-%02u-%02u %02u:%02u:%02u.%03u UTC", c.year, c.month,
                   c.day, c.hour, c.minute, c.second, (unsigned)(unix_ns / 1000000U % 1000U));
    return out;
}

void otp_show_text(FILE *to, struct otp_text text)
{
    size_t pos = 0;

    while (pos < text.len) {
        unsigned step = otp_utf8_step_printable(text.data + pos, text.len - pos);
        if (step == 0) {
            unsigned whole = otp_utf8_step(text.data + pos, text.len - pos);
            (void)fputc('?', to);
            pos += whole == 0 ? 1 : whole;
        } else {
            (void)fwrite(text.data + pos, 1, step, to);
            pos += step;
        }
    }
}

void otp_show_json(FILE *to, struct otp_text text)
{
    size_t pos = 0;

    (void)fputc('"', to);
    while (pos < text.len) {
        unsigned char c = (unsigned char)text.data[pos];
        unsigned step = otp_utf8_step(text.data + pos, text.len - pos);
        if (step == 0) {
            (void)fputs("\\ufffd", to);
            pos++;
        } else if (step > 1 && !(step == 3 && c == 0xe2)) {
            (void)fwrite(text.data + pos, 1, step, to);
            pos += step;
        } else if (step == 3) {
            /* U+2000 to U+2FFF, among them two line ends of JavaScript. */
            unsigned b = (unsigned char)text.data[pos + 1];
            unsigned e = (unsigned char)text.data[pos + 2];
            (void)fprintf(to, "\\u%04x", 0x2000U | (b & 0x3fU) << 6 | (e & 0x3fU));
            pos += step;
        } else {
            bool is_plain = c >= 0x20 && c < 0x7f && strchr("\"\\<>&'", c) == NULL;
            (void)(is_plain ? fputc(c, to) : fprintf(to, "\\u%04x", c));
            pos++;
        }
    }
    (void)fputc('"', to);
}

static void show_bytes(FILE *to, struct otp_text bytes)
{
    (void)fputs("0x", to);
    for (size_t i = 0; i < bytes.len && i < 64; i++) {
        (void)fprintf(to, "%02x", (unsigned char)bytes.data[i]);
    }
    (void)fputs(bytes.len > 64 ? "..." : "", to);
}

void otp_show_attribute(FILE *to, const struct otp_profiles *m, const struct otp_value *v)
{
    switch (v->kind) {
    case OTP_VALUE_STRING:
    case OTP_VALUE_STRINDEX:
        otp_show_text(to, otp_profiles_value_text(m, v));
        break;
    case OTP_VALUE_BOOL:
        (void)fputs(v->of.number != 0 ? "true" : "false", to);
        break;
    case OTP_VALUE_INT:
        (void)fprintf(to, "%" PRId64, v->of.number);
        break;
    case OTP_VALUE_DOUBLE:
        (void)fprintf(to, "%.17g", v->of.real);
        break;
    case OTP_VALUE_BYTES:
        show_bytes(to, otp_profiles_text(m, v->of.piece));
        break;
    case OTP_VALUE_ARRAY:
    case OTP_VALUE_KVLIST:
        otp_show_nested(to, m, v);
        break;
    case OTP_VALUE_NONE:
    case OTP_VALUE_KINDS:
    default:
        (void)fputs("(none)", to);
        break;
    }
}
