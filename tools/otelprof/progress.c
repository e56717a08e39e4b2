/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "core/base/sys.h"

#define FIRST_NS 1000000000U
#define EVERY_NS 100000000U

static uint64_t begun_ns;
static uint64_t shown_ns;
static bool is_shown;

void otp_progress_show(const char *what, uint64_t done, uint64_t all)
{
    uint64_t now = otp_sys_monotonic_ns();

    if (begun_ns == 0) {
        begun_ns = now;
    }
    if (now - begun_ns < FIRST_NS || now - shown_ns < EVERY_NS || isatty(STDERR_FILENO) != 1) {
        return;
    }
    shown_ns = now;
    is_shown = true;
    (void)fprintf(stderr, "\r\033[K%s %llu of %llu", what, (unsigned long long)done,
                  (unsigned long long)all);
    (void)fflush(stderr);
}

void otp_progress_end(void)
{
    if (is_shown) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
    }
    is_shown = false;
    begun_ns = 0;
}
