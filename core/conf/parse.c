/* SPDX-License-Identifier: Apache-2.0 */
#include "core/conf/parse.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/fmt.h"

#define SIGNAL_RT_MIN 34U /* what glibc leaves to programs */
#define SIGNAL_RT_MAX 64U
#define PERCENT_PPM 10000U

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool in_range(uint64_t v, struct otp_range range)
{
    return v >= range.lowest && v <= range.highest;
}

struct otp_text otp_conf_trim(struct otp_text text)
{
    while (text.len > 0 && is_blank(text.data[0])) {
        text.data++;
        text.len--;
    }
    while (text.len > 0 && is_blank(text.data[text.len - 1])) {
        text.len--;
    }
    return text;
}

bool otp_conf_same_word(struct otp_text a, struct otp_text b)
{
    size_t i = 0;
    while (i < a.len && i < b.len && lower(a.data[i]) == lower(b.data[i])) {
        i++;
    }
    return i == a.len && i == b.len;
}

static bool is_word(struct otp_text text, const char *word)
{
    return otp_conf_same_word(text, otp_text_of(word));
}

bool otp_conf_next_item(struct otp_text *list, struct otp_text *out_item)
{
    while (list->len > 0) {
        const char *comma = memchr(list->data, ',', list->len);
        size_t len = comma == NULL ? list->len : (size_t)(comma - list->data);
        struct otp_text item = otp_conf_trim(otp_text_make(list->data, len));
        size_t taken = comma == NULL ? len : len + 1;
        list->data += taken;
        list->len -= taken;
        if (item.len > 0) {
            *out_item = item;
            return true;
        }
    }
    return false;
}

bool otp_conf_parse_bool(struct otp_text text, bool *out)
{
    static const char *const yes[] = {"true", "on", "1"};
    static const char *const no[] = {"false", "off", "0"};
    for (size_t i = 0; i < OTP_ARRAY_LEN(yes); i++) {
        if (is_word(text, yes[i]) || is_word(text, no[i])) {
            *out = is_word(text, yes[i]);
            return true;
        }
    }
    return false;
}

bool otp_conf_parse_flag(struct otp_text text, bool *out)
{
    if (!is_word(text, "true") && !is_word(text, "false")) {
        return false;
    }
    *out = is_word(text, "true");
    return true;
}

bool otp_conf_parse_number(struct otp_text text, struct otp_range range, uint64_t *out)
{
    uint64_t v;
    if (!otp_fmt_parse_u64(text.data, text.len, &v) || !in_range(v, range)) {
        return false;
    }
    *out = v;
    return true;
}

struct unit {
    const char *name;
    uint64_t factor;
};

/* Digits, then the name of one of the units; the one with the empty name takes bare digits. */
static bool parse_with_unit(struct otp_text text, const struct unit *units, size_t count,
                            uint64_t *out)
{
    size_t digits = 0;
    while (digits < text.len && text.data[digits] >= '0' && text.data[digits] <= '9') {
        digits++;
    }
    struct otp_text name = otp_text_make(text.data + digits, text.len - digits);
    for (size_t i = 0; i < count; i++) {
        uint64_t v;
        if (is_word(name, units[i].name)) {
            return otp_fmt_parse_u64(text.data, digits, &v) &&
                   !__builtin_mul_overflow(v, units[i].factor, out);
        }
    }
    return false;
}

bool otp_conf_parse_size(struct otp_text text, struct otp_range range, uint64_t *out_bytes)
{
    static const struct unit units[] = {
        {.name = "", .factor = 1},
        {.name = "k", .factor = (uint64_t)1 << 10},
        {.name = "m", .factor = (uint64_t)1 << 20},
        {.name = "g", .factor = (uint64_t)1 << 30},
    };
    uint64_t v;
    if (!parse_with_unit(text, units, OTP_ARRAY_LEN(units), &v) || !in_range(v, range)) {
        return false;
    }
    *out_bytes = v;
    return true;
}

bool otp_conf_parse_time(struct otp_text text, struct otp_range range, uint64_t *out_ns)
{
    static const struct unit units[] = {
        {.name = "", .factor = 1000000000U},
        {.name = "ms", .factor = 1000000U},
        {.name = "s", .factor = 1000000000U},
        {.name = "m", .factor = 60000000000U},
    };
    uint64_t v;
    if (!parse_with_unit(text, units, OTP_ARRAY_LEN(units), &v) || !in_range(v, range)) {
        return false;
    }
    *out_ns = v;
    return true;
}

