/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/clean.h"

#include <stdint.h>
#include <string.h>

#include "core/base/utf8.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Eight bytes at once: true when all are ASCII and none is NUL; false may be a false alarm. */
static bool is_plain_word(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof(w));
    return ((w | (w - 0x0101010101010101U)) & 0x8080808080808080U) == 0;
}

size_t otp_clean_prefix(const char *s, size_t len)
{
    size_t i = 0;
    while (i < len) {
        if (len - i >= sizeof(uint64_t) && is_plain_word(s + i)) {
            i += sizeof(uint64_t);
            continue;
        }
        unsigned n = s[i] == '\0' ? 0 : otp_utf8_step(s + i, len - i);
        if (n == 0) {
            break;
        }
        i += n;
    }
    return i;
}

bool otp_clean_text(struct otp_buf *out, struct otp_text s, size_t max_bytes)
{
    size_t left = max_bytes;
    size_t i = 0;
    while (i < s.len) {
        size_t good = otp_clean_prefix(s.data + i, s.len - i);
        size_t fits = otp_utf8_cut(otp_text_make(s.data + i, good), left);
        if (!otp_buf_add(out, s.data + i, fits)) {
            return false;
        }
        i += good;
        left -= fits;
        if (fits < good || i == s.len || left < sizeof(replacement) - 1) {
            break;
        }
        if (!otp_buf_add(out, replacement, sizeof(replacement) - 1)) {
            return false;
        }
        left -= sizeof(replacement) - 1;
        i++;
    }
    return true;
}
