/* SPDX-License-Identifier: Apache-2.0 */
#include "core/conf/notice.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/utf8.h"

#define DISTANCE_MAX_LEN 63U

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
        bool is_shown = otp_utf8_step_printable(value.data + pos, value.len - pos) > 0;
        otp_line_bytes(line, is_shown ? value.data + pos : "?", is_shown ? len : 1);
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
