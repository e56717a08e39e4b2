/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* strcasestr */
#include "tools/otelprof/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/annot.h"
#include "core/base/fmt.h"

#define COLUMNS_USUAL 80
#define COLUMNS_MAX 10000

bool otp_args_when(const struct otp_args *args, int option, enum otp_when *out_when)
{
    static const char *const words[] = {
        [OTP_WHEN_AUTO] = "auto", [OTP_WHEN_ALWAYS] = "always", [OTP_WHEN_NEVER] = "never"};
    const char *text = args->values[option];

    *out_when = OTP_WHEN_AUTO;
    for (unsigned i = 0; text != NULL && i < OTP_ARRAY_LEN(words); i++) {
        if (strcmp(text, words[i]) == 0) {
            *out_when = (enum otp_when)i;
            return true;
        }
    }
    if (text != NULL) {
        (void)otp_usage_error(args->command, "--%s %s: " OTP_WHEN_HELP " is expected",
                              args->command->options[option].name, text);
    }
    return text == NULL;
}

/* A variable's value, NULL when it is unset or empty. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value == NULL || *value == '\0' ? NULL : value;
}

unsigned otp_terminal_columns(void)
{
    const char *text = variable("COLUMNS");
    struct winsize size;
    uint64_t columns;

    if (text != NULL && otp_fmt_parse_u64(text, strlen(text), &columns) && columns > 0) {
        return columns > COLUMNS_MAX ? COLUMNS_MAX : (unsigned)columns;
    }
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col > COLUMNS_MAX ? COLUMNS_MAX : size.ws_col;
    }
    return COLUMNS_USUAL;
}

bool otp_terminal_has_bars(enum otp_when when)
{
    return when == OTP_WHEN_ALWAYS || (when == OTP_WHEN_AUTO && isatty(STDOUT_FILENO) == 1);
}

bool otp_terminal_has_colour(enum otp_when when)
{
    const char *kind = variable("TERM");

    if (when != OTP_WHEN_AUTO) {
        return when == OTP_WHEN_ALWAYS;
    }
    return isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR") == NULL && kind != NULL &&
           strcmp(kind, "dumb") != 0;
}

bool otp_terminal_is_utf8(void)
{
    const char *locale = variable("LC_ALL");

    locale = locale != NULL ? locale : variable("LC_CTYPE");
    locale = locale != NULL ? locale : variable("LANG");
    return locale != NULL &&
           (strcasestr(locale, "utf-8") != NULL || strcasestr(locale, "utf8") != NULL);
}
