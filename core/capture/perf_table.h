/* SPDX-License-Identifier: Apache-2.0 */
/* Which thread an event belongs to, by the descriptor that its signal names. */
#ifndef OTP_CAPTURE_PERF_TABLE_H
#define OTP_CAPTURE_PERF_TABLE_H

#include <stdint.h>

#define OTP_PERF_FDS 4096 /* descriptors of the worker that can be told; others are not used */

/* Cookie of the thread's timer, 0: none. Written by the worker. */
extern uint64_t otp_perf_cookies[OTP_PERF_FDS];

#endif
