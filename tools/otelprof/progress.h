/* SPDX-License-Identifier: Apache-2.0 */
/* A line of progress for work that takes long: on a terminal only, never in a pipe or file. */
#ifndef OTP_OTELPROF_PROGRESS_H
#define OTP_OTELPROF_PROGRESS_H

#include <stdint.h>

/* Says that `done` of `all` steps are done, if a second has passed since the first call. */
void otp_progress_show(const char *what, uint64_t done, uint64_t all);
/* Takes the line away. */
void otp_progress_end(void);

#endif
