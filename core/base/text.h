/* SPDX-License-Identifier: Apache-2.0 */
/* A borrowed piece of text: any bytes, not NUL-terminated by promise. */
#ifndef OTP_BASE_TEXT_H
#define OTP_BASE_TEXT_H

#include <stddef.h>
#include <string.h>

struct otp_text {
    const char *data;
    size_t len;
};

/* A view of a NUL-terminated string; NULL gives the empty text. Context: any. */
static inline struct otp_text otp_text_of(const char *s)
{
    struct otp_text t = {.data = s == NULL ? "" : s, .len = s == NULL ? 0 : strlen(s)};
    return t;
}

/* A view of len bytes. Context: any. */
static inline struct otp_text otp_text_make(const char *s, size_t len)
{
    struct otp_text t = {.data = s, .len = len};
    return t;
}

/* t without the spaces and tabs at its ends. Context: any. */
static inline struct otp_text otp_text_trim(struct otp_text t)
{
    while (t.len > 0 && (t.data[0] == ' ' || t.data[0] == '\t')) {
        t = otp_text_make(t.data + 1, t.len - 1);
    }
    while (t.len > 0 && (t.data[t.len - 1] == ' ' || t.data[t.len - 1] == '\t')) {
        t.len--;
    }
    return t;
}

/* By bytes, a beginning before what goes on: less than 0, 0 or more than 0. Context: any. */
static inline int otp_text_compare(struct otp_text a, struct otp_text b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int diff = len == 0 ? 0 : memcmp(a.data, b.data, len);
    return diff != 0 ? diff : (a.len > b.len) - (a.len < b.len);
}

#endif
