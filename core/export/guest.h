/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Mbed TLS and nghttp2 get in place of libc's memory, clock and sorting: their private copies
 * have those names renamed to the ones below. These libraries allocate through functions without an
 * argument, so the heap is noted before a call into one of them. Context: worker.
 */
#ifndef OTP_EXPORT_GUEST_H
#define OTP_EXPORT_GUEST_H

#include <stddef.h>
#include <time.h>

#include "core/base/heap.h"

/* Whatever the libraries allocate or free from now on belongs to heap. */
void otp_guest_use(struct otp_heap *heap);

/* As the functions of libc without the prefix. */
void *otp_guest_malloc(size_t size);
void *otp_guest_calloc(size_t count, size_t size);
void *otp_guest_realloc(void *p, size_t size);
void otp_guest_free(void *p);
time_t otp_guest_time(time_t *out);
struct tm *otp_guest_gmtime_r(const time_t *t, struct tm *out);
int otp_guest_clock_gettime(int clock, struct timespec *out);
void otp_guest_qsort(void *items, size_t count, size_t size,
                     int (*cmp)(const void *a, const void *b));

#endif
