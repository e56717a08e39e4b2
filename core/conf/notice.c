/* SPDX-License-Identifier: Apache-2.0 */
#include "core/conf/notice.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/utf8.h"

#define DISTANCE_MAX_LEN 63U

/* A character that a terminal or a log shows as itself and that does not end the line. */
static bool is_printable(const char *s, unsigned len)
{
    const unsigned char *p = (const unsigned char *)s;
    if (len == 1) {
        return p[0] >= 0x20 && p[0] != 0x7f;
    }
    if (len == 2 && p[0] == 0xc2) {
        return p[1] >= 0xa0; /* U+0080 to U+009F are controls */
    }
    /* U+2028 and U+2029 end a line, U+202A to U+202E turn its direction round. */
    return !(len == 3 && p[0] == 0xe2 && p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae);
}

/* The part between "//" and the last '@' before the next '/', or empty. */
static struct otp_text find_secret(struct otp_text value)
{
    for (size_t i = 0; i + 2 < value.len; i++) {
        size_t start = i + 2;
        size_t end = 0;
        if (value.data[i] != '/' || value.data[i + 1] != '/') {
            continue;
        }
        for (size_t j = start; j < value.len && value.data[j] != '/'; j++) {
            end = value.data[j] == '@' ? j : end;
        }
        if (end > start) {
            return otp_text_make(value.data + start, end - start);
        }
    }
    return otp_text_make(value.data, 0);
}

static void add_clean(struct otp_line *line, struct otp_text value)
{
    size_t pos = 0;
    while (pos < value.len) {
        unsigned len = otp_utf8_step(value.data + pos, value.len - pos);
        if (len > 0 && is_printable(value.data + pos, len)) {
            otp_line_bytes(line, value.data + pos, len);
        } else {
            otp_line_str(line, "?");
        }
        pos += len > 0 ? len : 1;
    }
}

void otp_notice_value(struct otp_line *line, struct otp_text value, size_t max_bytes)
{
    struct otp_text secret = find_secret(value);
    size_t shown = otp_utf8_cut(value, max_bytes);
    size_t before = secret.len == 0 ? shown : (size_t)(secret.data - value.data);
    size_t after = before + secret.len;

    add_clean(line, otp_text_make(value.data, before < shown ? before : shown));
    if (secret.len > 0 && before < shown) {
        otp_line_str(line, "***");
    }
    if (after < shown) {
        add_clean(line, otp_text_make(value.data + after, shown - after));
    }
    if (shown < value.len) {
        otp_line_str(line, "...");
    }
}

unsigned otp_notice_distance(struct otp_text a, struct otp_text b)
{
    uint8_t row[DISTANCE_MAX_LEN + 1];

    if (a.len > DISTANCE_MAX_LEN || b.len > DISTANCE_MAX_LEN) {
        return UINT8_MAX;
    }
    for (size_t j = 0; j <= b.len; j++) {
        row[j] = (uint8_t)j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        uint8_t diagonal = row[0];
        row[0] = (uint8_t)i;
        for (size_t j = 1; j <= b.len; j++) {
            unsigned best = diagonal + (a.data[i - 1] == b.data[j - 1] ? 0U : 1U);
            best = row[j] + 1U < best ? row[j] + 1U : best;
            best = row[j - 1] + 1U < best ? row[j - 1] + 1U : best;
            diagonal = row[j];
            row[j] = (uint8_t)best;
        }
    }
    return row[b.len];
}
