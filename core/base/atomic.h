/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and stores with the memory order in the name, so that a reader can search for "release".
 * Relaxed is for counters and hints; release/acquire publishes data, and both ends of such a pair
 * carry the same tag in a comment, for example "pairs: RING-COMMIT".
 */
#ifndef OTP_BASE_ATOMIC_H
#define OTP_BASE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#define otp_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define otp_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define otp_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define otp_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define otp_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define otp_sub_relaxed(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_RELAXED)
#define otp_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define otp_sub_acq_rel(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_ACQ_REL)
#define otp_or_release(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELEASE)
#define otp_and_release(p, v) __atomic_fetch_and((p), (v), __ATOMIC_RELEASE)
#define otp_exchange_acq_rel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
#define otp_cas_acq_rel(p, expected, desired)                                                      \
    __atomic_compare_exchange_n((p), (expected), (desired), false, __ATOMIC_ACQ_REL,               \
                                __ATOMIC_ACQUIRE)
/* Keeps the compiler from moving accesses across; enough between a thread and its own handlers. */
#define otp_signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif
