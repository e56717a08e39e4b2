/* SPDX-License-Identifier: Apache-2.0 */
/* The two profiles of a flush, told to a visitor: what the numbers of interface and format are made
 * of. */
#ifndef OTP_ENGINE_TELL_H
#define OTP_ENGINE_TELL_H

#include <stdint.h>

#include "core/base/status.h"
#include "core/encode/visitor.h"
#include "core/engine/teller.h"
#include "core/intern/timetable.h"

struct otp_tell {
    struct otp_visitor *visitor;
    struct otp_teller *teller;
    uint64_t time_ns;
    uint64_t duration_ns;
    enum otp_status status; /* of the heap visit */
};

/* The time profile: samples/count and cpu/nanoseconds. Context: worker. */
enum otp_status otp_tell_time(struct otp_tell *t, const struct otp_timetable *times);
/*
 * The heap profile: allocations since the last flush and what is live now. allocs: the allocations
 * one by one when they carry times (count: objects in 1/65536, cpu_ns: bytes), else empty. Context:
 * worker.
 */
enum otp_status otp_tell_heap(struct otp_tell *t, const struct otp_timetable *allocs);

#endif
