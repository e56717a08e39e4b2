/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/sys.h"
#include "core/decode/meter.h"

#define FIRST_NS 1000000000U
#define EVERY_NS 100000000U
#define MIB 1048576.0
#define NAME_MAX_SHOWN 36 /* the line stays one line */

static uint64_t begun_ns;
static uint64_t shown_ns;
static bool is_shown;
static const char *file_name = "";

/* Whether it is time for a line on a terminal, whose beginning is then cleared. */
static bool begin_line(void)
{
    uint64_t now = otp_sys_monotonic_ns();

    if (begun_ns == 0) {
        begun_ns = now;
    }
    if (now - begun_ns < FIRST_NS || now - shown_ns < EVERY_NS || isatty(STDERR_FILENO) != 1) {
        return false;
    }
    shown_ns = now;
    is_shown = true;
    (void)fputs("\r\033[K", stderr);
    return true;
}

void otp_progress_show(const char *what, uint64_t done, uint64_t all)
{
    if (begin_line()) {
        (void)fprintf(stderr, "%s %llu of %llu", what, (unsigned long long)done,
                      (unsigned long long)all);
        (void)fflush(stderr);
    }
}

void otp_progress_bytes(const char *what, uint64_t done, uint64_t all)
{
    if (!begin_line()) {
        return;
    }
    (void)fprintf(stderr, "%s %.*s: %.1f", what, NAME_MAX_SHOWN, file_name, (double)done / MIB);
    if (all > 0) {
        (void)fprintf(stderr, " of %.1f MiB, %.0f %%", (double)all / MIB,
                      100.0 * (double)done / (double)all);
    } else {
        (void)fputs(" MiB", stderr);
    }
    (void)fflush(stderr);
}

void otp_progress_of_file(const char *name)
{
    const char *slash = strrchr(name, '/');

    file_name = slash == NULL ? name : slash + 1;
    otp_meter_show = name[0] != '\0' && isatty(STDERR_FILENO) == 1 ? otp_progress_bytes : NULL;
}

void otp_progress_end(void)
{
    if (is_shown) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
    }
    is_shown = false;
    begun_ns = 0;
    otp_progress_of_file("");
}
