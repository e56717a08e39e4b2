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

void otp_notice_value(struct otp_line *line, struct otp_text value, size_t max_bytes)
{
    struct otp_text secret = find_secret(value);
    size_t before = (size_t)(secret.data - value.data);
    size_t after = before + secret.len;

    if (secret.len == 0 || before >= max_bytes) {
        otp_utf8_show(line, value, max_bytes);
        return;
    }
    otp_utf8_show(line, otp_text_make(value.data, before), before);
    otp_line_str(line, "***");
    otp_utf8_show(line, otp_text_make(value.data + after, value.len - after),
                  after < max_bytes ? max_bytes - after : 0);
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
