/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of the loaded objects, for C libraries without a lock-free look-up of their own (glibc
 * before 2.35). It is built from /proc/self/maps, never from the loader's lists, and replaced as a
 * whole.
 *
 * I1  A published table never changes; its memory is used again only after every thread has been
 * seen outside capture (pairs: SNAPSHOT).
 *
 * I2  An object that was not there at the start may be unloaded at any time: it is found only in a
 * table that was built since the last dlclose.
 */
#ifndef OTP_CAPTURE_SNAPSHOT_H
#define OTP_CAPTURE_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/capture/object.h"

/* Finds pc in the newest table. Context: hot. */
bool otp_snapshot_find(uintptr_t pc, struct otp_object_range *out);
/* Builds a table when there is none or the mappings have changed. Context: init, worker. */
void otp_snapshot_refresh(struct otp_heap *heap);
/*
 * The same when an address was looked for in vain, at a bearable pace: code that belongs to no
 * object is looked for in vain for ever. Returns when to come again for that, at the latest
 * (monotonic ns; UINT64_MAX: not at all). Context: worker.
 */
uint64_t otp_snapshot_follow(struct otp_heap *heap);
/* True when this process needs tables. Context: any. */
bool otp_snapshot_is_needed(void);

#endif
