/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations that every folder uses.
 *
 * Contexts, written in the comment of each function that is not obvious:
 *
 *   hot     a host thread inside one of its own calls, or a signal handler: any lock may be held,
 *           the loader may be half way through a change. May touch mapped memory and use atomics.
 *
 *   worker  the profiler's own background thread.
 *
 *   init    constructor, destructor, fork child: a host thread at a known point of the process's
 * life.
 *
 *   any     cold and without shared state of its own.
 */
#ifndef OTP_BASE_ANNOT_H
#define OTP_BASE_ANNOT_H

#define OTP_MUST_CHECK __attribute__((warn_unused_result))
#define OTP_LIKELY(x) __builtin_expect(!!(x), 1)
#define OTP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define OTP_NOINLINE __attribute__((noinline))
#define OTP_INLINE static inline __attribute__((always_inline))
#define OTP_COLD __attribute__((cold))
#define OTP_EXPORT __attribute__((visibility("default")))
#define OTP_ALIGNED(n) __attribute__((aligned(n)))
#define OTP_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
