/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof symbolize: profiles with names, files, lines and inlined calls from debug information.
 */
#include <stdio.h>

#include "tools/otelprof/args.h"
#include "tools/otelprof/convert.h"

enum { SYMBOLIZE_ROOT = CONVERT_OWN };

static int run_symbolize(const struct otp_args *args)
{
    const char *roots = args->values[SYMBOLIZE_ROOT];
    struct otp_symbolizer *s = otp_symbolizer_create(roots == NULL ? "" : roots);
    if (s == NULL) {
        (void)fprintf(stderr, "otelprof symbolize: no memory\n");
        return OTP_EXIT_INPUT;
    }
    int status = otp_convert(args, false, false, s);
    otp_symbolizer_destroy(s);
    return status;
}

static const struct otp_option options[] = {
    CONVERT_OPTIONS,
    [SYMBOLIZE_ROOT] = {"debug-root", 0, "DIR",
                        "look there first, as in a system's root and as in /usr/lib/debug"},
    {NULL, 0, NULL, NULL},
};

const struct otp_command otp_command_symbolize = {
    .name = "symbolize",
    .operands = "-o OUT FILE…",
    .summary = "add names, files, lines and inlined calls from debug information",
    .options = options,
    .details =
        "A file counts when its build id is that of the profile's mapping. Looked for are: in "
        "each\n"
        "--debug-root (several with colons between them) the path, then .build-id; the path here;\n"
        "/usr/lib/debug/.build-id; the servers in DEBUGINFOD_URLS, when libdebuginfod is "
        "installed.\n"
        "Names that a profile has stay, and locations with line numbers stay as they are. What\n"
        "stayed without a name or a line is listed on the standard error, file by file.\n",
    .run = run_symbolize,
};
