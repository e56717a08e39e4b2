/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds threads that nobody announced: made by clone itself, or before the profiler was there. The
 * kernel lets the worker arm a timer on their CPU clock; they get a record that they do not know
 * of.
 */
#ifndef OTP_CAPTURE_SCAN_H
#define OTP_CAPTURE_SCAN_H

#include <stdbool.h>

#include "core/base/heap.h"

struct otp_scan {
    int own_tid;        /* the worker, which is no thread of the host */
    bool is_from_birth; /* unknown threads came into being while samples were taken */
};

/*
 * Looks at the threads of the process; arms a timer for each that was unknown now and the last time
 * (a thread that is just being created becomes known by itself). Cheap when their number is what it
 * should be. True: there are some of which only another look can tell. Context: worker.
 */
bool otp_scan_threads(struct otp_heap *heap, const struct otp_scan *scan);

#endif
