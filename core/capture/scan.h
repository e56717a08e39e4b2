/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds threads that nobody announced: made by clone itself, or before the profiler was there. The
 * kernel lets the worker arm a timer on their CPU clock; they get a record that they do not know
 * of.
 */
#ifndef OTP_CAPTURE_SCAN_H
#define OTP_CAPTURE_SCAN_H

#include "core/base/heap.h"

/*
 * Looks at the threads of the process; arms a timer for each that was unknown now and the last time
 * (a thread that is just being created becomes known by itself). Cheap when their number is what it
 * should be. own_tid: the worker. Context: worker.
 */
void otp_scan_threads(struct otp_heap *heap, int own_tid);

#endif
