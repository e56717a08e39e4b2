/* SPDX-License-Identifier: Apache-2.0 */
#include "core/conf/glob.h"

#include <stddef.h>
#include <stdint.h>

#include "core/conf/parse.h"

/* Bytes of the set at the pattern's start (a '['), its ']' included; 0 when it has no end. */
static size_t set_len(struct otp_text pattern)
{
    size_t i = 1;
    if (i < pattern.len && (pattern.data[i] == '!' || pattern.data[i] == '^')) {
        i++;
    }
    /* A ] right at the start is a member. */
    for (i++; i < pattern.len; i++) {
        if (pattern.data[i] == ']') {
            return i + 1;
        }
    }
    return 0;
}

/* set: the bytes from '[' to ']'. */
static bool set_has(const char *set, size_t len, unsigned char c)
{
    bool is_negated = set[1] == '!' || set[1] == '^';
    bool is_member = false;
    size_t end = len - 1;
    for (size_t i = is_negated ? 2 : 1; i < end; i++) {
        unsigned char low = (unsigned char)set[i];
        unsigned char high = low;
        if (i + 2 < end && set[i + 1] == '-') {
            high = (unsigned char)set[i + 2];
            i += 2;
        }
        is_member = is_member || (c >= low && c <= high);
    }
    return is_member != is_negated;
}

/* Length of the one-byte element at the pattern's start when it matches c, else 0. */
static size_t match_one(struct otp_text pattern, unsigned char c)
{
    size_t len;
    switch (pattern.data[0]) {
    case '?':
        return 1;
    case '[':
        len = set_len(pattern);
        if (len > 0) {
            return set_has(pattern.data, len, c) ? len : 0;
        }
        break;
    case '\\':
        if (pattern.len > 1) {
            return (unsigned char)pattern.data[1] == c ? 2 : 0;
        }
        break;
    default:
        break;
    }
    return (unsigned char)pattern.data[0] == c ? 1 : 0;
}

bool otp_glob_matches(struct otp_text pattern, struct otp_text name)
{
    size_t at = 0;          /* in pattern */
    size_t pos = 0;         /* in name */
    size_t star = SIZE_MAX; /* behind the last * */
    size_t star_pos = 0;    /* what that * has taken ends here */

    while (pos < name.len) {
        size_t step = 0;
        if (at < pattern.len && pattern.data[at] == '*') {
            star = ++at;
            star_pos = pos;
            continue;
        }
        if (at < pattern.len) {
            step = match_one(otp_text_make(pattern.data + at, pattern.len - at),
                             (unsigned char)name.data[pos]);
        }
        if (step > 0) {
            at += step;
            pos++;
        } else if (star != SIZE_MAX) {
            /* Only the last * needs to be tried again: an earlier one would give the same or less.
             */
            at = star;
            pos = ++star_pos;
        } else {
            return false;
        }
    }
    while (at < pattern.len && pattern.data[at] == '*') {
        at++;
    }
    return at == pattern.len;
}

bool otp_glob_list_matches(struct otp_text patterns, struct otp_text name)
{
    struct otp_text pattern;
    while (otp_conf_next_item(&patterns, &pattern)) {
        if (otp_glob_matches(pattern, name)) {
            return true;
        }
    }
    return false;
}

static bool set_is_empty(const char *set, size_t len)
{
    for (unsigned c = 1; c <= UINT8_MAX; c++) {
        if (c != '/' && set_has(set, len, (unsigned char)c)) {
            return false;
        }
    }
    return true;
}

/* Base names have no slash. */
static const char *glob_fault(struct otp_text pattern)
{
    size_t step;
    for (size_t i = 0; i < pattern.len; i += step) {
        char c = pattern.data[i];
        step = c == '\\' && i + 1 < pattern.len ? 2 : 1;
        if (pattern.data[i + step - 1] == '/') {
            return "has a / in a pattern, and base names have none";
        }
        if (c != '[') {
            continue;
        }
        step = set_len(otp_text_make(pattern.data + i, pattern.len - i));
        if (step == 0) {
            return "has a [ without a ] (a name with a [ is meant by \\[)";
        }
        if (set_is_empty(pattern.data + i, step)) {
            return "has a set that no character is in";
        }
    }
    return NULL;
}

const char *otp_glob_list_fault(struct otp_text patterns)
{
    struct otp_text pattern;
    const char *fault = "has no pattern";
    while (otp_conf_next_item(&patterns, &pattern)) {
        fault = glob_fault(pattern);
        if (fault != NULL) {
            return fault;
        }
    }
    return fault;
}
