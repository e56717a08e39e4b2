/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/utf8.h"

#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

static bool is_tail(unsigned char c)
{
    return (c & 0xc0U) == 0x80U;
}

/* Bytes of the character that the byte begins; 0 when none begins so. */
static unsigned length_of(unsigned char first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xc2 || first > 0xf4) {
        return 0;
    }
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Four of the first bytes leave a narrower range to the second one. */
static bool is_second(unsigned char first, unsigned char c)
{
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return c >= low && c <= high;
}

unsigned otp_utf8_step(const char *s, size_t left)
{
    const unsigned char *p = (const unsigned char *)s;
    unsigned len = left == 0 ? 0 : length_of(p[0]);

    if (len < 2) {
        return len;
    }
    if (len > left || !is_second(p[0], p[1])) {
        return 0;
    }
    for (unsigned i = 2; i < len; i++) {
        if (!is_tail(p[i])) {
            return 0;
        }
    }
    return len;
}

unsigned otp_utf8_step_printable(const char *s, size_t left)
{
    const unsigned char *p = (const unsigned char *)s;
    unsigned len = otp_utf8_step(s, left);

    if (len == 1) {
        return p[0] >= 0x20 && p[0] != 0x7f ? 1 : 0;
    }
    if (len == 2 && p[0] == 0xc2) {
        return p[1] >= 0xa0 ? 2 : 0; /* U+0080 to U+009F */
    }
    bool is_mark = len == 3 && p[0] == 0xe2 && p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae;
    return is_mark ? 0 : len; /* U+2028 to U+202E */
}

bool otp_utf8_is_valid(struct otp_text text)
{
    size_t pos = 0;
    while (pos < text.len) {
        if ((unsigned char)text.data[pos] < 0x80) {
            pos++;
            continue;
        }
        unsigned step = otp_utf8_step(text.data + pos, text.len - pos);
        if (step == 0) {
            return false;
        }
        pos += step;
    }
    return true;
}

size_t otp_utf8_cut(struct otp_text text, size_t max)
{
    if (text.len <= max) {
        return text.len;
    }
    size_t len = max;
    /* At most three bytes of a character can lie before the cut; more tail bytes are no character.
     */
    for (unsigned i = 0; i < 3 && len > 0 && is_tail((unsigned char)text.data[len]); i++) {
        len--;
    }
    return is_tail((unsigned char)text.data[len]) ? max : len;
}

size_t otp_utf8_clean(struct otp_text text, char *out, size_t room)
{
    size_t used = 0;
    size_t pos = 0;
    while (pos < text.len) {
        unsigned step = otp_utf8_step(text.data + pos, text.len - pos);
        const char *from = step == 0 ? replacement : text.data + pos;
        size_t len = step == 0 ? sizeof(replacement) - 1 : step;
        if (len > room - used) {
            break;
        }
        memcpy(out + used, from, len);
        used += len;
        pos += step == 0 ? 1 : step;
    }
    return used;
}

void otp_utf8_show(struct otp_line *line, struct otp_text text, size_t max_bytes)
{
    size_t end = otp_utf8_cut(text, max_bytes);
    size_t pos = 0;
    while (pos < end) {
        unsigned len = otp_utf8_step(text.data + pos, end - pos);
        bool is_shown = otp_utf8_step_printable(text.data + pos, end - pos) > 0;
        otp_line_bytes(line, is_shown ? text.data + pos : "?", is_shown ? len : 1);
        pos += len > 0 ? len : 1;
    }
    if (end < text.len) {
        otp_line_str(line, "...");
    }
}
