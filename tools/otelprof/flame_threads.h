/* SPDX-License-Identifier: Apache-2.0 */
/* Which thread a flame graph's values are of. */
#ifndef OTP_OTELPROF_FLAME_THREADS_H
#define OTP_OTELPROF_FLAME_THREADS_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/otelprof/flame.h"

/*
 * Writes "threads": the names, and "by_thread": for each type [frame, thread, value, ...] of the
 * entries of o; both empty when there are not several. False: no memory.
 */
bool otp_flame_write_threads(FILE *to, const struct otp_flame *f, const struct otp_flame_order *o);

#endif
