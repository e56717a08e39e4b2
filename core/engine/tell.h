/* SPDX-License-Identifier: Apache-2.0 */
/* The two profiles of a flush, told to a visitor: what the numbers of interface and format are made
 * of. */
#ifndef OTP_ENGINE_TELL_H
#define OTP_ENGINE_TELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/counters.h"
#include "core/base/status.h"
#include "core/encode/visitor.h"
#include "core/engine/teller.h"
#include "core/intern/tags.h"
#include "core/intern/timetable.h"
#include "core/ledger/ledger.h"

/* What the samples of a flush may still cost, in bytes of the builders' memory, estimated. */
struct otp_tell_room {
    size_t allowed; /* in each visit */
    size_t left;
    size_t cost; /* so far */
};

/* One flush, which may need more than one visit: what has no room in it is left out and counted. */
struct otp_tell {
    struct otp_visitor *visitor;
    struct otp_teller *teller;
    uint64_t time_ns;
    uint64_t duration_ns;
    struct otp_tags *tags;
    struct otp_tell_room time_room;              /* of the time profiles */
    struct otp_tell_room heap_room;              /* of the heap profiles */
    uint64_t counted[OTP_OF_END][OTP_COUNT_END]; /* losses of this visit */
    uint64_t tag_dropped_attrs;                  /* of tags of the ledger */
    uint32_t interval;                           /* that the heap visit is about */
    enum otp_status status;                      /* of the heap visit */
    uint64_t dropped_attrs;                      /* of it */
};

/* Begins a flush whose other fields are set: there is room for everything, and every account that
 * has something to say gets its tag numbered. Context: worker, as all of these. */
void otp_tell_begin(struct otp_tell *t);
/* After a visit that did not fit, whose losses are not counted: in the next one the dearer kind of
 * profiles may cost half of what it did. False: so little would say nothing. */
bool otp_tell_less(struct otp_tell *t);
/* The flush came out: what was due in the last visit is told, or counted as lost. */
void otp_tell_done(struct otp_tell *t);

/* Numbers a tag of len bytes (0: OTP_TAGS_NONE) and counts what is not kept of it, as a loss of
 * that profile and in *dropped_attrs; is_link_lost: the loss of the whole is counted already. */
uint32_t otp_tell_tag(struct otp_tags *tags, const void *tag, size_t len, enum otp_loss_of of,
                      bool is_link_lost, uint64_t *dropped_attrs);
/* An account is about to go: what is booked and was not told goes to allocs. */
void otp_tell_last(const struct otp_account *a, struct otp_tags *tags,
                   struct otp_timetable *allocs);

/* CPU samples that were taken with one period. */
struct otp_paced {
    uint64_t period_ns;
    bool is_perf; /* perf events ticked, not the timers alone */
    struct otp_timetable table;
};

/* The time profile of those: samples/count and cpu/nanoseconds. */
enum otp_status otp_tell_time(struct otp_tell *t, const struct otp_paced *paced);
/*
 * The heap profile: what was allocated since the last flush and sampled at the interval of now, and
 * all that is live. allocs: the allocations one by one when they carry times (count: objects,
 * cpu_ns: bytes), else empty.
 */
enum otp_status otp_tell_heap(struct otp_tell *t, const struct otp_timetable *allocs);
/* What was allocated and sampled at the interval of that number, another than that of now. */
enum otp_status otp_tell_heap_at(struct otp_tell *t, const struct otp_timetable *allocs,
                                 uint32_t interval);

#endif
