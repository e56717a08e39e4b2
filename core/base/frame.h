/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack frame in one word: the number of the loaded object in the upper 16 bits, the run-time
 * address in the lower 48. The object number pins the address to what was mapped there at that
 * moment. Object 0 means none is known; then a few small addresses are markers, not code.
 */
#ifndef OTP_BASE_FRAME_H
#define OTP_BASE_FRAME_H

#include <stdint.h>

#define OTP_FRAME_ADDR_BITS 48
#define OTP_FRAME_ADDR_MASK ((UINT64_C(1) << OTP_FRAME_ADDR_BITS) - 1)
#define OTP_FRAME_TRUNCATED UINT64_C(1) /* deeper than OTELPROF_MAX_DEPTH */
#define OTP_DEPTH_MAX 1024

static inline uint64_t otp_frame_make(uint32_t object, uint64_t addr)
{
    return (uint64_t)object << OTP_FRAME_ADDR_BITS | (addr & OTP_FRAME_ADDR_MASK);
}

static inline uint32_t otp_frame_object(uint64_t frame)
{
    return (uint32_t)(frame >> OTP_FRAME_ADDR_BITS);
}

static inline uint64_t otp_frame_addr(uint64_t frame)
{
    return frame & OTP_FRAME_ADDR_MASK;
}

#endif
