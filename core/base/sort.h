/* SPDX-License-Identifier: Apache-2.0 */
/* Heap sort: in place, no recursion, no allocation, O(n log n) always. Not stable. */
#ifndef OTP_BASE_SORT_H
#define OTP_BASE_SORT_H

#include <stddef.h>

/* < 0, 0, > 0 like memcmp; arg is the caller's. */
typedef int (*otp_sort_cmp)(const void *a, const void *b, void *arg);

/* Sorts count items of size bytes (at most 64) each. Context: any. */
void otp_sort(void *items, size_t count, size_t size, otp_sort_cmp cmp, void *arg);

#endif
