/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As libstubs.c, for what the TLS and HTTP/2 libraries name besides: files and printing, which stay
 * without effect, and a few pure functions.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/annot.h"

#define OTP_STUB(type, name, params)                                                               \
    type otp_stub_##name params;                                                                   \
    type otp_stub_##name params

/* Arguments are not named: none of them is looked at. */
#define OTP_STUB_INT(name, value)                                                                  \
    OTP_STUB(int, name, (void))                                                                    \
    {                                                                                              \
        return (value);                                                                            \
    }
#define OTP_STUB_ZERO(type, name)                                                                  \
    OTP_STUB(type, name, (void))                                                                   \
    {                                                                                              \
        return 0;                                                                                  \
    }

OTP_STUB_ZERO(void *, fopen)
OTP_STUB_ZERO(void *, opendir)
OTP_STUB_ZERO(void *, readdir)
OTP_STUB_ZERO(char *, fgets)
OTP_STUB_ZERO(size_t, fread)
OTP_STUB_ZERO(size_t, fwrite)
OTP_STUB_INT(fclose, -1)
OTP_STUB_INT(closedir, -1)
OTP_STUB_INT(ferror, 1)
OTP_STUB_INT(fseek, -1)
OTP_STUB(long, ftell, (void))
{
    return -1;
}
OTP_STUB_INT(puts, -1)
OTP_STUB_INT(putchar, -1)
OTP_STUB_INT(__printf_chk, -1)
OTP_STUB_INT(__fprintf_chk, -1)
OTP_STUB_ZERO(int, rand) /* of self-tests that nobody calls; never of keys */

extern void *otp_stub_stderr;
void *otp_stub_stderr;

OTP_STUB(char *, strstr, (const char *text, const char *part))
{
    size_t len = strlen(part);
    for (; *text != '\0'; text++) {
        if (strncmp(text, part, len) == 0) {
            return (char *)(uintptr_t)text;
        }
    }
    return len == 0 ? (char *)(uintptr_t)text : NULL;
}
