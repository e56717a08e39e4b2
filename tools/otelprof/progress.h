/* SPDX-License-Identifier: Apache-2.0 */
/* A line of progress for work that takes long: on a terminal only, never in a pipe or file. */
#ifndef OTP_OTELPROF_PROGRESS_H
#define OTP_OTELPROF_PROGRESS_H

#include <stdint.h>

/* Says that `done` of `all` steps are done, if a second has passed since the first call. */
void otp_progress_show(const char *what, uint64_t done, uint64_t all);
/*
 * From now on, until this is called with "" or the line is taken away, it is said how many bytes of
 * file `name` (borrowed) the decoders have read.
 */
void otp_progress_of_file(const char *name);
/* The same for bytes of that file; all is 0 when that is not known. */
void otp_progress_bytes(const char *what, uint64_t done, uint64_t all);
/* Takes the line away. */
void otp_progress_end(void);

#endif