bool otp_conf_parse_percent(struct otp_text text, struct otp_range range, uint64_t *out_ppm)
{
    if (text.len > 0 && text.data[text.len - 1] == '%') {
        text.len--;
    }
    const char *point = text.len == 0 ? NULL : memchr(text.data, '.', text.len);
    size_t whole_len = point == NULL ? text.len : (size_t)(point - text.data);
    uint64_t whole;
    uint64_t fraction = 0;
    if (!otp_fmt_parse_u64(text.data, whole_len, &whole) || whole > 100) {
        return false;
    }
    if (point != NULL) {
        /* Four places behind the point are a whole number of millionths. */
        size_t places = text.len - whole_len - 1;
        if (places > 4 || !otp_fmt_parse_u64(point + 1, places, &fraction)) {
            return false;
        }
        for (; places < 4; places++) {
            fraction *= 10;
        }
    }
    if (!in_range(whole * PERCENT_PPM + fraction, range)) {
        return false;
    }
    *out_ppm = whole * PERCENT_PPM + fraction;
    return true;
}

bool otp_conf_parse_word(struct otp_text text, const char *words, uint32_t *out_index)
{
    struct otp_text list = otp_text_of(words);
    struct otp_text word;
    for (uint32_t i = 0; otp_conf_next_item(&list, &word); i++) {
        if (otp_conf_same_word(text, word)) {
            *out_index = i;
            return true;
        }
    }
    return false;
}

bool otp_conf_parse_words(struct otp_text text, const char *words, uint32_t *out_bits)
{
    struct otp_text item;
    uint32_t bits = 0;
    bool is_empty = true;
    while (otp_conf_next_item(&text, &item)) {
        uint32_t index;
        is_empty = false;
        if (!otp_conf_parse_word(item, words, &index)) {
            return false;
        }
        bits |= is_word(item, "none") ? 0 : 1U << index;
    }
    if (!is_empty) {
        *out_bits = bits;
    }
    return !is_empty;
}

static bool parse_signal_number(struct otp_text text, uint64_t *out)
{
    bool is_max = text.len > 5 && is_word(otp_text_make(text.data, 5), "RTMAX");
    bool is_min = text.len > 5 && is_word(otp_text_make(text.data, 5), "RTMIN");
    uint64_t v;

    if (is_word(text, "RTMIN") || is_word(text, "RTMAX")) {
        *out = is_word(text, "RTMIN") ? SIGNAL_RT_MIN : SIGNAL_RT_MAX;
        return true;
    }
    if (!is_min && !is_max) {
        return otp_fmt_parse_u64(text.data, text.len, out);
    }
    if (text.data[5] != (is_min ? '+' : '-') ||
        !otp_fmt_parse_u64(text.data + 6, text.len - 6, &v) || v > SIGNAL_RT_MAX - SIGNAL_RT_MIN) {
        return false;
    }
    *out = is_min ? SIGNAL_RT_MIN + v : SIGNAL_RT_MAX - v;
    return true;
}

bool otp_conf_parse_signal(struct otp_text text, int *out_signal)
{
    /* Signals that mean "end", "stop" or "you have a fault", and SIGPROF, cannot be shared. */
    static const struct {
        const char *name;
        int number;
    } names[] = {
        {"HUP", SIGHUP}, {"USR1", SIGUSR1},   {"USR2", SIGUSR2}, {"STKFLT", SIGSTKFLT},
        {"URG", SIGURG}, {"WINCH", SIGWINCH}, {"IO", SIGIO},     {"PWR", SIGPWR},
    };
    uint64_t number = 0;

    if (is_word(text, "none")) {
        *out_signal = 0;
        return true;
    }
    if (text.len > 3 && is_word(otp_text_make(text.data, 3), "SIG")) {
        text = otp_text_make(text.data + 3, text.len - 3);
    }
    bool is_number = parse_signal_number(text, &number);
    for (size_t i = 0; i < OTP_ARRAY_LEN(names); i++) {
        if (is_word(text, names[i].name) || (is_number && number == (uint64_t)names[i].number)) {
            *out_signal = names[i].number;
            return true;
        }
    }
    if (!is_number || number < SIGNAL_RT_MIN || number > SIGNAL_RT_MAX) {
        return false;
    }
    *out_signal = (int)number;
    return true;
}
